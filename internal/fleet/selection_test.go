package fleet

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/store"
)

// Profiles of one kind that cannot be added up, or that are of another kind than their sender said, leave other kinds readable.
func TestOneKindUnreadable(t *testing.T) {
	b := newBench(t)
	for _, u := range []struct{ kind, raw string }{
		{"goroutine", "goroutine profile: total 1\n1 @ 0x1 0x2\n#\t0x1\tmain.work+0x1\t/src/main.go:7\n"},
		{"threadcreate", "threadcreate profile: total 1\n1 @ 0x1 0x2\n"},
		{"threadcreate", "main;work 3\n"}, // counts samples
		{"mutex", "goroutine profile: total 1\n1 @ 0x1 0x2\n"},
	} {
		out, err := b.Add(t.Context(), "shop", []*store.Upload{{Service: "odd", Kind: u.kind, Start: b.now, End: b.now, Raw: []byte(u.raw)}})
		if err != nil || out[0].Err != nil {
			t.Fatal(err, out[0].Err)
		}
	}
	q := store.Query{Tenant: "shop", Selector: store.Service("odd"), From: b.now, To: b.now.Add(time.Second)}
	got, err := b.selected(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	if kinds := slices.Sorted(maps.Keys(got.profiles)); !slices.Equal(kinds, []string{"goroutine", "threadcreate"}) {
		t.Errorf("there are profiles of %v, want goroutine and threadcreate", kinds)
	}
	if l := got.manifest.Fleet["threadcreate"]; l.Profiles != 1 || l.Processes != 1 || len(l.Notes) != 1 {
		t.Errorf("of threads there is %+v, want one profile of one process, and a note", l)
	}
	notes := strings.Join(got.manifest.Notes, "\n")
	for _, want := range []string{
		"threadcreate: 1 profile of odd left out: the metrics are samples (count), and those of the other profiles threadcreate (count)",
		"mutex: 1 profile of odd left out: stored as mutex, but the sample types are goroutine, of kind goroutine",
	} {
		if !strings.Contains(notes, want) {
			t.Errorf("the notes are %q, want %q", notes, want)
		}
	}
}
