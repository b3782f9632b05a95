package web

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/profile/profiletest"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/testrun"
)

// SavedAgrees compares what a saved page makes of its calls with what a server answers, in a browser.
func SavedAgrees(t *testing.T, browser context.Context) {
	script, err := os.ReadFile("testdata/saved.js") // from ui/src/saved.ts
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := chromedp.NewContext(browser)
	defer stop()
	now := "main;serve;work 3\nmain;serve;work;work 2\nmain;serve;(*T).walk;(*T).walk;read 4\nmain;other;read 5\nmain;other 1\nmain;serve;encode 2\n"
	was := "main;serve;work 6\nmain;serve;old 7\nmain;other;read 1\n"
	for _, texts := range [][]string{{now}, {now, was}} {
		s, h := serverOf(t, texts...)
		base := ""
		if len(texts) > 1 {
			base = "&gone=true&base=1.folded"
		}
		answers, err := savedAnswers(s.in, query.Query{}, PageOptions{})
		if err != nil {
			t.Fatal(err)
		}
		saved, err := json.Marshal(answers)
		if err != nil {
			t.Fatal(err)
		}
		for _, filters := range []string{
			"", "focus=serve", "ignore=work", "hide=serve", "show=read|main", "show-from=serve", "focus=read&hide=walk", "hide=work&focus=serve", "ignore=(?i)ENCODE",
		} {
			for _, view := range []string{"flame", "flame?invert=true", "calltree", "calltree?invert=true", "top", "top?sort=cum", "sandwich?arg=read", "sandwich?arg=(*T).walk", "sandwich?arg=^m"} {
				path := "/api/" + view + strings.Repeat("?", 1-strings.Count(view, "?")) + strings.Repeat("&", strings.Count(view, "?")) + filters
				w := get(s, h, strings.ReplaceAll(path, " ", "+")+base)
				var want any
				if err := json.Unmarshal(w.Body.Bytes(), &want); err != nil {
					t.Fatal(err)
				}
				got, err := chromedp.Run(ctx, chromedp.Evaluate[string](fmt.Sprintf(`(() => { %s
					const u = new URL(%q, "http://x");
					const pairs = [...u.searchParams].filter(([k, v]) => v !== "");
					try { return JSON.stringify(new saved.Saved(%s).answer(u.pathname, pairs) ?? null); } catch (e) { return JSON.stringify({ error: e.message }); } })()`, script, path, saved)))
				if err != nil {
					t.Fatal(err)
				}
				if got, want := comparable(t, []byte(got)), comparable(t, w.Body.Bytes()); got != want {
					t.Errorf("%s with %d recordings: a saved page answers\n%s\nand the server\n%s", path, len(texts), got, want)
				}
			}
		}
	}
}

// comparable is what an answer says of calls and functions, in an order that does not depend on who made it.
func comparable(t *testing.T, text []byte) string {
	t.Helper()
	var a struct {
		Error   string `json:"error"`
		Total   int64  `json:"total"`
		Flat    int64  `json:"flat"`
		Cum     int64  `json:"cum"`
		Callers *report.FlameColumns
		Callees *report.FlameColumns
		Rows    []json.RawMessage
	}
	if err := json.Unmarshal(text, &a); err != nil {
		t.Fatalf("%v: %.300s", err, text)
	}
	if a.Error != "" {
		return "an error"
	}
	var lines []string
	tree := func(name string, c report.FlameColumns) {
		up := []string{name}
		var ends []int64
		for _, r := range c.Rows {
			var names []string
			var next []int64
			x := int64(0)
			for i, f := range r.Frame {
				x += r.Gap[i]
				w := r.Cum[i]
				if r.Width != nil {
					w = r.Width[i]
				}
				way := name
				if f >= 0 {
					at := 0
					for at+1 < len(ends) && ends[at] <= x {
						at++
					}
					way = up[at] + ";" + c.Frames.Name[f]
				}
				x += w
				names, next = append(names, way), append(next, x)
				before := int64(0)
				if r.Before != nil {
					before = r.Before[i]
				}
				lines = append(lines, fmt.Sprint(way, " ", r.Flat[i], r.Cum[i], before, w))
			}
			up, ends = names, next
		}
	}
	var way []string
	for _, raw := range a.Rows {
		if strings.Contains(string(raw), `"frame"`) {
			var r report.FlameColumns
			if err := json.Unmarshal(text, &r); err != nil {
				t.Fatal(err)
			}
			tree("all", r)
			break
		}
		var r struct {
			Depth     *int
			Name      string
			Flat, Cum int64
			CumBefore int64 `json:"cum_before"`
			Calls     int
			Before    *report.Cost2
		}
		if err := json.Unmarshal(raw, &r); err != nil {
			t.Fatal(err)
		}
		if r.Depth != nil {
			way = append(way[:*r.Depth], r.Name)
			r.Name = strings.Join(way, ";")
		}
		if r.Before != nil {
			r.CumBefore = r.Before.Cum
		}
		lines = append(lines, fmt.Sprint(r.Name, " ", r.Flat, r.Cum, r.CumBefore, r.Calls))
	}
	if a.Callers != nil {
		tree("callers", *a.Callers)
		tree("callees", *a.Callees)
	}
	slices.SortFunc(lines, cmp.Compare)
	return fmt.Sprintf("%d %d %d\n", a.Total, a.Flat, a.Cum) + strings.Join(lines, "\n")
}

