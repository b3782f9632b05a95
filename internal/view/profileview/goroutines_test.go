package profileview

import (
	"fmt"
	"slices"
	"testing"

	"github.com/hone-perf/hone/internal/report"
)

// grouped returns the goroutines of a source of some form, one group for each stack, innermost frame first.
func grouped(of form, stacks ...[]string) *grouping {
	g := &grouping{form: of, byKey: map[string]int{}}
	for i, stack := range stacks {
		r := report.GoroutineGroup{Count: int64(len(stacks) - i)}
		for _, name := range stack {
			r.Stack = append(r.Stack, report.Frame{Name: name, File: "x.go", Line: 1})
		}
		key := fmt.Sprint(stack, of)
		g.byKey[key] = i
		g.keys = append(g.keys, key)
		g.groups = append(g.groups, r)
	}
	return g
}

// TestCompareForms holds that goroutines of a profile, a dump and an execution trace are compared by where they are, though each tells other frames of
// the runtime, and only some tell states and creators.
func TestCompareForms(t *testing.T) {
	prof := grouped(form{},
		[]string{"runtime.gopark", "runtime.chansend", "runtime.chansend1", "main.leak"},
		[]string{"runtime.gopark", "internal/poll.runtime_pollWait", "internal/poll.(*FD).Accept", "net.(*netFD).accept", "net/http.Serve"},
		[]string{"runtime.gopark", "sync.runtime_SemacquireMutex", "sync.(*Mutex).Lock", "main.main", "runtime.main"},
		[]string{"runtime.gopark", "runtime.bgsweep"},
	)
	trace := grouped(form{states: true},
		[]string{"main.leak"},
		[]string{"internal/poll.(*FD).Accept", "net.(*netFD).accept", "net/http.Serve"},
		[]string{"sync.(*Mutex).Lock", "main.main"},
		[]string{"main.leak", "main.main"},
	)
	dump := grouped(form{states: true, creators: true},
		[]string{"main.leak"},
		[]string{"internal/poll.runtime_pollWait", "internal/poll.(*FD).Accept", "net.(*netFD).accept", "net/http.Serve"},
		[]string{"sync.(*Mutex).Lock", "main.main"},
		[]string{"runtime.chanrecv", "main.leak"},
	)
	for _, tt := range []struct {
		name        string
		now, before *grouping
		want        []string
	}{
		{"a profile with itself", prof, prof, []string{"4 of 4", "3 of 3", "2 of 2", "1 of 1"}},
		{"a profile with a trace", prof, trace, []string{"1 of 0", "4 of 4", "3 of 3", "2 of 2", "0 of 1"}},
		{"a trace with a profile", trace, prof, []string{"1 of 0", "4 of 4", "3 of 3", "2 of 2", "0 of 1"}},
		{"a trace with a dump", trace, dump, []string{"1 of 0", "3 of 3", "2 of 2", "4 of 5"}},
		{"a dump with a profile", dump, prof, []string{"5 of 4", "3 of 3", "2 of 2", "0 of 1"}},
	} {
		var got []string
		for _, r := range compareGroups(tt.now, tt.before, true) {
			got = append(got, fmt.Sprintf("%d of %d", r.Count, *r.Before))
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
