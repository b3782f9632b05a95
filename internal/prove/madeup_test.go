package prove

import (
	"path/filepath"
	"slices"
	"testing"
)

// TestAim holds of which functions calls are made up where there is no benchmark: not of those that word an error or make an option,
// unless there are no others.
func TestAim(t *testing.T) {
	const text = `package one

type config struct{ n int }
type Option func(*config)
type Check func(int) error
type Visit func(int) bool
type Handler = func(int)
type CallOption interface{ apply(*config) }
type E struct{}

func (E) Error() string { return "wrong" }
`
	for _, tt := range []struct {
		more string
		want []string
	}{
		{"", []string{"E.Error"}},
		{`
func WithN(n int) Option { return func(c *config) { c.n = n } }
func AtMost(n int) Check { return nil }
func Odd(n int) Visit { return nil }
func Handle(n int) Handler { return nil }
func Wait(n int) CallOption { return nil }
func Two(n int) (Option, error) { return nil, nil }
func (E) Run() Option { return nil }
func Error() string { return "" }
`, []string{"E.Run", "Error", "Handle", "Odd", "Two"}},
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "go.mod"), []byte("module example.com/one\n\ngo 1.22\n"))
		write(t, filepath.Join(dir, "one.go"), []byte(text+tt.more))
		sides, err := loadSides(t.Context(), Version{Name: "one", Dir: dir}, []string{"."})
		if err != nil {
			t.Fatal(err)
		}
		s := sides["."]
		d, err := findDanger(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		of := newSurface(&pair{rel: s.rel, old: s, new: s}, d)
		of.aim()
		var got []string
		for _, target := range of.targets {
			if !slices.Contains(got, target.key) {
				got = append(got, target.key)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, tt.want) {
			t.Errorf("%q: calls are made up of %q, want %q", tt.more, got, tt.want)
		}
	}
}
