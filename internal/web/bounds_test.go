package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	library "github.com/google/pprof/profile"

	"github.com/hone-perf/hone/internal/report"
)

func TestTracesWithoutALimitAreThousand(t *testing.T) {
	var b strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&b, "main;f%d %d\n", i, i+1)
	}
	s, h := serverOf(t, b.String())
	for query, want := range map[string]int{"": usualTraces, "?limit=7": 7, "?limit=2000": 2000, "?limit=all": 3000} {
		var got struct {
			report.Head
			Traces []json.RawMessage
		}
		w := get(s, h, "/api/traces"+query)
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || len(got.Traces) != want {
			t.Errorf("%q: %d traces, want %d; error %v", query, len(got.Traces), want, err)
		}
		if want < 3000 && !strings.Contains(string(got.Traces[0]), `"f2999"`) {
			t.Errorf("%q: begins with %.200s, want the heaviest sample", query, got.Traces[0])
		}
		if note := fmt.Sprintf("the %d heaviest of 3000 stacks", want); want < 3000 && !strings.Contains(got.Notes.String(), note) {
			t.Errorf("%q: notes %q lack %q", query, got.Notes, note)
		}
	}
}

// longNames returns a server of a profile whose stacks have a name of 60 kB in each frame.
func longNames(t *testing.T, samples, depth int) (*Server, http.Handler) {
	t.Helper()
	p := &library.Profile{SampleType: []*library.ValueType{{Type: "cpu", Unit: "nanoseconds"}}}
	at := func(name string) *library.Location {
		f := &library.Function{ID: uint64(len(p.Function) + 1), Name: name}
		l := &library.Location{ID: f.ID, Line: []library.Line{{Function: f}}}
		p.Function, p.Location = append(p.Function, f), append(p.Location, l)
		return l
	}
	stack := slices.Repeat([]*library.Location{at(strings.Repeat("x", 60_000))}, depth)
	for i := range samples {
		p.Sample = append(p.Sample, &library.Sample{Location: append([]*library.Location{at(fmt.Sprint("f", i))}, stack...), Value: []int64{1}})
	}
	var b bytes.Buffer
	if err := p.WriteUncompressed(&b); err != nil {
		t.Fatal(err)
	}
	return serverOf(t, b.String())
}

// However long the names are, an answer stays of a size that a page can take.
func TestTracesWithLongNamesAreFewer(t *testing.T) {
	s, h := longNames(t, 60, 20)
	w := get(s, h, "/api/traces?limit=all")
	if n := w.Body.Len(); w.Code != 200 || n > 40<<20 || !strings.Contains(w.Body.String(), " of 60 stacks") {
		t.Errorf("status %d, %d bytes", w.Code, n)
	}
}

func TestAnswerTooLargeForPage(t *testing.T) {
	s, h := longNames(t, 60, 40)
	w := get(s, h, "/api/folded")
	if w.Code != 422 || w.Body.Len() > 1000 || !strings.Contains(w.Body.String(), "hone folded writes all of it") {
		t.Errorf("status %d, %d bytes: %.300s", w.Code, w.Body.Len(), w.Body)
	}
}
