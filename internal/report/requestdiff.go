package report

import (
	"iter"
	"math"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/unit"
)

// A RequestDiff compares the requests, tasks or regions of two execution traces, by handler. Times are in nanoseconds.
type RequestDiff struct {
	Work     Work            `json:"work"`
	Ref      string          `json:"ref"`
	Live     bool            `json:"-"` // the trace was taken from a server for this answer; the next question would be about another one
	Base     string          `json:"base"`
	At       string          `json:"at,omitempty"` // as it was asked for
	Of       int             `json:"requests"`
	Before   int             `json:"requests_before"`
	Handlers []HandlerChange `json:"handlers"`           // that both have, those with most time first
	Only     []HandlerOnly   `json:"only_one,omitempty"` // that one of them has
	Parts    []PartChange    `json:"parts"`              // what the mean request has more or less of, the largest difference first
	Notes    []string        `json:"notes,omitempty"`

	// How many there are, where not all are listed.
	HandlersOf int `json:"handlers_of,omitempty"`
	OnlyOf     int `json:"only_one_of,omitempty"`
	PartsOf    int `json:"parts_of,omitempty"`
}

// A HandlerChange is how long the requests of one handler took, before and now.
type HandlerChange struct {
	Handler string         `json:"handler,omitempty"`
	Before  int            `json:"requests_before"`
	Now     int            `json:"requests"`
	Figures []FigureChange `json:"figures"`
}

// A FigureChange is a number about the times of requests, before and now.
type FigureChange struct {
	What    string   `json:"what"` // mean, p50, …
	Before  int64    `json:"before_nanos"`
	Now     int64    `json:"now_nanos"`
	Ratio   *float64 `json:"ratio,omitempty"` // as the times of stretches say; nothing where there are too few
	Low     *float64 `json:"ratio_at_least,omitempty"`
	High    *float64 `json:"ratio_at_most,omitempty"`
	Verdict string   `json:"verdict,omitempty"` // better, worse, same or undecided
}

// A HandlerOnly is a handler that one trace has requests of.
type HandlerOnly struct {
	Handler string `json:"handler,omitempty"`
	Before  int    `json:"requests_before"`
	Now     int    `json:"requests"`
}

// A PartChange is what the mean request of a handler spends with one thing.
type PartChange struct {
	Handler string `json:"handler,omitempty"`
	What    string `json:"what"`
	Before  int64  `json:"before_nanos"`
	Now     int64  `json:"now_nanos"`
}

// Blocks shows how long requests took before and now, and where the difference is.
func (d *RequestDiff) Blocks() iter.Seq[Block] {
	list := []Block{Heading{[]Phrase{{unit.Counted(d.Of, string(d.Work)), " of ", d.Ref, Sep{}, "before: ", d.Before, " of ", d.Base}}}}
	t := Table{Title: d.Work.named() + "s, before and now", Columns: []Column{
		{Name: "before"}, {Name: "now"}, {Name: ""}, {Name: "before", Unit: nanos}, {Name: "now", Unit: nanos}, {Name: "change"}, {Name: "95% interval"}, {Name: "verdict"}, {Name: d.Work.named()},
	}}
	for _, h := range d.Handlers {
		for i, f := range h.Figures {
			row := []any{nil, nil, f.What, Nanos(f.Before), Nanos(f.Now), Growth{f.Before, f.Now}, nil, f.judgment(), nil}
			if i == 0 {
				row[0], row[1], row[8] = h.Before, h.Now, d.Work.name(h.Handler)
			}
			if f.Low != nil && f.High != nil && !math.IsInf(*f.High, 0) {
				row[6] = Interval{*f.Low, *f.High}
			}
			t.Rows = append(t.Rows, row)
		}
	}
	if len(t.Rows) > 0 {
		list = append(list, t)
	}
	if len(d.Parts) > 0 {
		p := Table{Title: "where the difference is", Summary: Phrase{"per ", string(d.Work), ", on average"}, Columns: []Column{
			{Name: "more", Unit: nanos}, {Name: "before", Unit: nanos}, {Name: "now", Unit: nanos}, {Name: "what"}, {Name: d.Work.named()},
		}}
		for _, x := range d.Parts {
			p.Rows = append(p.Rows, []any{Change{x.Before, x.Now, alone(nanos)}, Nanos(x.Before), Nanos(x.Now), x.What, d.Work.name(x.Handler)})
		}
		list = append(list, p)
	}
	if len(d.Only) > 0 {
		o := Table{Title: "in one of them alone", Columns: []Column{{Name: "before"}, {Name: "now"}, {Name: d.Work.named()}}}
		for _, x := range d.Only {
			o.Rows = append(o.Rows, []any{x.Before, x.Now, d.Work.name(x.Handler)})
		}
		list = append(list, o)
	}
	list = append(list, first(len(d.Handlers), d.HandlersOf, d.Work.named()+"s")...)
	list = append(list, first(len(d.Parts), d.PartsOf, "differences")...)
	list = append(list, first(len(d.Only), d.OnlyOf, d.Work.named()+"s in one of them alone")...)
	for _, n := range d.Notes {
		list = append(list, Note{Phrase{n}})
	}
	list = append(list, next(d.Live, d.Ref,
		during(d.At, string(d.Work)+"s", d.Ref).For("what the slow "+string(d.Work)+"s of this one spend more time on"),
		hint.Ask("diff", d.Base, d.Ref).With("metric", "blocked").For("where goroutines waited, before and now"),
	))
	return blocks(list)
}

func (f *FigureChange) judgment() any {
	switch f.Verdict {
	case Worse:
		return Judgment{"slower", -1}
	case Better:
		return Judgment{"faster", 1}
	case Same:
		return Judgment{Text: "same within 1%"}
	case Undecided:
		return Judgment{Text: f.Verdict}
	}
	return nil
}
