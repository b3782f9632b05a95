package capture

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestBenchProfileFor holds that benchmarks are profiled one by one, without rounds that measure, until the time is up; those left out are named.
func TestBenchProfileFor(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a test program")
	}
	const src = `package three

import (
	"os"
	"testing"
)

func ran(b *testing.B, name string) {
	f, err := os.OpenFile("ran", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	f.WriteString(name + "\n")
}

func BenchmarkA(b *testing.B) { ran(b, "A") }

func BenchmarkB(b *testing.B) {
	b.Run("x", func(b *testing.B) { ran(b, "Bx") })
	b.Run("y", func(b *testing.B) { ran(b, "By") })
}

func BenchmarkC(b *testing.B) { ran(b, "C") }
`
	for _, tt := range []struct {
		pattern string
		limit   time.Duration
		ran     []string
		note    string
	}{
		{"", time.Nanosecond, []string{"A"}, "no time was left to profile BenchmarkB, BenchmarkC"},
		{"", time.Hour, []string{"A", "Bx", "By", "C"}, ""},
		{"kB/x", time.Hour, []string{"Bx"}, ""},
		{"kA|kB", time.Nanosecond, []string{"A"}, "no time was left to profile BenchmarkB"},
		{"kA|kB/x", time.Nanosecond, []string{"A", "Bx"}, ""}, // which are alternatives of both
	} {
		dir, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"go.mod": "module example.com/three\n\ngo 1.24\n", "three.go": "package three\n", "three_test.go": src} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		done, err := Bench(t.Context(), Options{Out: filepath.Join(t.TempDir(), "three.hone"), Dir: dir}, Benchmarks{Bench: tt.pattern, Count: 1, Args: []string{"-test.benchtime=1x"}, ProfileFor: tt.limit})
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, "ran"))
		if err != nil {
			t.Fatal(err)
		}
		ran := slices.Compact(strings.Fields(string(text))) // the first of each with sub-benchmarks runs once more, to find them
		if !slices.Equal(ran, tt.ran) {
			t.Errorf("%q for %v: these ran: %v; want %v", tt.pattern, tt.limit, ran, tt.ran)
		}
		if notes := strings.Join(done.Manifest.Notes, "; "); strings.Contains(notes, "no time was left") != (tt.note != "") || !strings.Contains(notes, tt.note) {
			t.Errorf("%q for %v: notes %q; want %q", tt.pattern, tt.limit, notes, tt.note)
		}
	}
}
