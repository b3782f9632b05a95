package prove

import (
	"os"
	"path/filepath"
	"testing"
)

// What may be embedded is a doubt, whatever the folder of the module is called.
func TestDoubtful(t *testing.T) {
	for _, dir := range []string{"plain", "of [x] *"} {
		if dir != "plain" && filepath.Separator == '\\' {
			continue // no name for a folder there
		}
		top := filepath.Join(t.TempDir(), dir)
		if err := os.MkdirAll(filepath.Join(top, "page"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(top, "page", "page.go"), []byte("package page\n\nimport _ \"embed\"\n\n//go:embed page.html\nvar text string\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{
			filepath.Join("page", "page.html"): " differs, and may be embedded",
			"README.md":                        "",
		} {
			if got := doubtful(top, name); got != want {
				t.Errorf("in %s: doubtful(%s) = %q, want %q", dir, name, got, want)
			}
		}
	}
}