// TestSavedFilters holds that a saved page knows the filters it was made with, in their order, and no path or name of a recording.
func TestSavedFilters(t *testing.T) {
	for _, tt := range []struct {
		q    query.Query
		want string
	}{
		{query.Query{Refs: []string{"secret"}, Metric: "cpu", Limit: 3, SourcePath: "/secret", TrimPath: "/secret", By: "line"}, ""},
		{query.Query{Steps: []query.Step{{Op: query.Hide, Arg: "a b"}, {Op: query.Focus, Arg: "x&y"}}, At: query.Span{From: 5e9, To: 10e9}}, "at=5s..10s&hide=a+b&focus=x%26y"},
		{query.Query{BaseTags: []string{"endpoint=/cart"}, Mean: true}, "base-tag=endpoint=/cart&mean=true"},
	} {
		if got := filtersOf(tt.q); got != tt.want {
			t.Errorf("the filters of %+v are %q, want %q", tt.q, got, tt.want)
		}
	}
}

// TestSavedAdvice holds that no answer of a saved page advises to set what the page cannot set.
func TestSavedAdvice(t *testing.T) {
	side := func(ref string, d time.Duration) *recording.Recording {
		p, err := profile.Parse(strings.NewReader("main;work 3\n"))
		if err != nil {
			t.Fatal(err)
		}
		p.DurationNanos = d.Nanoseconds()
		return &recording.Recording{Ref: ref, Profile: p}
	}
	answers, err := savedAnswers([]*recording.Recording{side("after", 30*time.Second), side("before", 10*time.Second)}, query.Query{}, PageOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"/api/flame", "/api/flame?invert=true", "/api/top", "/api/diff"} {
		text, err := json.Marshal(answers[key])
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), `"before was recorded for 10s and after for 30s"`) || strings.Contains(string(text), "compares costs") {
			t.Errorf("%s of a saved page advises to normalize, or does not name the lengths: %s", key, text)
		}
	}
}

// TestSavedPageIsSmall holds that a page of half a million samples can be sent by mail, also when it compares two such profiles.
func TestSavedPageIsSmall(t *testing.T) {
	testrun.Nightly(t, "makes profiles of half a million samples")
	var in []*recording.Recording
	for run := range uint64(2) {
		p, err := profile.Parse(strings.NewReader(string(profiletest.Bytes(profiletest.Config{Kind: profiletest.CPU, Samples: 500_000, Seed: 1, Run: run}))))
		if err != nil {
			t.Fatal(err)
		}
		in = append(in, &recording.Recording{Ref: fmt.Sprintf("p%d.pb.gz", run), Profile: p})
	}
	var b strings.Builder
	if err := WritePage(&b, in, query.Query{}, PageOptions{Version: "test"}); err != nil {
		t.Fatal(err)
	}
	if b.Len() > 1_500_000 || b.Len() < 500_000 {
		t.Errorf("the page has %d bytes", b.Len())
	}
}

// TestSavedRecordingIsSmall holds that a page of a recording of half a million samples can be sent by mail, with what else it says of its run.
func TestSavedRecordingIsSmall(t *testing.T) {
	testrun.Nightly(t, "makes profiles of half a million samples")
	dir := t.TempDir()
	put := func(kind string, from, to time.Duration, c profiletest.Config) {
		file := filepath.Join(dir, filepath.FromSlash(recording.PartFile(kind, from, to)))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, profiletest.Bytes(c), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var metrics, gc strings.Builder
	for i := range 20 {
		at := time.Duration(i) * time.Second
		put(recording.CPU, at, at+time.Second, profiletest.Config{Kind: profiletest.CPU, Samples: 25_000, Seed: 1, Run: uint64(i)})
		put(recording.Heap, at, at, profiletest.Config{Kind: profiletest.Heap, Samples: 500, Seed: 1, Run: uint64(i)})
	}
	for i := range 4000 {
		fmt.Fprintf(&metrics, `{"t": %d, "process/rss": %d, "process/cpu": %g, "process/threads": 9, "/sched/goroutines:goroutines": %d, "/memory/classes/heap/objects:bytes": %d, "/gc/heap/goal:bytes": %d}`+"\n",
			i*5, 60<<20+i<<10, float64(i)/400, 10+i%37, 20<<20+i, 48<<20)
		fmt.Fprintf(&gc, "gc %d @%d.%03ds 3%%: 0.02+1.1+0.03 ms clock, 0.04+0.1/1.5/0.2+0.06 ms cpu, 40->44->20 MB, 48 MB goal, 0 MB stacks, 0 MB globals, 2 P\n", i+1, i/200, i%200*5)
	}
	for name, text := range map[string]string{recording.MetricsFile: metrics.String(), recording.GCFile: gc.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rec := reopened(t, dir, &recording.Manifest{Format: recording.Format, How: recording.Built, Machine: &recording.Machine{CPUs: 2}})
	var b strings.Builder
	if err := WritePage(&b, []*recording.Recording{rec}, query.Query{Metric: "cpu"}, PageOptions{Version: "test"}); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"/download/svg?view=graph", "/api/mem", "/api/timeline", "/api/gc", "/api/flamechart", "/api/traces"} {
		if !strings.Contains(b.String(), `"`+key+`":`) {
			t.Errorf("the page has no %s", key)
		}
	}
	if b.Len() > 1_500_000 {
		t.Errorf("the page has %d bytes", b.Len())
	}
}
