package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/unit"
)

// The parts of SARIF 2.1.0 that findings use.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool        sarifTool           `json:"tool"`
		Bases       map[string]sarifURI `json:"originalUriBaseIds,omitempty"`
		ColumnKind  string              `json:"columnKind"`
		Results     []sarifResult       `json:"results"`
		Invocations []sarifInvocation   `json:"invocations"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name  string      `json:"name"`
		Rules []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID    string    `json:"id"`
		Short sarifText `json:"shortDescription"`
	}
	sarifInvocation struct {
		Successful bool                `json:"executionSuccessful"`
		Notes      []sarifNotification `json:"toolExecutionNotifications,omitempty"`
	}
	sarifNotification struct {
		Level   string    `json:"level"`
		Message sarifText `json:"message"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifURI struct {
		URI  string `json:"uri"`
		Base string `json:"uriBaseId,omitempty"`
	}
	sarifResult struct {
		RuleID       string            `json:"ruleId"`
		RuleIndex    int               `json:"ruleIndex"`
		Level        string            `json:"level"`
		Rank         float64           `json:"rank"` // 0 to 100
		Message      sarifText         `json:"message"`
		Locations    []sarifLocation   `json:"locations"`
		Related      []sarifLocation   `json:"relatedLocations,omitempty"`
		Fingerprints map[string]string `json:"partialFingerprints"`
		Fixes        []sarifFix        `json:"fixes,omitempty"`
		Properties   map[string]any    `json:"properties"`
	}
	sarifLocation struct {
		Physical sarifPhysical      `json:"physicalLocation"`
		Logical  []sarifLogicalName `json:"logicalLocations,omitempty"`
	}
	sarifPhysical struct {
		Artifact sarifURI    `json:"artifactLocation"`
		Region   sarifRegion `json:"region"`
	}
	sarifLogicalName struct {
		Name string `json:"fullyQualifiedName"`
		Kind string `json:"kind"`
	}
	sarifRegion struct {
		StartLine   int        `json:"startLine"`
		StartColumn int        `json:"startColumn,omitempty"`
		EndLine     int        `json:"endLine,omitempty"`
		EndColumn   int        `json:"endColumn,omitempty"`
		Snippet     *sarifText `json:"snippet,omitempty"`
	}
	sarifFix struct {
		Description sarifText     `json:"description"`
		Changes     []sarifChange `json:"artifactChanges"`
	}
	sarifChange struct {
		Artifact     sarifURI           `json:"artifactLocation"`
		Replacements []sarifReplacement `json:"replacements"`
	}
	sarifReplacement struct {
		Deleted  sarifRegion `json:"deletedRegion"`
		Inserted sarifText   `json:"insertedContent"`
	}
)

// sarifRoot is the name of the folder that file names are relative to.
const sarifRoot = "SRCROOT"

// SARIF writes findings for code review tools. A result is at the line with the cost. Its fixes replace whole lines.
func SARIF(w io.Writer, r report.Report, _ Options) error {
	a, ok := r.(*report.Advice)
	if !ok {
		return errors.New("writing SARIF: the answer has no findings")
	}
	run := sarifRun{
		Tool:       sarifTool{sarifDriver{Name: "hone", Rules: []sarifRule{}}},
		ColumnKind: "unicodeCodePoints", Results: []sarifResult{},
	}
	if a.Root != "" {
		run.Bases = map[string]sarifURI{sarifRoot: {URI: folderURI(a.Root)}}
	}
	call := sarifInvocation{Successful: true}
	for _, n := range a.Notes {
		call.Notes = append(call.Notes, sarifNotification{"note", sarifText{n.String()}})
	}
	run.Invocations = []sarifInvocation{call}
	for i := range a.Findings {
		f := &a.Findings[i]
		at := slices.IndexFunc(run.Tool.Driver.Rules, func(r sarifRule) bool { return r.ID == f.Rule })
		if at < 0 {
			at = len(run.Tool.Driver.Rules)
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{f.Rule, sarifText{f.Title}})
		}
		run.Results = append(run.Results, sarifOf(f, at))
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(sarifLog{
		Schema:  "https://json.schemastore.org/sarif-2.1.0.json",
		Version: "2.1.0", Runs: []sarifRun{run},
	})
}

// findingText describes a finding in a few sentences.
func findingText(f *report.Finding) string {
	text := []string{f.Title + ": " + f.Claim + "."}
	for _, s := range f.Savings {
		text = append(text, "At most "+unit.Share(s.Share)+" of "+s.Metric+".")
	}
	if f.Advice != "" {
		text = append(text, "Advice: "+f.Advice+".")
	}
	if f.Risk != "" {
		text = append(text, "Risk: "+f.Risk+".")
	}
	return strings.Join(text, " ")
}

func sarifOf(f *report.Finding, rule int) sarifResult {
	out := sarifResult{
		RuleID: f.Rule, RuleIndex: rule, Level: "note", Message: sarifText{findingText(f)},
		Locations:  []sarifLocation{sarifPlace(f.Where)},
		Properties: map[string]any{"savings": f.Savings, "evidence": f.Evidence},
	}
	for _, s := range f.Savings {
		out.Rank = max(out.Rank, s.Share*100)
	}
	if out.Rank >= 10 {
		out.Level = "warning"
	}
	for _, s := range f.Also {
		out.Related = append(out.Related, sarifPlace(s))
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%s\x00%s\x00%s\x00%s", f.Rule, f.Where.File, f.Where.Function, strings.TrimSpace(f.Where.Text))
	out.Fingerprints = map[string]string{"findingHash/v1": fmt.Sprintf("%016x", h.Sum64())}
	for _, x := range f.Fixes {
		change := sarifChange{Artifact: sarifFile(f.Where.File)}
		for _, e := range x.Edits {
			change.Replacements = append(change.Replacements, sarifReplacement{
				Deleted:  sarifRegion{StartLine: e.StartLine, StartColumn: 1, EndLine: e.EndLine, EndColumn: 1},
				Inserted: sarifText{e.New},
			})
		}
		out.Fixes = append(out.Fixes, sarifFix{sarifText{x.Title + " (" + string(x.Grade) + ")"}, []sarifChange{change}})
	}
	return out
}

func sarifPlace(s report.Spot) sarifLocation {
	l := sarifLocation{Physical: sarifPhysical{
		Artifact: sarifFile(s.File),
		Region:   sarifRegion{StartLine: s.Line, Snippet: &sarifText{s.Text}},
	}}
	if s.Column > 0 && s.Column <= len(s.Text)+1 {
		l.Physical.Region.StartColumn = len([]rune(s.Text[:s.Column-1])) + 1
	}
	if s.Function != "" {
		l.Logical = []sarifLogicalName{{s.Function, "function"}}
	}
	return l
}

func sarifFile(name string) sarifURI {
	if filepath.IsAbs(name) {
		return sarifURI{URI: strings.TrimSuffix(folderURI(name), "/")}
	}
	return sarifURI{URI: (&url.URL{Path: filepath.ToSlash(name)}).String(), Base: sarifRoot}
}

func folderURI(dir string) string {
	dir = filepath.ToSlash(dir)
	if !strings.HasPrefix(dir, "/") {
		dir = "/" + dir // a Windows drive needs a slash before it
	}
	return (&url.URL{Scheme: "file", Path: strings.TrimSuffix(dir, "/") + "/"}).String()
}
