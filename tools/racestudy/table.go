package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/hone-perf/hone/tools/study"
)

// Goals of the study.
const (
	goalFound = 0.60 // of the known races
	goalFalse = 0
	goalTook  = 120.0 // seconds for one case, with all builds
)

// writeTables writes what was found, and returns the goals that are missed.
func writeTables(w io.Writer, all []caseOf, results []*result) (missed []string) {
	fmt.Fprintln(w, "| module | what | found | other races | false | shown by | calls | time | CPU time | |")
	fmt.Fprintln(w, "|---|---|:-:|--:|--:|---|--:|--:|--:|---|")
	var both, held totals
	for _, r := range results {
		i := slices.IndexFunc(all, func(c caseOf) bool { return c.Name == r.Case })
		if i < 0 || all[i].Dropped != "" {
			continue // it was one when it was measured
		}
		c := all[i]
		n := map[verdict]int{}
		by := ""
		for i := range r.Races {
			f := &r.Races[i]
			v := f.verdict(c)
			if n[v]++; v == known && n[v] == 1 || v == wrong && by == "" {
				by = f.By
			}
		}
		both.add(c, r, n)
		looked := "looked at"
		if c.Held {
			held.add(c, r, n)
			looked = "only measured"
		}
		found := "clean"
		if len(c.Racy) > 0 {
			found = study.YesNo(n[known] > 0)
		}
		fmt.Fprintf(w, "| %s %s | %s | %s | %d | %d | %s | %d | %.0f s | %.0f s | %s |\n", study.Cell(strings.TrimPrefix(c.Module, "github.com/")), c.Version,
			study.Cell(c.What), found, n[other], n[wrong], study.Cell(by), r.Calls, r.Took, r.CPU, looked)
		if r.Took > goalTook {
			missed = append(missed, fmt.Sprintf("%s took %.0f s", c.Name, r.Took))
		}
	}
	fmt.Fprintln(w)
	fmt.Fprintln(w, "| | races found | other races | false, in racy modules | false, in clean modules | clean modules with a false one | CPU time, median |")
	fmt.Fprintln(w, "|---|--:|--:|--:|--:|--:|--:|")
	both.row(w, "all")
	held.row(w, "only measured")
	if both.racy+both.clean == 0 {
		return []string{"no case was measured"}
	}
	if float64(both.found) < goalFound*float64(both.racy) {
		missed = append(missed, fmt.Sprintf("%d of %d races found", both.found, both.racy))
	}
	if n := both.falseRacy + both.falseClean; n > goalFalse {
		missed = append(missed, fmt.Sprintf("%d false races", n))
	}
	return missed
}

type totals struct {
	racy, found, other, falseRacy int
	clean, loud, falseClean       int
	cpu                           []float64
}

func (t *totals) add(c caseOf, r *result, n map[verdict]int) {
	t.cpu = append(t.cpu, r.CPU)
	t.other += n[other]
	if len(c.Racy) == 0 {
		t.clean++
		t.falseClean += n[wrong]
		if n[wrong] > 0 {
			t.loud++
		}
		return
	}
	t.racy++
	t.falseRacy += n[wrong]
	if n[known] > 0 {
		t.found++
	}
}

func (t *totals) row(w io.Writer, name string) {
	median := 0.0
	if len(t.cpu) > 0 {
		median = slices.Sorted(slices.Values(t.cpu))[len(t.cpu)/2]
	}
	fmt.Fprintf(w, "| %s | %d of %d | %d | %d | %d | %d of %d | %.0f s |\n", name, t.found, t.racy, t.other, t.falseRacy, t.falseClean, t.loud, t.clean, median)
}
