package render

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/report"
)

func adviceReport() *report.Advice {
	return &report.Advice{
		Refs: []string{"cpu.pprof"}, Root: "/src/a b", Functions: 3, Least: 0.01, Notes: []string{"lines may be off"},
		Findings: []report.Finding{
			{
				Number: 1, Rule: "regexp-per-call", Title: "regexp compiled for every call", Claim: "it is compiled",
				Where:    report.Spot{File: "shop/shöp.go", Line: 9, Column: 8, Function: "main.handle", Text: "\tü := regexp.MustCompile(`x`)"},
				Also:     []report.Spot{{File: "shop/shöp.go", Line: 12, Text: "x"}},
				Savings:  []report.Saving{{Metric: "cpu", Short: "CPU", Unit: "nanoseconds", Value: 60, Total: 100, Share: 0.6}},
				Evidence: []report.Evidence{{Says: "what each line costs"}},
				Advice:   "compile it once", Risk: "none", Proof: "none yet",
				Fixes: []report.Fix{{Title: "compile it once", Grade: report.Mechanical, Patch: "--- a\n+++ b\n",
					Edits: []report.Edit{{File: "shop/shöp.go", Start: 10, End: 20, New: "new\n", StartLine: 9, EndLine: 10}}}},
			},
			{Number: 2, Rule: "map-as-set", Title: "map as a set", Where: report.Spot{File: "/elsewhere/x.go", Line: 1}, Risk: "r",
				Savings: []report.Saving{{Metric: "cpu", Share: 0.02}}},
			{Number: 3, Rule: "regexp-per-call", Title: "regexp compiled for every call", Where: report.Spot{File: "y.go", Line: 2}, Risk: "r"},
		},
	}
}

// sarifShape is what the schema of SARIF 2.1.0 says of the objects that are written: the properties that each may have, those
// it has to have marked with !, and what is in them.
var sarifShape = map[string]map[string]string{
	"log":          {"$schema": "uri", "version!": "", "runs!": "[]run"},
	"run":          {"tool!": "tool", "originalUriBaseIds": "map artifact", "columnKind": "", "results": "[]result", "invocations": "[]invocation"},
	"tool":         {"driver!": "component"},
	"component":    {"name!": "", "rules": "[]rule"},
	"rule":         {"id!": "", "shortDescription": "text"},
	"text":         {"text!": ""},
	"invocation":   {"executionSuccessful!": "", "toolExecutionNotifications": "[]notification"},
	"notification": {"message!": "text", "level": "level"},
	"artifact":     {"uri": "uri", "uriBaseId": ""},
	"result": {"message!": "text", "ruleId": "", "ruleIndex": "", "level": "level", "rank": "", "locations": "[]location", "relatedLocations": "[]location",
		"partialFingerprints": "strings", "fixes": "[]fix", "properties": "any"},
	"location":    {"physicalLocation": "physical", "logicalLocations": "[]logical"},
	"physical":    {"artifactLocation": "artifact", "region": "region"},
	"logical":     {"fullyQualifiedName": "", "kind": ""},
	"region":      {"startLine": "positive", "startColumn": "positive", "endLine": "positive", "endColumn": "positive", "snippet": "text"},
	"fix":         {"artifactChanges!": "[]change", "description": "text"},
	"change":      {"artifactLocation!": "artifact", "replacements!": "[]replacement"},
	"replacement": {"deletedRegion!": "region", "insertedContent": "text"},
}

// checkSARIF checks a value against what it has to be.
func checkSARIF(t *testing.T, path, kind string, v any) {
	t.Helper()
	if of, ok := strings.CutPrefix(kind, "[]"); ok {
		list, isList := v.([]any)
		if !isList {
			t.Errorf("%s is %T, want a list", path, v)
		}
		if strings.HasSuffix(kind, "change") && len(list) == 0 || strings.HasSuffix(kind, "replacement") && len(list) == 0 {
			t.Errorf("%s is empty", path)
		}
		for _, x := range list {
			checkSARIF(t, path+"[]", of, x)
		}
		return
	}
	if of, ok := strings.CutPrefix(kind, "map "); ok {
		for k, x := range v.(map[string]any) {
			checkSARIF(t, path+"."+k, of, x)
		}
		return
	}
	switch kind {
	case "", "any":
		return
	case "uri":
		if _, err := url.Parse(v.(string)); err != nil || strings.ContainsAny(v.(string), " \\") {
			t.Errorf("%s: %v is no URI: %v", path, v, err)
		}
		return
	case "positive":
		if n, ok := v.(float64); !ok || n < 1 {
			t.Errorf("%s is %v", path, v)
		}
		return
	case "level":
		if !slices.Contains([]string{"none", "note", "warning", "error"}, v.(string)) {
			t.Errorf("%s is %v", path, v)
		}
		return
	case "strings":
		for k, x := range v.(map[string]any) {
			if _, ok := x.(string); !ok {
				t.Errorf("%s.%s is %T", path, k, x)
			}
		}
		return
	}
	shape, ok := sarifShape[kind]
	object, isObject := v.(map[string]any)
	if !ok || !isObject {
		t.Errorf("%s is %T, want a %s", path, v, kind)
		return
	}
	for name, of := range shape {
		bare, needed := strings.CutSuffix(name, "!")
		x, has := object[bare]
		if needed && !has {
			t.Errorf("%s has no %s", path, bare)
		}
		if has {
			checkSARIF(t, path+"."+bare, of, x)
		}
	}
	for name := range object {
		if _, a := shape[name]; !a {
			if _, b := shape[name+"!"]; !b {
				t.Errorf("%s has a property %s, which the schema does not know", path, name)
			}
		}
	}
}

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
			checkSARIF(t, "log", "log", v)
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
						t.Errorf("the base %s is no folder", uri)
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

// Findings in text name their line, and the first of them is told in full.
func TestAdviceText(t *testing.T) {
	a := adviceReport()
	var out bytes.Buffer
	if err := Text(&out, a, Options{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"1  60% CPU", "shop/shöp.go:9", "cause: it is compiled", "hone advise --finding 2 cpu.pprof", "note: lines may be off"} {
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
