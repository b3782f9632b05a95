package prove

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const ambientOld = `package one

import (
	"errors"
	"flag"
	"os"
	"strings"
	"sync"
	"time"
)

var Separator = ","
var Now = time.Now
var ErrOdd = errors.New("odd")
var Letters = [2]string{"a", "b"}
var Count int
var _ = Count
var width = flag.Int("width", 80, "")

func Join(list []string) string  { return strings.Join(list, Separator) }
func Joined(list []string) string { return "<" + Join(list) + ">" }
func Stamp(s string) string      { return Now().Format(time.RFC3339) + s }
func Home(s string) string       { return os.Getenv("HOME") + s }
func User(s string) string       { return os.Getenv("USER") + s }
func Wrap(n int) int             { return n % *width }
func Odd(n int) error            { if n%2 > 0 { return ErrOdd }; return nil }
func Letter(n bool) string       { if n { return Letters[0] }; return Letters[1] }
func Add(n int) int              { Count += n; return Count }
func Twice(list []string) string { return double(list) }
func double(list []string) string { return Separator + Join(list) }
func Since(t time.Time) float64  { return time.Since(t).Seconds() }
`

// What only one version reads from outside of its arguments when it is called is a doubt, since no call is made with something else there. What
// moves from a function to another, what nobody sets, and what is set by calls is none.
func TestReadings(t *testing.T) {
	if testing.Short() {
		t.Skip("loads two versions of a package")
	}
	dir := t.TempDir()
	now := strings.NewReplacer(
		"strings.Join(list, Separator)", `strings.Join(list, ",")`,
		"Now().Format", "time.Now().Format",
		`return os.Getenv("HOME") + s }`, `return home + s }`+"\n"+`var home = os.Getenv("HOME")`,
		`return os.Getenv("USER") + s }`, `return user() + s }`+"\n"+`var user = sync.OnceValue(func() string { return os.Getenv("USER") })`,
		"n % *width }", "n % wide }\nvar wide = *width",
		"return ErrOdd", `return errors.New("odd")`,
		"return Letters[0]", `return "a"`,
		"Count += n; return Count", "Count = n + Count; return n",
		"return double(list)", "return double(list, Separator)",
		"func double(list []string) string { return Separator + ", "func double(list []string, sep string) string { return sep + ",
		"time.Since(t)", "time.Now().Sub(t)",
	).Replace(ambientOld)
	for v, text := range map[string]string{"old": ambientOld + "\nvar _ sync.Once\n", "new": now} {
		write(t, filepath.Join(dir, v, "go.mod"), []byte("module example.com/one\n\ngo 1.26\n"))
		write(t, filepath.Join(dir, v, "one.go"), []byte(text))
	}
	const rest = " when it is called in the old version, but not in the new one, and hone does not change that between calls"
	got := surfaceOf(t, dir).readings()
	want := []string{"Join reads Separator", "Stamp reads Now", "Home reads the environment variable HOME", "User reads the environment variable USER", "Wrap reads width"}
	for i := range got {
		got[i] = strings.TrimSuffix(got[i], rest)
	}
	if !slices.Equal(got, want) {
		t.Errorf("doubts are %q; want %q", got, want)
	}
}
