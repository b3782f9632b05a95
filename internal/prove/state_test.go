package prove

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/testrun"
)

const stateOld = `package one

import (
	"strings"
	"sync"
)

var _ sync.Once

var values = map[string]string{"prefix": " /Api/V1 "}

func Configure(k, v string) { values[k] = v }

func setting(k string) string { return strings.ToLower(strings.TrimSpace(values[k])) }

func Local(path string) string { return strings.TrimPrefix(path, setting("prefix")) }

type options struct{ upper bool }

var opt = &options{}

func (o *options) set(on bool) { o.upper = on }

func Upper(on bool) { opt.set(on) }

func Name(s string) string { if opt.upper { return strings.ToUpper(s) }; return s }

var names sync.Map

func Register(n int8, name string) { names.Store(n, name) }

func Lookup(n int8) string { if v, ok := names.Load(n); ok { return v.(string) }; return "" }

var table = map[string]int{"a": 1}

func Count(s string) int { return table[s] + len(strings.Fields(s)) }

var seen int

func Next(s string) int { seen++; return seen + len(s) }
`

// Changes of stateOld. What is kept must change with what it comes of.
var stateChanges = map[string]struct {
	was, is string
	of      string // the function that shows it
	doubt   string // where no calls are made
}{
	"a variable": {`setting("prefix")) }`, "prefix) }\n\nvar prefix = setting(\"prefix\")", "Local", "prefix is new and keeps what comes of values, which Configure changes"},
	"once":       {`setting("prefix")) }`, "prefix()) }\n\nvar prefix = sync.OnceValue(func() string { return setting(\"prefix\") })", "Local", "prefix is new and keeps what comes of values, which Configure changes"},
	"a cache": {`func Name(s string) string {`, "var cache sync.Map\n\nfunc Name(s string) string {\nif v, ok := cache.Load(s); ok { return v.(string) }\nv := name(s)\ncache.Store(s, v)\nreturn v\n}\n\nfunc name(s string) string {",
		"Name", "cache is new and keeps what comes of opt, which Upper changes"},
	"a map": {`func Lookup(n int8) string {`, "var found = map[int8]string{}\n\nvar mu sync.Mutex\n\nfunc Lookup(n int8) string {\nmu.Lock()\ndefer mu.Unlock()\nif v, ok := found[n]; ok { return v }\nfound[n] = lookup(n)\nreturn found[n]\n}\n\nfunc lookup(n int8) string {",
		"Lookup", "found is new and keeps what comes of names, which Register changes"},
	"a variable that is set, too": {`func Configure(k, v string) { values[k] = v }`, "var prefix = setting(\"prefix\")\n\nfunc Configure(k, v string) { values[k] = v; prefix = setting(\"prefix\") }", "", "prefix is new and keeps what comes of values, which Configure changes"},
	"of what nothing changes":     {`return table[s] +`, "return one +", "", ""},
	"a pattern":                   {`len(strings.Fields(s))`, "len(spaces.Replace(s)) - len(spaces.Replace(s)) + len(strings.Fields(s))", "", ""},
}

func stateFiles(t *testing.T, name string) (dir, now string) {
	t.Helper()
	c := stateChanges[name]
	if !strings.Contains(stateOld, c.was) {
		t.Fatalf("%s: %s is not there", name, c.was)
	}
	now = strings.Replace(stateOld, c.was, c.is, 1)
	switch name {
	case "a variable that is set, too":
		now = strings.Replace(now, `setting("prefix"))`, "prefix)", 1)
	case "of what nothing changes":
		now = strings.Replace(now, "one +", "one[s] +", 1) + "\nvar one = map[string]int{\"a\": table[\"a\"]}\n"
	case "a pattern":
		now += "\nvar spaces = strings.NewReplacer(\" \", \"\")\n"
	}
	dir = t.TempDir()
	for v, text := range map[string]string{"old": stateOld, "new": now} {
		write(t, filepath.Join(dir, v, "go.mod"), []byte("module example.com/one\n\ngo 1.26\n"))
		write(t, filepath.Join(dir, v, "one.go"), []byte(text))
	}
	return dir, now
}

// A new variable that keeps what comes of state which functions change is a doubt, unless calls show that it keeps up.
func TestStaleStateIsADoubt(t *testing.T) {
	if testing.Short() {
		t.Skip("loads two versions of packages")
	}
	for name, c := range stateChanges {
		t.Run(name, func(t *testing.T) {
			dir, _ := stateFiles(t, name)
			s := surfaceOf(t, dir)
			doubts := s.stale(nil)
			if c.doubt == "" && len(doubts) > 0 || c.doubt != "" && (len(doubts) != 1 || doubts[0].Fact != report.DoubtStaleState || !strings.HasPrefix(doubts[0].Text, c.doubt)) {
				t.Errorf("doubts are %+v; want %q", doubts, c.doubt)
			}
			if len(doubts) > 0 {
				f := &search{moved: map[string]bool{"values": true, "opt": true, "names": true}}
				if left := s.stale(f); len(left) > 0 {
					t.Errorf("where calls showed that it keeps up: %+v", left)
				}
			}
		})
	}
}

// Functions that change what the changed code reads are called between two calls of it that are the same.
func TestSetters(t *testing.T) {
	if testing.Short() {
		t.Skip("loads two versions of packages")
	}
	for name, want := range map[string]map[string][]string{
		"a variable":              {"Local": {"Configure"}},
		"a cache":                 {"Name": {"Upper"}},
		"a map":                   {"Lookup": {"Register"}},
		"of what nothing changes": {},
	} {
		dir, _ := stateFiles(t, name)
		s := surfaceOf(t, dir)
		s.findSetters()
		got := make(map[string][]string)
		for target, list := range s.setters {
			for _, e := range list {
				got[target.key] = append(got[target.key], e.key)
			}
		}
		if !maps.EqualFunc(got, want, slices.Equal[[]string]) {
			t.Errorf("%s: setters are %v; want %v", name, got, want)
		}
		g := newGen(s, 1)
		for target := range s.setters {
			p, first, again := g.between(target, nil)
			if first == again || p.Steps[first].Func != target.id || p.Steps[again].Func != target.id || again != len(p.Steps)-1 {
				t.Errorf("%s: the program calls %s at %d and %d of %d", name, target.key, first, again, len(p.Steps))
			}
		}
	}
}

// What a version keeps for too long shows in calls, and what it keeps rightly is proven.
func TestStaleStateShows(t *testing.T) {
	testrun.Live(t, "builds and calls pairs of versions")
	for name, c := range stateChanges {
		t.Run(name, func(t *testing.T) {
			_, now := stateFiles(t, name)
			p, grave := alarmsOf(t, stateOld, now, Options{Executions: 1500})
			if c.of == "" {
				if p.Verdict != report.Proven {
					t.Errorf("it is %s: %q, %+v", p.Verdict, p.Reasons, p.Differences)
				}
				return
			}
			if p.Verdict != report.Different || len(grave) == 0 || p.Differences[0].Function != c.of {
				t.Errorf("it is %s: %q, %+v; want a difference of %s", p.Verdict, p.Reasons, p.Differences, c.of)
			}
		})
	}
}
