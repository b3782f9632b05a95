package symbol

import "testing"

func TestIsInit(t *testing.T) {
	for fn, want := range map[string]bool{
		"main.init": true, "main.init.0": true, "example.com/m.v2/x.init.12": true, "main.map.init.0": true, "go.uber.org/zap.init": true,
		"main.init.func1": false, "main.init.0.func2": false, "main.initialize": false, "main.(*T).init": false, "main.T.init": false, "main.map.init": false, "init": false,
	} {
		if got := IsInit(fn); got != want {
			t.Errorf("isInit(%q) = %v", fn, got)
		}
	}
}

func TestShort(t *testing.T) {
	for fn, want := range map[string]string{
		"math/rand/v2.IntN": "rand.IntN", "github.com/dlclark/regexp2/v2.(*Regexp).run": "regexp2.(*Regexp).run", "fmt.Sprint": "fmt.Sprint", "net/http.Get": "http.Get",
		"gopkg.in/yaml%2ev3.Marshal": "yaml%2ev3.Marshal", "v2.f": "v2.f", "example.com/video.Play": "video.Play", "example.com/v.F": "v.F",
	} {
		if got := Short(fn); got != want {
			t.Errorf("Short(%q) = %q; want %q", fn, got, want)
		}
	}
}

func TestIsInside(t *testing.T) {
	for fn, want := range map[string]bool{
		"main.run.func1": true, "example.com/m.(*T).M.func2.1": true, "main.run-range1": true, "main.run-range1-range1": true, "main.(*T).M-range2.func1": true,
		"main.run.gowrap2": true, "main.run.deferwrap1": true, "main.run.func1.gowrap1": true, "main.run[...].func1.deferwrap1": true,
		"main.run": false, "main.funcs": false, "example.com/on-range1/m.Run": false, "main.(*T).M-fm": false,
	} {
		if got := IsInside(fn); got != want {
			t.Errorf("IsInside(%q) = %v", fn, got)
		}
	}
}

func TestInLiteral(t *testing.T) {
	for fn, want := range map[string]bool{
		"main.run.func1": true, "main.run.func1.2": true, "main.run.func1.gowrap1": true, "main.init.func1": true,
		"main.run": false, "main.funcs": false, "main.run-range1": false, "main.run.gowrap1": false, "main.init.0": false,
	} {
		if got := InLiteral(fn); got != want {
			t.Errorf("InLiteral(%q) = %v", fn, got)
		}
	}
}

func TestIsLoopBody(t *testing.T) {
	for _, tt := range []struct {
		fn, of string
		want   bool
	}{
		{"main.run-range1", "main.run", true},
		{"main.run-range1-range2", "main.run", true},
		{"main.run", "main.run", false},
		{"main.run.func1", "main.run", false},
		{"main.running-range1", "main.run", false},
		{"main.run-fm", "main.run", false},
	} {
		if got := IsLoopBody(tt.fn, tt.of); got != tt.want {
			t.Errorf("IsLoopBody(%q, %q) = %v", tt.fn, tt.of, got)
		}
	}
}
