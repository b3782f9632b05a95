package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/report"
)

// TestCases holds that the list can be read, and that mistakes in a list are said.
func TestCases(t *testing.T) {
	if _, err := readCases(""); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		`[{"name": "a"}]`,
		`[{"name": "a", "module": "m", "before": "v1", "after": "v2", "kind": "harmless", "what": "x"}]`,
		`[{"name": "a", "module": "m", "before": "v1", "after": "v2", "kind": "other", "what": "x", "from": "y"}]`,
		`[{"name": "a", "module": "m", "before": "v1", "after": "v2", "kind": "changed", "what": "x", "from": "y"}]`,
		`[{"name": "a", "module": "m", "before": "v1", "after": "v2", "kind": "harmless", "what": "x", "from": "y", "witness": "Test"}]`,
		`[{"name": "a", "module": "m", "before": "v1", "after": "v2", "kind": "harmless", "what": "x", "from": "y", "nmae": ""}]`,
		`[{"name": "a", "module": "m", "before": "v1", "after": "v2", "kind": "harmless", "what": "x", "from": "y"},
		  {"name": "a", "module": "m", "before": "v1", "after": "v2", "kind": "harmless", "what": "x", "from": "y"}]`,
	} {
		file := filepath.Join(t.TempDir(), "cases.json")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := readCases(file); err == nil {
			t.Errorf("no error for %s", text)
		}
	}
}

// TestAlarms holds that only grave differences are alarms, and that an alarm about another function is not about the change.
func TestAlarms(t *testing.T) {
	c := caseOf{Name: "a", Kind: changed, Within: []string{"Parse", "T.String"}}
	r := newResult(c, &report.Proof{
		Verdict: report.Different, Calling: 1500 * time.Millisecond,
		Differences: []report.Difference{
			{Layer: "F", Function: "p.Other"},
			{Layer: "C", Grave: true, Function: "p.Sparse"},
			{Layer: "C", Grave: true, Function: "p.T.String"},
			{Layer: "C", Grave: true, Function: "p.Use", Also: []string{"p.Parse"}},
			{Layer: "C", Grave: true, Function: "p.Use", Cause: "Parse"},
		},
	}, nil)
	if !r.raised() || r.Noted != 1 || r.Search != 1.5 {
		t.Errorf("raised %v, %d noted, %v s", r.raised(), r.Noted, r.Search)
	}
	for i, want := range []bool{false, true, true, true} {
		if got := r.Alarms[i].about(c); got != want {
			t.Errorf("%s, for %s: about the change: %v", r.Alarms[i].Function, r.Alarms[i].Cause, got)
		}
	}
}

// TestTables holds what counts for which goal, and that cases which were dropped since count for none.
func TestTables(t *testing.T) {
	all := []caseOf{
		{Name: "found", Module: "github.com/m/a", Before: "v1", After: "v2", Kind: changed, What: "x | y"},
		{Name: "missed", Module: "m", Before: "v1", After: "v2", Kind: changed, What: "x", Held: true},
		{Name: "quiet", Module: "m", Before: "v1", After: "v2", Kind: harmless, What: "x"},
		{Name: "loud", Module: "m", Before: "v1", After: "v2", Kind: harmless, What: "x", Held: true},
		{Name: "gone", Module: "m", Before: "v1", After: "v2", Kind: harmless, What: "x", Dropped: "no case"},
	}
	different := string(report.Different)
	results := []*result{
		{Case: "found", Verdict: different, Search: 1, Alarms: []alarm{{Layer: "C", Function: "p.F", What: "result"}}},
		{Case: "missed", Verdict: string(report.Proven), Search: 6},
		{Case: "quiet", Verdict: string(report.NotProven), Search: 7},
		{Case: "loud", Verdict: different, Search: 2, Alarms: []alarm{{Layer: "A", Function: "p.G", What: "panic"}}},
		{Case: "gone", Verdict: different},
	}
	var out bytes.Buffer
	missed := writeTables(&out, all, results)
	for _, want := range []string{
		"| m/a v1 → v2 | x \\| y | changed | yes | p.F (C: result) | true | 1.0 s |",
		"| m v1 → v2 | x | harmless | yes | p.G (A: panic) | false | 2.0 s |",
		"| all | 1 of 2 | 1 of 1 | 1 of 2 | 6.0 s |",
		"| only measured | 0 of 1 | 0 of 0 | 1 of 1 | 6.0 s |",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if got, want := strings.Join(missed, "; "), "1 of 2 changes raised; 1 false alarms; half of the searches took 6.0 s and more"; got != want {
		t.Errorf("missed %s", got)
	}
}

// TestTakeTests holds that tests and their data take the place of others, and that code stays.
func TestTakeTests(t *testing.T) {
	to, from := t.TempDir(), t.TempDir()
	write := func(dir, name, text string) {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(to, "a.go", "old")
	write(to, "a_test.go", "old")
	write(to, "sub/b_test.go", "old")
	write(from, "a.go", "new")
	write(from, "c_test.go", "new")
	write(from, "testdata/d", "new")
	if err := takeTests(to, from); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a.go": "old", "a_test.go": "", "sub/b_test.go": "old", "c_test.go": "new", "testdata/d": "new"} {
		if got, _ := os.ReadFile(filepath.Join(to, name)); string(got) != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}
