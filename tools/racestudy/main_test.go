package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/report"
)

// TestCases holds that the list can be read, and that mistakes in a list are said.
func TestCases(t *testing.T) {
	if _, err := readCases(""); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		`[{"name": "a", "version": "v1", "what": "x"}]`,
		`[{"name": "a", "module": "m", "version": "v1"}]`,
		`[{"name": "a", "module": "m", "version": "v1", "what": "x", "racy": ["F"]}]`,
		`[{"name": "a", "module": "m", "version": "v1", "what": "x", "real": ["F"]}]`,
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

// TestVerdict holds that a race is the known one by what is on its stacks, whatever closure or type parameters that has.
func TestVerdict(t *testing.T) {
	c := caseOf{Name: "a", Racy: []string{"T.M"}, Real: []string{"Load"}}
	race := func(funcs ...string) report.DataRace {
		var d report.DataRace
		for _, fn := range funcs {
			d.Accesses = append(d.Accesses, report.RaceAccess{Stack: []report.RaceFrame{{Func: fn, File: "a.go", Line: 7}}})
		}
		return d
	}
	r := newResult(c, &report.Races{Races: []report.DataRace{
		race("p.(*T).M.func1", "p.F"), race("example.com/q/p.Load[...]"), race("p.(*U).M"), race("p.TM"),
	}})
	for i, want := range []verdict{known, other, wrong, wrong} {
		if got := r.Races[i].verdict(c); got != want {
			t.Errorf("%v is %s, want %s", r.Races[i].Funcs, got, want)
		}
	}
}

// TestTables holds what counts for which goal.
func TestTables(t *testing.T) {
	all := []caseOf{
		{Name: "found", Module: "github.com/m/a", Version: "v1", Racy: []string{"F"}, What: "x | y", Fixed: "v2"},
		{Name: "missed", Module: "m", Version: "v1", Racy: []string{"F"}, What: "x", Held: true},
		{Name: "quiet", Module: "m", Version: "v1", What: "x"},
		{Name: "loud", Module: "m", Version: "v1", What: "x", Held: true},
		{Name: "gone", Module: "m", Version: "v1", What: "x", Dropped: "no case"},
	}
	results := []*result{
		{Case: "found", Took: 9, CPU: 20, Races: []foundRace{{Funcs: []string{"F"}, By: "F, called"}}},
		{Case: "missed", Took: 121, CPU: 30},
		{Case: "quiet", CPU: 40},
		{Case: "loud", CPU: 50, Races: []foundRace{{Funcs: []string{"G"}, By: "G, called"}}},
		{Case: "gone", Races: []foundRace{{Funcs: []string{"G"}}}},
	}
	var out bytes.Buffer
	missed := writeTables(&out, all, results)
	for _, want := range []string{
		"| m/a v1 | x \\| y | yes | 0 | 0 | F, called | 0 | 9 s | 20 s | looked at |",
		"| m v1 | x | clean | 0 | 1 | G, called | 0 | 0 s | 50 s | only measured |",
		"| all | 1 of 2 | 0 | 0 | 1 | 1 of 2 | 40 s |",
		"| only measured | 0 of 1 | 0 | 0 | 1 | 1 of 1 | 50 s |",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if got, want := strings.Join(missed, "; "), "missed took 121 s; 1 of 2 races found; 1 false races"; got != want {
		t.Errorf("missed %s", got)
	}
	if fixed := withFix(all); len(fixed) != 1 || fixed[0].Version != "v2" || len(fixed[0].Racy) > 0 {
		t.Errorf("with the fix: %+v", fixed)
	}
}
