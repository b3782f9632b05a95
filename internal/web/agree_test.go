package web

import (
	"bytes"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/hone-perf/hone/internal/calls"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/profile/profiletest"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/testrun"
	"github.com/hone-perf/hone/internal/view/profileview"
)

// TestNumbersAgree holds that pages show the numbers of the views for the same query: over made-up profiles and
// the corpus.
func TestNumbersAgree(t *testing.T) {
	profiles := map[string]*profile.Profile{}
	for _, kind := range []profiletest.Kind{profiletest.CPU, profiletest.Heap, profiletest.Mutex} {
		var buf bytes.Buffer
		if err := profiletest.Write(&buf, profiletest.Config{Kind: kind, Samples: testrun.Size(2000, 500), Functions: testrun.Size(2000, 500), Labels: true}); err != nil {
			t.Fatal(err)
		}
		p, err := profile.Parse(&buf)
		if err != nil {
			t.Fatal(err)
		}
		profiles["made up, "+kind.String()] = p
	}
	for i, name := range testrun.Corpus(t, "profiles") {
		if testing.Short() && i%30 != 0 {
			continue
		}
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if p, err := profile.ParseBytes(data); err == nil && p.NumSamples() > 0 && len(p.SampleTypes) > 0 {
			profiles[filepath.Base(name)] = p
		}
	}
	for name, p := range profiles {
		t.Run(name, func(t *testing.T) {
			for _, steps := range []string{"", "&ignore=runtime", "&focus=main&hide=%5Eruntime"} {
				agree(t, p, steps)
			}
		})
	}
}

func agree(t *testing.T, p *profile.Profile, steps string) {
	in := []*recording.Recording{{Ref: "p", Profile: p, Sources: blank(make([]string, 500_000))}}
	s := New(in, Options{Hosts: []string{"localhost"}})
	h := s.Handler()
	u, err := url.Parse("/top?limit=5" + steps)
	if err != nil {
		t.Fatal(err)
	}
	q, err := query.Grammar(nil).FromURL(u)
	if err != nil {
		t.Fatal(err)
	}
	rep, err := profileview.Top(in, q)
	if err != nil {
		t.Fatal(err)
	}
	want := rep.(*report.Top)
	var top report.Top
	answered(t, get(s, h, "/api/top?limit=5"+steps), &top)
	if len(top.Rows) != len(want.Rows) || top.Total != want.Total {
		t.Fatalf("%s: %d rows of %d, want %d of %d", steps, len(top.Rows), top.Total, len(want.Rows), want.Total)
	}
	unplaced := unplacedIn(p)
	var flame report.FlameJSON
	answered(t, get(s, h, "/api/flame?min=0"+steps), &flame)
	var value int64
	rest, _, err := calls.Apply(p, q.Steps, "", false)
	if err != nil {
		t.Fatal(err)
	}
	k, err := p.SampleIndex("")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range rest.Values(k) {
		value += v
	}
	if got := flame.Rows[0].Cum[0]; got != value {
		t.Errorf("%s: the flame graph is of %d, want %d", steps, got, value)
	}
	for i, row := range want.Rows {
		if top.Rows[i].Cost != row.Cost {
			t.Errorf("%s: row %d is %+v, want %+v", steps, i, top.Rows[i].Cost, row.Cost)
		}
		if row.Name == "" {
			continue
		}
		var sandwich struct {
			Flat, Cum int64
			Callees   report.FlameColumns
		}
		answered(t, get(s, h, "/api/sandwich?min=0&arg="+url.QueryEscape(row.Frame.String())+steps), &sandwich)
		if sandwich.Flat != row.Flat || sandwich.Cum != row.Cum {
			t.Errorf("%s: %s between its callers and callees is %d and %d, want %d and %d",
				steps, row.Name, sandwich.Flat, sandwich.Cum, row.Flat, row.Cum)
		}
		if len(sandwich.Callees.Rows) == 0 || sandwich.Callees.Rows[0].Cum[0] != row.Cum {
			t.Errorf("%s: the callees of %s do not come to %d", steps, row.Name, row.Cum)
		}
		var search struct{ Value int64 }
		answered(t, get(s, h, "/api/search?rx="+url.QueryEscape("^"+regexp.QuoteMeta(row.Frame.String())+"$")+steps), &search)
		if search.Value != row.Cum {
			t.Errorf("%s: searching for %s finds %d, want %d", steps, row.Name, search.Value, row.Cum)
		}
		if row.Frame.File == "" && !unplaced[row.Name] {
			agreeOnSource(t, s, h, row, steps)
		}
	}
}

// unplacedIn returns the functions of which not all samples have a file and a line.
func unplacedIn(p *profile.Profile) map[string]bool {
	names := make(map[string]bool)
	for _, loc := range p.Locations {
		for _, l := range loc.Lines {
			if f := p.Functions[l.Function]; f.File == "" || l.Line == 0 {
				names[f.Name] = true
			}
		}
	}
	return names
}

// blank is source text of empty lines, whatever the file.
type blank []string

func (b blank) Find(file, _ string, _ int) (recording.Text, error) {
	return recording.Text{Path: file, Lines: b}, nil
}

// agreeOnSource holds that the lines of a function come to what the ranking has for it.
func agreeOnSource(t *testing.T, s *Server, h http.Handler, row report.TopRow, steps string) {
	var list report.Source
	answered(t, get(s, h, "/api/list?arg="+url.QueryEscape("^"+regexp.QuoteMeta(row.Name)+"$")+steps), &list)
	var flat, most int64
	for _, f := range list.Functions {
		if f.Name != row.Name {
			t.Errorf("%s: the source of %s has %s", steps, row.Name, f.Name)
		}
		for _, file := range f.Files {
			var inLines int64
			for _, l := range file.Lines {
				inLines += l.Flat
				most = max(most, l.Cum)
			}
			if inLines != file.Flat {
				t.Errorf("%s: the lines of %s in %s come to %d, want %d", steps, row.Name, file.File, inLines, file.Flat)
			}
			flat += file.Flat
		}
	}
	if flat != row.Flat || most > row.Cum && row.Cum >= 0 {
		t.Errorf("%s: %s costs %d by its source, with a line of %d, want %d and no more than %d", steps, row.Name, flat, most, row.Flat, row.Cum)
	}
}
