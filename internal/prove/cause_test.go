package prove

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/prove/worker"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/testrun"
)

// nextFile is between the files of a package.
const nextFile = "-- next --\n"

// alarmsOf compares two versions of a package, and returns the grave differences; what follows a line "-- tests --" is its tests.
func alarmsOf(t *testing.T, old, now string, opt Options) (*report.Proof, []report.Difference) {
	t.Helper()
	dir := t.TempDir()
	for v, text := range map[string]string{"old": old, "new": now} {
		write(t, filepath.Join(dir, v, "go.mod"), []byte("module example.com/one\n\ngo 1.26\n"))
		text, tests, ok := strings.Cut(text, "-- tests --\n")
		for i, file := range strings.Split(text, nextFile) {
			write(t, filepath.Join(dir, v, fmt.Sprintf("one%d.go", i)), []byte(file))
		}
		if ok {
			write(t, filepath.Join(dir, v, "one_test.go"), []byte(tests))
		}
	}
	opt.NoTests, opt.Time = true, time.Hour
	p := proveIn(t, dir, "old", "new", opt)
	var grave []report.Difference
	for _, d := range p.Differences {
		if d.Grave {
			grave = append(grave, d)
		}
	}
	return p, grave
}

// One change that shows in many functions is one alarm; another one is another.
func TestOneCauseIsOneAlarm(t *testing.T) {
	testrun.Live(t, "builds and calls three pairs of versions")
	users := func(call string) string {
		var b strings.Builder
		for i := range 12 {
			fmt.Fprintf(&b, "func Use%02d(n uint8) int { return %s + %d }\n", i, fmt.Sprintf(call, "int(n)"), i)
		}
		fmt.Fprintf(&b, "func Text(n uint8) string { return strings.Repeat(\"a\", %s) }\n", fmt.Sprintf(call, "int(n)"))
		fmt.Fprintf(&b, "func Fails(n uint8) error { if %s%%3 == 0 { return errors.New(\"no\") }; return nil }\n", fmt.Sprintf(call, "int(n)"))
		fmt.Fprintf(&b, "func Panics(n uint8) int { return [4]int{1, 2, 3, 4}[%s%%5] }\n", fmt.Sprintf(call, "int(n)"))
		fmt.Fprintf(&b, "func List(n uint8) []int { return make([]int, %s) }\n", fmt.Sprintf(call, "int(n)"))
		fmt.Fprintf(&b, "func Far(n uint8) int { return Use03(n) * 2 }\n")
		return "package one\n\nimport (\n\"errors\"\n\"strings\"\n)\n\n" + b.String()
	}
	const (
		other    = "func Other(s string) int { return len(s) }\n"
		otherNew = "func Other(s string) int { return len(s) + 1 }\n"
	)
	tests := []struct {
		name, old, new string
		cause          string // named beside the function that is shown; "" when that is it
		shown          string // function, or "" where any will do
	}{
		{"a helper that cannot be compared", users("double(%s, nil)") + other + "func double(n int, _ chan int) int { return 2 * n }\n",
			users("double(%s, nil)") + otherNew + "func double(n int, _ chan string) int { return 2*n + 1 }\n", "double", ""},
		{"a helper that shows it itself", users("Double(%s)") + other + "func Double(n int) int { return 2 * n }\n",
			users("Double(%s)") + otherNew + "func Double(n int) int { return 2*n + 1 }\n", "", "Double"},
		{"a table", users("table[%s]") + other + "var table = [256]int{7: 3, 9: 4}\n",
			users("table[%s]") + otherNew + "var table = [256]int{7: 3, 9: 5, 255: 1}\n", "table", ""},
	}
	if !testrun.InNightly() {
		testrun.Left(t, t.Name(), "builds and calls two other pairs of versions")
		tests = tests[:1]
	}
	for _, tt := range tests {
		_, grave := alarmsOf(t, tt.old, tt.new, Options{Executions: 600})
		if len(grave) != 2 {
			t.Errorf("%s: %d alarms; want 2", tt.name, len(grave))
			for _, d := range grave {
				t.Logf("%s %s: %s, cause %s, also %v", d.Layer, d.Function, d.Call, d.Cause, d.Also)
			}
			continue
		}
		if grave[0].Function == "Other" {
			grave[0], grave[1] = grave[1], grave[0]
		}
		d := grave[0]
		if grave[1].Function != "Other" || len(grave[1].Also) != 0 {
			t.Errorf("%s: the other alarm is of %s, also in %v", tt.name, grave[1].Function, grave[1].Also)
		}
		if d.Cause != tt.cause || tt.shown != "" && d.Function != tt.shown || len(d.Also) < 12 {
			t.Errorf("%s: shown is %s, cause %q, also in %v", tt.name, d.Function, d.Cause, d.Also)
		}
	}
}

