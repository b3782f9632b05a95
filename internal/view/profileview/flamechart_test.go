package profileview

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
)

// overTime returns a recording with a CPU profile of each second, whose stacks are in text, and what was live at its end.
func overTime(t *testing.T, seconds ...string) *recording.Recording {
	t.Helper()
	dir := t.TempDir()
	put := func(kind string, from, to time.Duration, text string, typ, unit string) {
		t.Helper()
		p := folded(t, text)
		p = p.WithHeader(profile.Header{SampleTypes: []profile.ValueType{{Type: typ, Unit: unit}}})
		file := filepath.Join(dir, filepath.FromSlash(recording.PartFile(kind, from, to)))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		f, err := os.Create(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := p.Write(f); err != nil {
			t.Fatal(err)
		}
	}
	for i, text := range seconds {
		at := time.Duration(i) * time.Second
		put(recording.CPU, at, at+time.Second, text, "cpu", "nanoseconds")
		put(recording.Heap, at+time.Second, at+time.Second, text, "inuse_space", "bytes")
	}
	if err := recording.WriteManifest(dir, &recording.Manifest{Format: recording.Format, How: recording.Built}); err != nil {
		t.Fatal(err)
	}
	r, err := recording.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func charted(t *testing.T, rec *recording.Recording, q query.Query) *report.FlameChart {
	t.Helper()
	picked, typ, err := rec.Pick(q.Metric, q.At.From, q.At.To)
	if err != nil {
		t.Fatal(err)
	}
	q.Metric = typ
	r, err := FlameChart([]*recording.Recording{picked}, q)
	if err != nil {
		t.Fatal(err)
	}
	return r.(*report.FlameChart)
}

// boxes spells the rows of a part.
func boxes(c *report.FlameChart, rows []report.FlameRow) string {
	var out []string
	for _, r := range rows {
		var line []string
		for i, f := range r.Frame {
			if r.Gap[i] > 0 {
				line = append(line, "_"+strings.Repeat("_", int(min(r.Gap[i]-1, 9))))
			}
			line = append(line, c.Frames.Name[f]+strings.Repeat("=", int(min(r.Cum[i], 9))))
		}
		out = append(out, strings.Join(line, " "))
	}
	return strings.Join(out, "\n")
}

func TestFlameChart(t *testing.T) {
	rec := overTime(t, "a;b 3\na;c 1\n", "a;c 4\n", "a;b 1\nd 2\n")
	c := charted(t, rec, query.Query{})
	if c.Total != 11 || c.Most != 4 || c.From != 0 || c.To != int64(3*time.Second) || len(c.Parts) != 3 {
		t.Fatalf("%+v", c)
	}
	// What costs most in all of the time comes first in each part.
	for i, want := range []string{"a====\nc= b===", "a====\nc====", "a= d==\nb="} {
		if got := boxes(c, c.Parts[i].Rows); got != want {
			t.Errorf("part %d:\n%s\nwant\n%s", i, got, want)
		}
	}
	var lines []string
	for _, r := range c.Calls {
		lines = append(lines, strings.Repeat(" ", r.Depth)+r.Name)
	}
	if got, want := strings.Join(lines, "\n"), "\n a\n  c\n  b\n d"; got != want {
		t.Errorf("calls\n%s\nwant\n%s", got, want)
	}
	if got := c.Calls[2].Over; !slices.Equal(got, []int64{1, 4, 0}) {
		t.Errorf("c over time: %d", got)
	}

	// Filters hold in each part, and a part of the time has only its parts.
	c = charted(t, rec, query.Query{At: query.Span{From: time.Second}, Steps: []query.Step{{Op: query.Focus, Arg: "b"}}})
	if got := boxes(c, c.Parts[1].Rows); got != "a=\nb=" || len(c.Parts) != 2 || c.Total != 1 {
		t.Errorf("filtered:\n%s\n%+v", got, c)
	}

	// Of what is there at a moment, the largest counts: it is no sum.
	c = charted(t, rec, query.Query{Metric: "heap"})
	if !c.Live || c.Total != 4 || c.Calls[1].Cum != 4 || c.Parts[0].From != 0 || c.Parts[2].Total != 3 {
		t.Errorf("live: %+v", c)
	}
}

// Parts are added up where there are more than a screen can show.
func TestFlameChartOfLongRun(t *testing.T) {
	rec := overTime(t, slices.Repeat([]string{"a 1\n"}, 50)...)
	c := charted(t, rec, query.Query{})
	if len(c.Parts) != 17 || c.Parts[0].Total != 3 || c.Parts[16].Total != 2 || c.Total != 50 {
		t.Errorf("%d parts, the first of %d, the last of %d, of %d", len(c.Parts), c.Parts[0].Total, c.Parts[len(c.Parts)-1].Total, c.Total)
	}
}

func TestFlameChartOfTrace(t *testing.T) {
	f, err := os.Open("../../exectrace/testdata/go1.26.8.trace.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zr, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	trace, err := io.ReadAll(zr)
	if err != nil {
		t.Fatal(err)
	}
	rec, err := recording.Execution.ReadAlone("t.trace", strings.NewReader(string(trace)))
	if err != nil {
		t.Fatal(err)
	}
	r, err := FlameChart([]*recording.Recording{rec.WithProfile(folded(t, "x 1\n"), "")}, query.Query{})
	if err != nil {
		t.Fatal(err)
	}
	c := r.(*report.FlameChart)
	if !c.Sampled || c.Total != 3 || len(c.Tracks) != 1 || c.Tracks[0].Name != "runtime.main" || c.Tracks[0].Samples != 3 {
		t.Fatalf("%+v", c)
	}
	spin := c.Tracks[0].Rows[3]
	end := int64(0)
	for i := range spin.Frame {
		if c.Frames.Name[spin.Frame[i]] != "main.spin" || spin.Gap[i] < 0 || spin.Width[i] <= 0 {
			t.Errorf("box %d is %s, %d wide, %d after the one before", i, c.Frames.Name[spin.Frame[i]], spin.Width[i], spin.Gap[i])
		}
		end += spin.Gap[i] + spin.Width[i]
	}
	if end > c.To-c.From {
		t.Errorf("boxes end at %d of %d", end, c.To-c.From)
	}
	if _, err := FlameChart([]*recording.Recording{{Ref: "x", Profile: folded(t, "x 1\n")}}, query.Query{}); err == nil || !strings.Contains(err.Error(), "does not know when") {
		t.Errorf("of a bare profile: %v", err)
	}
}

// A trace that was recorded without a CPU profile is no mistake: the answer says what is missing.
func TestFlameChartWithoutSamples(t *testing.T) {
	f, err := os.Open("../../../testdata/trace/shop.trace")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rec, err := recording.Execution.ReadAlone("shop.trace", f)
	if err != nil {
		t.Fatal(err)
	}
	r, err := FlameChart([]*recording.Recording{rec.WithProfile(folded(t, "x 1\n"), "")}, query.Query{})
	if err != nil {
		t.Fatal(err)
	}
	c := r.(*report.FlameChart)
	if len(c.Notes) != 1 || !c.Unsampled || len(c.Parts) > 0 || !strings.Contains(c.Notes[0].String(), "has no CPU samples") {
		t.Errorf("%+v", c)
	}
}
