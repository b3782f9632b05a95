package web

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/render"
	"github.com/hone-perf/hone/internal/report"
)

// loud spells options in capitals, as no front does.
type loud struct{}

func (loud) Option(o hint.Option) string   { return "OPTION " + o.String() }
func (loud) Command(c hint.Command) string { return "COMMAND " + c.String() }

// TestRemarks holds that the page gets what can be done as objects, beside the texts that all others get.
func TestRemarks(t *testing.T) {
	nested := hint.Text{"why: ", hint.Text{"pass ", hint.Option{Name: "binary", Value: "FILE"}}}
	mem := &report.Mem{Ref: "a", Notes: hint.Texts{
		{"nothing to do, of ", 3},
		{"compare shares with ", hint.Option{Name: "normalize"}, " or raise ", hint.Option{Name: "limit"}},
		{hint.Ask("record", "PKG"), " says more"},
		nested, nested,
	}}
	var b bytes.Buffer
	if err := render.JSON(&remarker{&b, remarksOf(mem, loud{})}, mem, render.Options{}); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Remarks []struct {
			Text  string
			Parts []any
		}
		Ref   string
		Notes []string
	}
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatalf("%v: %s", err, b.Bytes())
	}
	if got.Ref != "a" || len(got.Notes) != 5 || len(got.Remarks) != 3 {
		t.Fatalf("%s", b.Bytes())
	}
	for i, want := range [][]any{
		{"compare shares with ", map[string]any{"set": "normalize", "value": "true"}, " or raise ", map[string]any{"set": "limit"}},
		{map[string]any{"command": "COMMAND record PKG"}, " says more"},
		{"why: ", "pass ", map[string]any{"command": "OPTION binary=FILE"}},
	} {
		r := got.Remarks[i]
		if r.Text != got.Notes[i+1] {
			t.Errorf("remark %d is %q, and the note %q", i, r.Text, got.Notes[i+1])
		}
		if !reflect.DeepEqual(r.Parts, want) {
			t.Errorf("remark %d has %v, want %v", i, r.Parts, want)
		}
	}
}