// What changed and cannot be compared by itself may be the cause as well as the function that uses it. The cause is none of the others.
func TestCauseIsNotClear(t *testing.T) {
	testrun.Live(t, "builds and calls a pair of versions")
	const (
		old = `package one
import "strings"
type Agent struct{ name string }
func New(s string) *Agent { a := &Agent{}; a.Parse(s); return a }
func (a *Agent) Parse(s string) { a.name = section(s) }
func (a *Agent) Name() string { return a.name }
func section(s string) string { return product([]byte(s)) }
func product(text []byte) string { name, _, _ := strings.Cut(string(text), "/"); return name }
`
		now = `package one
type Agent struct{ name string }
func New(s string) *Agent { a := &Agent{}; a.Parse(s); return a }
func (a *Agent) Parse(s string) { a.name = section(s) }
func (a *Agent) Name() string { return a.name }
func section(s string) string { return product(s) }
func product(text string) string { if i := slash(text); i > 0 { return text[:i] }; return text }
func slash(text string) int { for i := range text { if text[i] == '/' { return i } }; return -1 }
`
	)
	_, grave := alarmsOf(t, old, now, Options{Executions: 600})
	if len(grave) != 1 {
		t.Fatalf("%d alarms; want 1: %+v", len(grave), grave)
	}
	if d := grave[0]; d.Function != "(*Agent).Name" || d.Cause != "section" || len(d.Also) > 0 || strings.Join(d.Unclear, " ") != "product" {
		t.Errorf("shown is %s, cause %q, or %q, also in %q", d.Function, d.Cause, d.Unclear, d.Also)
	}
}

// Functions that changed together, and share no more than that, are told apart.
func TestTwoCausesAreTwoAlarms(t *testing.T) {
	testrun.Nightly(t, "builds and calls three pairs of versions")
	const (
		old = "package one\n\nfunc A(n uint8) int { return int(n) }\nfunc B(n uint8) int { return clean(n) }\nfunc clean(n uint8) int { return int(n) + 0 }\n"
		now = "package one\n\nfunc A(n uint8) int { return clean(n) + 1 }\nfunc B(n uint8) int { return clean(n) - 1 }\nfunc clean(n uint8) int { return int(n) }\n"
	)
	if _, grave := alarmsOf(t, old, now, Options{Executions: 400}); len(grave) != 2 {
		t.Errorf("%d alarms; want one of A and one of B: %+v", len(grave), grave)
	}
	// A type that changed is no cause: its methods differ each for itself. What uses one of them is no alarm of its own.
	const (
		list    = "package one\n\ntype Sum struct{ list []int }\n\nfunc (s *Sum) Add(n int8) int { s.list = append(s.list, int(n)); return len(s.list) }\nfunc (s *Sum) Last() int { if len(s.list) == 0 { return 0 }; return s.list[len(s.list)-1] }\n"
		numbers = "package one\n\ntype Sum struct{ n, last int }\n\nfunc (s *Sum) Add(n int8) int { s.n++; s.last = int(n); return s.n - 1 }\nfunc (s *Sum) Last() int { return s.last + 1 }\n"
		user    = "var old = regexp.MustCompile(`x`)\n\nfunc Empty(s string) bool { return !old.MatchString(s) }\n"
		users   = "func Clean(s string) string { if Empty(s) { return \"\" }; return s }\n"
	)
	_, grave := alarmsOf(t, list, numbers, Options{Executions: 400})
	functions := make(map[string]bool)
	for _, d := range grave {
		functions[d.Function] = true
	}
	if !functions["(*Sum).Add"] || !functions["(*Sum).Last"] {
		t.Errorf("alarms are %+v; want those of Add and Last", grave)
	}
	_, grave = alarmsOf(t, "package one\n\nimport \"regexp\"\n\n"+user+users, "package one\n\nfunc Empty(s string) bool { return len(s) < 2 }\n"+users, Options{Executions: 400})
	if len(grave) != 1 || grave[0].Function != "Empty" || len(grave[0].Also) != 1 {
		t.Errorf("alarms are %+v; want that of Empty, and Clean with it", grave)
	}
}

// A call that ends the process is told, and none behind it.
func TestTheCallThatEndsTheProcessIsTold(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and calls two versions of a package")
	}
	const (
		old = "package one\n\ntype Ring struct{ size int }\n\nfunc New(size uint8) *Ring { return &Ring{int(size)} }\nfunc (r *Ring) Size() int { return r.size }\nfunc (r *Ring) Grow(n int8) { r.size += int(n) }\n"
		now = "package one\n\ntype Ring struct{ size int }\n\nfunc New(size uint8) *Ring { if size == 7 { go panic(\"no\"); select {} }; return &Ring{int(size)} }\nfunc (r *Ring) Size() int { n := r.size; return n }\nfunc (r *Ring) Grow(n int8) { r.size += int(n) }\n"
	)
	_, grave := alarmsOf(t, old, now, Options{Executions: 3000, Only: "(*Ring).Size"})
	if len(grave) != 1 || grave[0].Function != "New" || grave[0].Call != "New(7)" {
		t.Errorf("alarms are %+v; want one, of New(7)", grave)
	}
}

