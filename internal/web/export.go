package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"strings"

	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/view/profileview"
)

// maxSavedRows is how many rows of a ranking go into a saved page.
const maxSavedRows = 1000

// PageOptions tune a saved page.
type PageOptions struct {
	Version string
	Dark    bool // it is dark unless its reader chooses otherwise; else as the system of the reader is
	Up      bool // the flame graph grows upwards unless its reader chooses otherwise
}

// WritePage writes the answer to q about a recording, and its base if there is one, as a page that needs no server:
// one file that can be sent to somebody, with the flame graph as far as it can be seen and the ranking of functions.
func WritePage(w io.Writer, in []*recording.Recording, q query.Query, o PageOptions) error {
	answers, err := savedAnswers(in, q, o.Version)
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

// replaceAll puts new text in the place of old text, all of which must be there once.
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

// savedAnswers returns what a saved page can be asked, by request.
func savedAnswers(in []*recording.Recording, q query.Query, version string) (map[string]any, error) {
	first, err := recordOf(in[0])
	if err != nil {
		return nil, err
	}
	if first.Metrics, err = savedMetric(in[:1], q); err != nil {
		return nil, err
	}
	s := session{Version: version, Recordings: []sessionRecord{first}}
	s.describe()
	answers := map[string]any{}
	if len(in) > 1 {
		s.Base = in[1].Ref
		if err := saveDiff(answers, in, q); err != nil {
			return nil, err
		}
		q.Gone = true // as pages show comparisons
	}
	answers["/api/session"] = s

	flames, err := profileview.NewFlames(in, q)
	if err != nil {
		return nil, err
	}
	f, err := flames.Flame(painted(q))
	if err != nil {
		return nil, err
	}
	answers["/api/flame"] = f

	q.Root, q.Min, q.Limit = "", 0, maxSavedRows
	for sort, key := range map[string]string{"flat": "/api/top", "cum": "/api/top?sort=cum"} {
		q.Sort = sort
		top, err := profileview.Top(in, q)
		if err != nil {
			return nil, err
		}
		profileview.SetOrigins(in[0].Profile, top.(*report.Top))
		answers[key] = top
	}
	return answers, nil
}

// saveDiff adds what changed most.
func saveDiff(answers map[string]any, in []*recording.Recording, q query.Query) error {
	q.Root, q.Min, q.Limit = "", 0, maxSavedRows
	for sort, key := range map[string]string{"flat": "/api/diff", "cum": "/api/diff?sort=cum"} {
		q.Sort = sort
		diff, err := profileview.Diff(in, q)
		if err != nil {
			return err
		}
		answers[key] = diff
	}
	return nil
}

// savedMetric returns the only metric that a saved page has numbers of.
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
