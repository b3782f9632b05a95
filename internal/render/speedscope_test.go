package render

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/view/profileview"
)

func TestSpeedscope(t *testing.T) {
	p, err := profile.Parse(strings.NewReader("main;work;\"read\" 3\nmain;work 2\nmain;idle 1\n"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := profileview.Folded([]*recording.Recording{{Profile: p}}, query.Query{})
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	if err := Write(&buf, "speedscope", r, Options{}); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Profiles []struct {
			Type, Unit string
			EndValue   int64
			Samples    [][]int
			Weights    []int64
		}
		Shared struct{ Frames []struct{ Name string } }
	}
	if err := json.Unmarshal(buf.Bytes(), &got); err != nil {
		t.Fatalf("%v: %s", err, buf.Bytes())
	}
	var lines []string
	for i, s := range got.Profiles[0].Samples {
		var names []string
		for _, f := range s {
			names = append(names, got.Shared.Frames[f].Name)
		}
		lines = append(lines, strings.Join(names, ";")+strings.Repeat("+", int(got.Profiles[0].Weights[i])))
	}
	want := `main;idle+ main;work++ main;work;"read"+++`
	if s := strings.Join(lines, " "); s != want || got.Profiles[0].EndValue != 6 || got.Profiles[0].Type != "sampled" {
		t.Errorf("got %s, end %d, want %s", s, got.Profiles[0].EndValue, want)
	}
}

// The difference of two profiles has negative values, which the format lacks. They are a second profile.
func TestSpeedscopeOfDifference(t *testing.T) {
	p, err := profile.Parse(strings.NewReader("main;more 3\nmain;less -5\nmain;gone -2\n"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := profileview.Folded([]*recording.Recording{{Profile: p}}, query.Query{})
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	if err := Write(&buf, "speedscope", r, Options{}); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Profiles []struct {
			Name     string
			EndValue int64
			Samples  [][]int
			Weights  []int64
		}
	}
	if err := json.Unmarshal(buf.Bytes(), &got); err != nil {
		t.Fatalf("%v: %s", err, buf.Bytes())
	}
	if len(got.Profiles) != 2 {
		t.Fatalf("there are %d profiles: %s", len(got.Profiles), buf.Bytes())
	}
	more, less := got.Profiles[0], got.Profiles[1]
	if more.EndValue != 3 || len(more.Samples) != 1 || less.EndValue != 7 || len(less.Samples) != 2 || len(less.Weights) != 2 || !strings.HasSuffix(less.Name, ", what is below zero") {
		t.Errorf("got %s", buf.Bytes())
	}
}
