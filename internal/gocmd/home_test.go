package gocmd

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestHome(t *testing.T) {
	top := t.TempDir()
	for _, name := range []string{"go.mod", "own/a.go", "sub/go.mod", "sub/pkg/b.go"} {
		at := filepath.Join(top, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		packages, want []string
		dir            string
	}{
		{[]string{"./own"}, []string{"./own"}, ""},
		{[]string{"./sub/pkg"}, []string{"."}, "sub/pkg"},
		{[]string{"./sub/..."}, []string{"./..."}, "sub"},
		{[]string{filepath.Join(top, "sub", "pkg")}, []string{"."}, "sub/pkg"},
		{[]string{"./..."}, []string{"./..."}, ""},
		{[]string{"./none"}, []string{"./none"}, ""},
		{[]string{"example.com/x"}, []string{"example.com/x"}, ""},
		{[]string{"./own", "./sub/pkg"}, []string{"./own", "./sub/pkg"}, ""},
		{nil, nil, ""},
	} {
		dir, packages := Home(top, tt.packages)
		if want := filepath.Join(top, filepath.FromSlash(tt.dir)); dir != want || !slices.Equal(packages, tt.want) {
			t.Errorf("Home(%q) = %s, %q; want %s, %q", tt.packages, dir, packages, want, tt.want)
		}
	}
}
