package web

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/view/profileview"
)

// Limits of a saved page, which should fit into an email: at most 1.5 MB with the page itself.
const (
	maxSavedRows   = 1000    // of a ranking
	maxSavedTree   = 300_000 // bytes of the flame graph. The inverted one gets half: the page can compute it, but without narrow calls
	maxSavedSource = 150_000 // bytes of listings
	maxSavedLists  = 100     // functions
)

// PageOptions tune a saved page.
type PageOptions struct {
	Version string
	Dark    bool   // dark by default; otherwise the system of the reader decides
	Up      bool   // flame graphs grow upwards by default
	First   string // tab that the page opens with, if it has it; otherwise the flame graph

	Advice []byte // findings as JSON; nil if there was no search
}

// WritePage writes the answer to q about a recording, and its base if there is one, as a page that needs no server:
// one file that can be sent to somebody. It has the flame graph as far as it can be seen, from which the page makes the call tree, callers and what
// filters leave; rankings; labels; the sources of the functions that cost most, where they are known; and what else a recording says of its run.
func WritePage(w io.Writer, in []*recording.Recording, q query.Query, o PageOptions) error {
	answers, err := savedAnswers(in, q, o)
	if err != nil {
		return err
	}
	data, err := json.Marshal(answers) // which leaves no < that could end the element it stands in
	if err != nil {
		return err
	}
	style, errStyle := assetText("app.css")
	script, errScript := assetText("app.js")
	index, errIndex := ui.ReadFile("ui/index.html")
	if err := errors.Join(errStyle, errScript, errIndex); err != nil {
		return err
	}
	root := `<html lang="en"`
	if o.Dark {
		root += ` data-theme="dark"`
	}
	first := "flame"
	if needs := map[string]string{"overview": "top", "graph": "dot", "source": "list"}; slices.Contains(pages, o.First) && saved(answers, cmp.Or(needs[o.First], o.First)) {
		first = o.First
	}
	if o.Up {
		first += "?ui.orient=flame"
	}
	page, ok := replaceAll(string(index), map[string]string{
		`<html lang="en"`:     root,
		`<title>hone</title>`: "<title>" + html.EscapeString(in[0].Ref) + " · hone</title>",
		`<link rel="stylesheet" href="/assets/app.css">`: "<style>\n" + style + "</style>",
		`<script src="/assets/app.js" defer></script>`:   "",
		"</body>": `<script type="application/json" id="hone-data" data-first="` + first + `">` + string(data) + "</script>\n" +
			"<script>\n" + strings.ReplaceAll(script, "</script", `<\/script`) + "</script>\n</body>",
	})
	if !ok {
		return fmt.Errorf("the page has changed: see %s", "ui/index.html")
	}
	_, err = io.WriteString(w, page)
	return err
}

// replaceAll replaces texts, each of which must occur exactly once.
func replaceAll(text string, with map[string]string) (string, bool) {
	var pairs []string
	for old, text2 := range with {
		if strings.Count(text, old) != 1 {
			return "", false
		}
		pairs = append(pairs, old, text2)
	}
	return strings.NewReplacer(pairs...).Replace(text), true
}

// savedAnswers returns the answers of a saved page by request. Keys of a request are sorted.
func savedAnswers(in []*recording.Recording, q query.Query, o PageOptions) (map[string]any, error) {
	first, err := recordOf(in[0])
	if err != nil {
		return nil, err
	}
	if first.Metrics, err = savedMetric(in[:1], q); err != nil {
		return nil, err
	}
	s := session{Version: o.Version, Recordings: []sessionRecord{first}, Advises: o.Advice != nil}
	s.describe()
	s.Filters = filtersOf(q)
	answers, whole := map[string]any{}, q
	if o.Advice != nil {
		answers["/api/advise"] = json.RawMessage(o.Advice)
	}
	if len(in) > 1 {
		s.Base = in[1].Ref
		if err := saveDiff(answers, in, q); err != nil {
			return nil, err
		}
		q.Gone = true // as pages show comparisons
	}

	inverted := q
	inverted.Invert = !q.Invert
	for _, tree := range []struct {
		key  string
		of   query.Query
		most int
	}{{"/api/flame", q, maxSavedTree}, {"/api/flame?invert=true", inverted, maxSavedTree / 2}} {
		flames, err := profileview.NewFlames(in, tree.of)
		if err != nil {
			return nil, err
		}
		if answers[tree.key], err = savedTree(flames, tree.of, tree.most); err != nil {
			return nil, err
		}
	}

	q.Root, q.Min, q.Limit = "", 0, maxSavedRows
	rankings := map[string]query.Query{}
	for _, by := range []string{"", "package"} {
		if q.By != "" && q.By != "function" && by != "" {
			continue // it is by something else already
		}
		for _, sort := range []string{"flat", "cum"} {
			one, key := q, url.Values{}
			if one.Sort = sort; sort != "flat" {
				key.Set("sort", sort)
			}
			if by != "" {
				one.By = by
				key.Set("by", by)
			}
			rankings[strings.TrimSuffix("/api/top?"+key.Encode(), "?")] = one
		}
	}
	for key, q := range rankings {
		top, err := profileview.Top(in, q)
		if err != nil {
			return nil, err
		}
		profileview.SetOrigins(in[0].Profile, top.(*report.Top))
		dropAdvice(top)
		answers[key] = top
	}
	if len(first.Labels) > 0 {
		q := q
		q.Limit = 0
		tags, err := profileview.Tags(in[:1], q)
		if err != nil {
			return nil, err
		}
		dropAdvice(tags)
		answers["/api/tags"] = tags
	}
	if err := saveSource(answers, in, q); err != nil {
		return nil, err
	}
	if err := saveViews(answers, in, whole); err != nil {
		return nil, err
	}
	s.Recordings[0].Views = slices.DeleteFunc(first.Views, func(name string) bool { return !saved(answers, name) })
	answers["/api/session"] = s
	return answers, nil
}

