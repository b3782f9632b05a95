package report

import (
	"iter"
	"time"

	"github.com/hone-perf/hone/internal/unit"
)

// A FindMax is the highest rate at which a server meets some goals.
type FindMax struct {
	Target string        `json:"target"`
	Goals  string        `json:"goals"`
	For    time.Duration `json:"for_ns"` // duration of each rate
	Rate   float64       `json:"rate"`   // the result; 0 means none
	Steps  []FindMaxStep `json:"steps"`  // in the order of the attempts
	Notes  []string      `json:"notes,omitempty"`
}

// A FindMaxStep is one rate that was tried.
type FindMaxStep struct {
	Rate     float64       `json:"rate"`
	Answered float64       `json:"answered_per_second"`
	P50      time.Duration `json:"p50_ns"`
	P99      time.Duration `json:"p99_ns"`
	Max      time.Duration `json:"max_ns"`
	Met      bool          `json:"met"`
	Why      string        `json:"why,omitempty"`
}

// Blocks shows the result, and the attempts.
func (f *FindMax) Blocks() iter.Seq[Block] {
	found := Phrase{"no rate meets ", f.Goals}
	if f.Rate > 0 {
		found = Phrase{plain(f.Rate), " requests a second meet ", f.Goals}
	}
	t := Table{Title: "tried", Columns: []Column{{Name: "rate"}, {Name: "answered"}, {Name: "50%"}, {Name: "99%"}, {Name: "longest"}, {Name: ""}}}
	for _, s := range f.Steps {
		verdict := Judgment{"met", 1}
		if !s.Met {
			verdict = Judgment{s.Why, -1}
		}
		t.Rows = append(t.Rows, []any{plain(s.Rate) + "/s", unit.PerSecond(s.Answered), Nanos(s.P50), Nanos(s.P99), Nanos(s.Max), verdict})
	}
	list := []Block{Heading{[]Phrase{append(append(found, Sep{}), f.Target, Sep{}, "each kept for ", Nanos(f.For))}}, t}
	for _, n := range f.Notes {
		list = append(list, Note{Phrase{n}})
	}
	return blocks(list)
}
