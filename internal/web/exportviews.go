package web

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/render"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/view"
	"github.com/hone-perf/hone/internal/views"
)

// A wholeView is a view whose complete answer is in a saved page.
type wholeView struct {
	name string
	key  string                                   // request of the page
	most int                                      // maximum bytes
	less func(q query.Query, try int) query.Query // reduces the query after try answers that were too large; nil if that is impossible
	thin func(report.Report)                      // removes parts that the page does not show
}

// Views whose answers pages get as a whole. If not all fit, the first ones have precedence.
var wholeViews = []wholeView{
	{name: "symptoms", key: "/api/symptoms", most: 20_000},
	{name: "mem", key: "/api/mem", most: 20_000},
	{name: "timeline", key: "/api/timeline", most: 150_000, thin: func(r report.Report) { thin(r.(*report.Timeline), maxSavedPoints) }},
	{name: "gc", key: "/api/gc", most: 40_000, less: fewer(256)},
	{name: "goroutines", key: "/api/goroutines", most: 60_000, less: fewer(200)},
	{name: "holders", key: "/api/holders", most: 60_000, less: fewer(200)},
	{name: "flamechart", key: "/api/flamechart", most: 150_000, less: coarser, thin: func(r report.Report) { r.(*report.FlameChart).Calls = nil }},
	{name: "traces", key: "/api/traces", most: 60_000, less: fewer(200)},
}

const (
	maxSavedData   = 1_150_000 // bytes of all answers; script and style of the page are 320,000
	maxSavedPoints = 600       // of a timeline
	maxSavedGraph  = 150_000   // bytes of the picture
	savedTries     = 6
)

// fewer reduces the number of rows.
func fewer(first int) func(query.Query, int) query.Query {
	return func(q query.Query, try int) query.Query {
		q.Limit = max(1, first>>try)
		return q
	}
}

// coarser drops calls with a small share.
func coarser(q query.Query, try int) query.Query {
	if q.Min = 0; try > 0 {
		q.Min = 0.005 * float64(int(1)<<try)
	}
	return q
}

// saveViews adds the other views of a recording, as far as they fit.
func saveViews(answers map[string]any, in []*recording.Recording, q query.Query) error {
	there, err := json.Marshal(answers)
	if err != nil {
		return err
	}
	left := maxSavedData - len(there)
	if left, err = saveGraph(answers, in, q, left); err != nil {
		return err
	}
	for _, one := range wholeViews {
		v, _ := views.Find(one.name)
		if !v.Has(in[0]) || v.Timed && len(in) > 1 {
			continue
		}
		for try := range savedTries {
			asks := q
			asks.Root, asks.Arg, asks.Min, asks.Limit = "", "", 0, 0
			if !v.Uses.Has("focus") {
				asks.Steps = nil
			}
			if one.less != nil {
				asks = one.less(asks, try)
			}
			out, err := savedAnswer(v, one.thin, in, asks)
			if err != nil {
				break // the page is worth having without
			}
			if len(out) <= min(one.most, left) {
				answers[one.key] = out
				left -= len(out)
				break
			}
			if one.less == nil {
				break
			}
		}
	}
	return nil
}

// savedAnswer asks a view as pages do.
func savedAnswer(v *view.View, thin func(report.Report), in []*recording.Recording, q query.Query) (json.RawMessage, error) {
	if v.Part == view.Profile && v.Kind != "" {
		var err error
		if in, q, err = pickedFor(v.Name, in[:1], q); err != nil {
			return nil, err
		}
	}
	if !v.Uses.Has("base") {
		in = in[:1] // pages say so
	}
	rep, err := run(v, in, q)
	if err != nil {
		return nil, err
	}
	if thin != nil {
		thin(rep)
	}
	return json.Marshal(rep)
}

// saveGraph adds the picture of the call graph, and returns the remaining bytes.
func saveGraph(answers map[string]any, in []*recording.Recording, q query.Query, left int) (int, error) {
	v, _ := views.Find("graph")
	q.Root, q.Arg, q.Min, q.Limit = "", "", 0, 0
	for _, q.Limit = range []int{0, 40, 20} {
		rep, err := run(v, in, q)
		if err != nil {
			return left, nil // the page is worth having without
		}
		dropAdvice(rep)
		var picture bytes.Buffer
		if err := render.Write(&picture, "svg", rep, render.Options{}); err != nil {
			return left, err
		}
		text, err := json.Marshal(picture.String())
		if err != nil {
			return left, err
		}
		if len(text) <= min(maxSavedGraph, left) {
			answers["/download/svg?view=graph"] = json.RawMessage(text)
			return left - len(text), nil
		}
	}
	return left, nil
}

// saved reports whether a saved page can show a view, from a saved answer or from its calls.
func saved(answers map[string]any, name string) bool {
	switch name {
	case "calltree", "sandwich":
		return true
	case "dot":
		return answers["/download/svg?view=graph"] != nil
	}
	for key := range answers {
		if path, _, _ := strings.Cut(key, "?"); path == "/api/"+name {
			return true
		}
	}
	return false
}