// filtersOf returns the settings of q that leave out samples or change their values, as the query string of a URL. A saved page shows them, because
// none of its answers is without them.
func filtersOf(q query.Query) string {
	_, filters, _ := strings.Cut(query.Query{
		At: q.At, BaseTags: q.BaseTags, Steps: q.Steps, NoInlines: q.NoInlines, Mean: q.Mean, Relative: q.Relative, Positive: q.Positive, Divide: q.Divide,
	}.URL(), "?")
	return filters
}

// dropAdvice removes the parts of texts in an answer that advise to set something, because a saved page has no such controls.
func dropAdvice(answer report.Report) {
	isOption := func(item any) bool { _, ok := item.(hint.Option); return ok }
	isAdvice := func(item any) bool { t, ok := item.(hint.Text); return ok && slices.ContainsFunc(t, isOption) }
	eachText(reflect.ValueOf(answer), func(at reflect.Value) {
		if t := at.Interface().(hint.Text); at.CanSet() && slices.ContainsFunc(t, isAdvice) {
			at.Set(reflect.ValueOf(slices.DeleteFunc(slices.Clone(t), isAdvice)))
		}
	})
}

// savedTree returns as much of a flame graph as fits. If the whole is too large, it estimates the number of calls that fit from their mean size, and
// tries slightly fewer.
func savedTree(flames *profileview.Flames, q query.Query, most int) (json.RawMessage, error) {
	for limits := painted(q); ; {
		f, err := flames.Flame(limits)
		if err != nil {
			return nil, err
		}
		dropAdvice(f)
		out, err := json.Marshal(f)
		if err != nil || len(out) <= most || f.Shown < 100 {
			return out, err
		}
		limits.Limit = int(0.95 * float64(f.Shown) * float64(most) / float64(len(out)))
	}
}

// saveSource adds source lines of the most expensive functions, if their sources are available.
func saveSource(answers map[string]any, in []*recording.Recording, q query.Query) error {
	if in[0].Sources == nil || q.By != "" && q.By != "function" {
		return nil
	}
	var names []string
	for _, key := range []string{"/api/top", "/api/top?sort=cum"} {
		rows := answers[key].(*report.Top).Rows
		for _, r := range rows[:min(len(rows), maxSavedLists)] {
			if r.Name != "" && !slices.Contains(names, r.Name) {
				names = append(names, r.Name)
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	rank := make(map[string]int, len(names))
	exact := make([]string, len(names))
	for i, n := range names {
		rank[n], exact[i] = i, regexp.QuoteMeta(n)
	}
	q.Arg, q.Limit = "^("+strings.Join(exact, "|")+")$", 0
	rep, err := profileview.List(in, q)
	if err != nil {
		return nil // the page is worth having without
	}
	list := rep.(*report.Source)
	dropAdvice(list)
	order.Stable(list.Functions, func(a, b report.SourceFunction) int { return cmp.Compare(rank[a.Name], rank[b.Name]) })
	kept, left := list.Functions[:0], maxSavedSource
	for _, f := range list.Functions {
		text, err := json.Marshal(f)
		if err != nil {
			return err
		}
		known := slices.ContainsFunc(f.Files, func(file report.SourceFile) bool { return len(file.Lines) > 0 && file.Error == "" })
		if known && len(text) <= left {
			kept = append(kept, f)
			left -= len(text)
		}
	}
	if list.Functions = kept; len(kept) > 0 {
		answers["/api/list"] = list
	}
	return nil
}

// saveDiff adds the largest changes.
func saveDiff(answers map[string]any, in []*recording.Recording, q query.Query) error {
	q.Root, q.Min, q.Limit = "", 0, maxSavedRows
	for sort, key := range map[string]string{"flat": "/api/diff", "cum": "/api/diff?sort=cum"} {
		q.Sort = sort
		diff, err := profileview.Diff(in, q)
		if err != nil {
			return err
		}
		dropAdvice(diff)
		answers[key] = diff
	}
	return nil
}

// savedMetric returns the metric of a saved page, which has only one.
func savedMetric(in []*recording.Recording, q query.Query) ([]sessionMetric, error) {
	p := in[0].Profile
	k, err := p.SampleIndex(q.Metric)
	if err != nil {
		return nil, err
	}
	h, err := profileview.Head(in, query.Query{Metric: q.Metric})
	if err != nil {
		return nil, err
	}
	m := metricOf(p, k)
	m.Default, m.Total = true, h.Total
	return []sessionMetric{m}, nil
}
