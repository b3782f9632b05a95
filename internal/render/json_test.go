package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/report"
)

// What is written by hand is what the encoder makes of the same report.
func TestJSONTraces(t *testing.T) {
	var out bytes.Buffer
	if err := JSON(&out, tracesReport(), Options{}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), `\u003c`) {
		t.Error("< is escaped")
	}
	want, err := json.Marshal(tracesReport())
	if err != nil {
		t.Fatal(err)
	}
	var a, b map[string]any
	if err := json.Unmarshal(out.Bytes(), &a); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(want, &b); err != nil {
		t.Fatal(err)
	}
	// The encoder has no way to write an empty list of frames other than null.
	for _, tr := range b["traces"].([]any) {
		if tr := tr.(map[string]any); tr["frames"] == nil {
			tr["frames"] = []any{}
		}
	}
	if !reflect.DeepEqual(a, b) {
		t.Errorf("JSON wrote\n%s\nwant\n%s", out.Bytes(), want)
	}
}

// The columns that are written by hand are all that the reports have.
func TestJSONColumns(t *testing.T) {
	f := flameDiffReport()
	for name, r := range map[string]report.Report{
		"flame": f, "sandwich": &report.Sandwich{Head: head(), Callees: f.FlameTree, Callers: f.FlameTree},
	} {
		var out bytes.Buffer
		if err := JSON(&out, r, Options{}); err != nil {
			t.Fatal(err)
		}
		want, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		if err := json.Compact(&got, out.Bytes()); err != nil {
			t.Fatal(err)
		}
		if got.String() != string(want) {
			t.Errorf("%s: JSON wrote\n%s\nwant\n%s", name, got.String(), want)
		}
	}
}

func TestJSONEmptyTraces(t *testing.T) {
	var out bytes.Buffer
	r := &report.Traces{Each: func(func(*report.Trace) bool) {}}
	if err := JSON(&out, r, Options{}); err != nil {
		t.Fatal(err)
	}
	if want := "{\n  \"metric\": \"\",\n  \"unit\": \"\",\n  \"total\": 0,\n  \"of\": 0,\n  \"traces\": []\n}\n"; out.String() != want {
		t.Errorf("JSON wrote %q, want %q", out.String(), want)
	}
}

// millions returns a report with so many traces that holding them would be noticed, and counts those that were asked
// for.
func millions(asked *int) *report.Traces {
	frame := named("main.main")
	t := &report.Trace{Value: 1, Frames: []report.TraceFrame{{Frame: &frame}}}
	return &report.Traces{Head: head(), Each: func(yield func(*report.Trace) bool) {
		for range 1_000_000 {
			*asked++
			if !yield(t) {
				return
			}
		}
	}}
}

// Every format stops soon after its reader does.
func TestBrokenPipe(t *testing.T) {
	for _, f := range Formats {
		switch f.Name {
		case "dot", "callgrind", "speedscope", "sarif", "vim", "github", "svg", "png":
			continue // of other reports only
		}
		asked := 0
		err := f.Write(&brokenPipe{100_000}, millions(&asked), Options{})
		if !errors.Is(err, errPipe) {
			t.Errorf("%s: error is %v, want %v", f.Name, err, errPipe)
		}
		if asked > 50_000 {
			t.Errorf("%s: asked for %d traces though the pipe was broken", f.Name, asked)
		}
	}
}

func TestUnknownFormat(t *testing.T) {
	err := Write(nil, "xml", topReport(), Options{})
	if err == nil || !strings.Contains(err.Error(), `unknown format "xml"; the formats are text, terminal, json`) {
		t.Errorf("error is %v", err)
	}
}

func BenchmarkTraces(b *testing.B) {
	for _, f := range Formats {
		b.Run(f.Name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				asked := 0
				if err := f.Write(&brokenPipe{math.MaxInt}, millions(&asked), Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
