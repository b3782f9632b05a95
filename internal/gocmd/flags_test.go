package gocmd

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestWithFlags holds that flags come behind those in GOFLAGS, quoted as the go command reads them, with files where they are.
func TestWithFlags(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("GOFLAGS", "-modfile=other.mod '-ldflags=-X main.a=b c' -pgo=auto")
	c, about, err := Command{Dir: dir}.WithFlags(t.Context(), []string{"-tags=x,y", `-gcflags=-d "it's"`, "-overlay=o.json"})
	if err == nil {
		t.Fatalf("GOFLAGS is %s", about.GOFLAGS)
	}
	if want := "both kinds of quotes"; !strings.Contains(err.Error(), want) {
		t.Errorf("the error is %v; want %s", err, want)
	}
	c, about, err = Command{Dir: dir}.WithFlags(t.Context(), []string{"-tags=x,y", `-gcflags=-d "it"`, "-overlay=o.json", "-pgo=cpu.pprof"})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"-modfile=" + filepath.Join(dir, "other.mod"), "-ldflags=-X main.a=b c", "-pgo=auto", "-tags=x,y", `-gcflags=-d "it"`,
		"-overlay=" + filepath.Join(dir, "o.json"), "-pgo=" + filepath.Join(dir, "cpu.pprof"),
	}
	if got := Fields(about.GOFLAGS); !slices.Equal(got, want) {
		t.Errorf("GOFLAGS is %q, want %q", got, want)
	}
	if !slices.Contains(c.Env, "GOFLAGS="+about.GOFLAGS) {
		t.Errorf("the environment has no %s", about.GOFLAGS)
	}
	if got := about.Names("race", "overlay"); got != "-overlay" {
		t.Errorf("of -race and -overlay, %q is named", got)
	}
	env, flags := Loading(c.Env)
	if !slices.Equal(flags, want) || slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, "GOFLAGS=") }) {
		t.Errorf("packages are loaded with %q and %q", flags, env)
	}
	// The go command takes them apart in the same way.
	if again, err := c.About(t.Context()); err != nil || again.GOFLAGS != about.GOFLAGS {
		t.Errorf("go env says %q, %v", again.GOFLAGS, err)
	}
}

// TestWithoutDWARF holds that the linker is told what GOFLAGS tells it, and where that is for one package only, nothing else.
func TestWithoutDWARF(t *testing.T) {
	for goflags, want := range map[string][]string{
		"":                                    {"-ldflags=-w"},
		"-tags=x":                             {"-ldflags=-w"},
		"'-ldflags=-X main.a=b -s' -tags=x":   {"-ldflags=-w -X main.a=b -s"},
		"-ldflags=example.com/a=-X=main.a=b":  nil,
		"-ldflags=-s '-ldflags= -X main.a=b'": {"-ldflags=-w -X main.a=b"},
	} {
		if got := (About{GOFLAGS: goflags}).WithoutDWARF(); !slices.Equal(got, want) {
			t.Errorf("GOFLAGS=%q: %q; want %q", goflags, got, want)
		}
	}
}
