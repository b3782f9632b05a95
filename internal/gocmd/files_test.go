package gocmd

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a[b]c")
	for _, name := range []string{"one.go", "two.go", "three.txt", "testdata/fuzz/FuzzX/seed"} {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for pattern, want := range map[string][]string{
		"*.go":              {"one.go", "two.go"},
		"testdata/fuzz/*/*": {"testdata/fuzz/FuzzX/seed"},
		"*.hone":            nil,
	} {
		for i := range want {
			want[i] = filepath.Join(dir, filepath.FromSlash(want[i]))
		}
		if got, err := Files(dir, pattern); err != nil || !slices.Equal(got, want) {
			t.Errorf("Files(%q, %q) = %q, %v; want %q", dir, pattern, got, err, want)
		}
	}
}
