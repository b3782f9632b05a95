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