// Which version panics, or returns an error, is said at first sight.
func TestKindsSayWhichVersion(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and calls two versions of a package")
	}
	const (
		old = `package one

import "errors"

func Mended(list []int) int  { return list[0] }
func Broken(list []int) int  { if len(list) == 0 { return 0 }; return list[0] }
func Strict(n int8) error    { return nil }
func Lenient(n int8) error   { if n < 0 { return errors.New("below zero") }; return nil }
`
		now = `package one

import "errors"

func Mended(list []int) int  { if len(list) == 0 { return 0 }; return list[0] }
func Broken(list []int) int  { return list[0] }
func Strict(n int8) error    { if n < 0 { return errors.New("below zero") }; return nil }
func Lenient(n int8) error   { _ = errors.New; return nil }
`
	)
	p, _ := alarmsOf(t, old, now, Options{Executions: 300})
	want := map[string]string{
		"Mended":  "the old version panics, the new one does not",
		"Broken":  "the new version panics, the old one does not",
		"Strict":  "the new version returns an error, the old one does not",
		"Lenient": "the old version returns an error, the new one does not",
	}
	for _, d := range p.Differences {
		if want[d.Function] == d.Kind {
			delete(want, d.Function)
		}
	}
	late := &finding{layer: worker.LayerPanic, path: "outcome", old: "returns", new: "does not return within 8s"}
	if got, want := late.kind(), "the new version does not return within 8s, the old one returns"; got != want {
		t.Errorf("what does not return is told as %q; want %q", got, want)
	}
	for name, kind := range want {
		t.Errorf("of %s it is not said that %s: %+v", name, kind, p.Differences)
	}
}

// A difference that does not show again is told with the call.
func TestUnsteadyCallsAreNamed(t *testing.T) {
	var c tally
	for range 3 {
		c.add("Get", `Get("a")`)
	}
	c.add("Put", `x1 := New(); x1.Put(1)`)
	if got, want := c.text(), `3 in Get, such as Get("a"); x1 := New(); x1.Put(1)`; got != want {
		t.Errorf("text is %q; want %q", got, want)
	}
	// The new version differs in one process of two, by chance: the numbers of processes that are started in turn are even and odd in turn.
	const (
		old = "package one\n\nfunc Roll(n int8) int { return int(n) }\n"
		now = "package one\n\nimport \"math/rand/v2\"\n\nvar odd = rand.IntN(2)\n\nfunc Roll(n int8) int { return int(n) + odd }\n"
	)
	testrun.Nightly(t, "builds and calls pairs of versions until one is unsteady")
	const tries = 50 // of which one in four or so will do
	for i := range tries {
		p, _ := alarmsOf(t, old, now, Options{Executions: 300})
		for _, note := range p.Notes {
			n := note.String()
			if strings.Contains(n, "did not recur") {
				if !strings.Contains(n, "Roll(") {
					t.Errorf("no call is named: %s", n)
				}
				t.Logf("after %d runs", i+1)
				return
			}
		}
	}
	t.Errorf("no difference was unsteady in %d runs", tries)
}

// What a verdict rests on is said, and it takes enough of it.
func TestProvenTakesCalls(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and calls two versions of a package")
	}
	const (
		old = "package one\n\nfunc Len(s string) int { return len(s) }\nfunc Version() string { return \"v\" + \"1\" }\nfunc Both(a, b bool) bool { return a && b }\n"
		now = "package one\n\nfunc Len(s string) (n int) { for range []byte(s) { n++ }; return n }\nfunc Version() string { return \"v1\" }\nfunc Both(a, b bool) bool { if !a { return false }; return b }\n"
	)
	tests := []struct {
		calls   int
		verdict report.Verdict
		reason  string
	}{
		{700, report.NotProven, "called too few times in both versions: Len had 7## of the 1000 that it takes"},
		{1200, report.Proven, "the change was reached, # of # blocks, and called often enough: of the changed functions, Len had the fewest calls: 1###, at least 1000 are required"},
	}
	for _, tt := range tests {
		p, _ := alarmsOf(t, old, now, Options{Executions: tt.calls})
		found := false
		for _, r := range p.Reasons {
			found = found || like(r, tt.reason)
		}
		if p.Verdict != tt.verdict || !found {
			t.Errorf("after %d calls it is %s: %q; want %s: %q", tt.calls, p.Verdict, p.Reasons, tt.verdict, tt.reason)
		}
		if notes := p.Notes.String(); !strings.Contains(notes, "build, vet and tests were skipped") {
			t.Errorf("no note says what was left out: %q", notes)
		}
	}
}

// like reports whether a text is as wanted, with # for any digit.
func like(got, want string) bool {
	if len(got) != len(want) {
		return false
	}
	for i := range got {
		if got[i] != want[i] && (want[i] != '#' || got[i] < '0' || got[i] > '9') {
			return false
		}
	}
	return true
}
