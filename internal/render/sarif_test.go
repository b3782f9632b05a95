package render

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/render/sariftest"
	"github.com/hone-perf/hone/internal/report"
)

func adviceReport() *report.Advice {
	return &report.Advice{
		Refs: []string{"cpu.pprof"}, Root: "/src/a b", Functions: 3, Least: 0.01, Notes: hint.Said("lines may be off"),
		Findings: []report.Finding{
			{
				Number: 1, Rule: "regexp-per-call", Title: "regexp compiled on every call", Claim: "it is compiled",
				Where:    report.Spot{File: "shop/shöp.go", Line: 9, Column: 8, Function: "main.handle", Text: "\tü := regexp.MustCompile(`x`)"},
				Also:     []report.Spot{{File: "shop/shöp.go", Line: 12, Text: "x"}},
				Savings:  []report.Saving{{Metric: "cpu", Short: "CPU", Unit: "nanoseconds", Value: 60, Total: 100, Share: 0.6}},
				Evidence: []report.Evidence{{Says: "what each line costs"}},
				Advice:   "compile it once", Risk: "none", Proof: hint.Text{"none yet"},
				Fixes: []report.Fix{{Title: "compile it once", Grade: report.Mechanical, Patch: "--- a\n+++ b\n",
					Edits: []report.Edit{{File: "shop/shöp.go", Start: 10, End: 20, New: "new\n", StartLine: 9, EndLine: 10}}}},
			},
			{Number: 2, Rule: "map-as-set", Title: "map as a set", Where: report.Spot{File: "/elsewhere/x.go", Line: 1}, Risk: "r",
				Savings: []report.Saving{{Metric: "cpu", Share: 0.02}}},
			{Number: 3, Rule: "regexp-per-call", Title: "regexp compiled on every call", Where: report.Spot{File: "y.go", Line: 2}, Risk: "r"},
		},
	}
}

// What is written is as the standard has it, and says what it is meant to.
func TestSARIF(t *testing.T) {
	for name, r := range map[string]*report.Advice{"findings": adviceReport(), "none": {Least: 0.01}} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := SARIF(&out, r, Options{}); err != nil {
				t.Fatal(err)
			}
			var v any
			if err := json.Unmarshal(out.Bytes(), &v); err != nil {
				t.Fatal(err)
			}
			if err := sariftest.Check(out.Bytes()); err != nil {
				t.Error(err)
			}
			run := v.(map[string]any)["runs"].([]any)[0].(map[string]any)
			rules := run["tool"].(map[string]any)["driver"].(map[string]any)["rules"].([]any)
			seen := map[string]bool{}
			for _, x := range rules {
				id := x.(map[string]any)["id"].(string)
				if seen[id] {
					t.Errorf("rule %s is there twice", id)
				}
				seen[id] = true
			}
			bases, _ := run["originalUriBaseIds"].(map[string]any)
			for _, x := range run["results"].([]any) {
				res := x.(map[string]any)
				if at := rules[int(res["ruleIndex"].(float64))].(map[string]any)["id"]; at != res["ruleId"] {
					t.Errorf("ruleIndex is of %v, not of %v", at, res["ruleId"])
				}
				if rank := res["rank"].(float64); rank < 0 || rank > 100 {
					t.Errorf("rank is %v", rank)
				}
				file := res["locations"].([]any)[0].(map[string]any)["physicalLocation"].(map[string]any)["artifactLocation"].(map[string]any)
				if base, ok := file["uriBaseId"].(string); ok {
					if uri := bases[base].(map[string]any)["uri"].(string); !strings.HasSuffix(uri, "/") {
						t.Errorf("the base %s is not a folder", uri)
					}
				} else if !strings.HasPrefix(file["uri"].(string), "file:///") {
					t.Errorf("%v is relative to nothing", file["uri"])
				}
			}
		})
	}
	if err := SARIF(&bytes.Buffer{}, topReport(), Options{}); err == nil {
		t.Error("a ranking is written as SARIF")
	}
}

// A log that is not as the standard has it is found out, so that TestSARIF means something.
func TestSARIFCheck(t *testing.T) {
	var out bytes.Buffer
	if err := SARIF(&out, adviceReport(), Options{}); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string][2]string{
		"a level that there is not":           {`"level": "note"`, `"level": "notice"`},
		"a property that there is not":        {`"ruleIndex": 0`, `"ruleNumber": 0`},
		"a line before the first":             {`"startLine": 9`, `"startLine": 0`},
		"a rank above 100":                    {`"rank": 60`, `"rank": 160`},
		"no text":                             {`"text": "lines may be off"`, `"id": 1`},
		"a name of a file that is no URI":     {`"uri": "y.go"`, `"uri": "y z%.go"`},
		"another version":                     {`"version": "2.1.0"`, `"version": "2.2.0"`},
		"a replacement that replaces nothing": {`"deletedRegion"`, `"region"`},
	} {
		broken := strings.Replace(out.String(), change[0], change[1], 1)
		if broken == out.String() {
			t.Errorf("%s: there is no %s in it", name, change[0])
		}
		if sariftest.Check([]byte(broken)) == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

// Findings in text name their line, and the first of them is told in full.
func TestAdviceText(t *testing.T) {
	a := adviceReport()
	var out bytes.Buffer
	if err := Text(&out, a, Options{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"1  60% CPU", "shop/shöp.go:9", "cause: it is compiled", "advise finding=2 cpu.pprof", "note: lines may be off"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("there is no %q in\n%s", want, &out)
		}
	}
	a.Show = 2
	out.Reset()
	if err := Text(&out, a, Options{}); err != nil || !strings.HasPrefix(out.String(), "2. map as a set\n") {
		t.Errorf("the second is told as %v\n%s", err, &out)
	}
}
