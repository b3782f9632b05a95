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
	goalRaised = 0.80 // of the changes that are known
	goalFalse  = 0    // alarms about harmless ones
	goalSearch = 5.0  // seconds, in the middle of all cases
)

// writeTables writes what was found, and returns the goals that are missed.
func writeTables(w io.Writer, all []caseOf, results []*result) (missed []string) {
	fmt.Fprintln(w, "| case | what changed | kind | raised | by | first alarm | search | CPU time | memory | |")
	fmt.Fprintln(w, "|---|---|---|:-:|---|:-:|--:|--:|--:|---|")
	var both, held totals
	for _, r := range results {
		i := slices.IndexFunc(all, func(c caseOf) bool { return c.Name == r.Case })
		if i < 0 || all[i].Dropped != "" {
			continue // it was one when it was measured
		}
		c := all[i]
		both.add(c, r)
		looked := "looked at"
		if c.Held {
			held.add(c, r)
			looked = "only measured"
		}
		by, first := "", "–"
		if r.raised() && len(r.Alarms) > 0 {
			a := &r.Alarms[0]
			by = fmt.Sprintf("%s (%s: %s)", a.Function, a.Layer, a.What)
			first = "false"
			if c.Kind == changed && a.about(c) {
				first = "true"
			}
		}
		fmt.Fprintf(w, "| %s %s → %s | %s | %s | %s | %s | %s | %.1f s | %.0f s | %d MB | %s |\n", study.Cell(strings.TrimPrefix(c.Module, "github.com/")), c.Before, c.After,
			study.Cell(c.What), c.Kind, study.YesNo(r.raised()), study.Cell(by), first, r.Search, r.CPU, r.Memory>>20, looked)
	}
	fmt.Fprintln(w)
	fmt.Fprintln(w, "| | changes raised | first alarm true | false alarms | search, median |")
	fmt.Fprintln(w, "|---|--:|--:|--:|--:|")
	both.row(w, "all")
	held.row(w, "only measured")
	if both.changed+both.harmless == 0 {
		return []string{"no case was measured"}
	}
	if float64(both.raised) < goalRaised*float64(both.changed) {
		missed = append(missed, fmt.Sprintf("%d of %d changes raised", both.raised, both.changed))
	}
	if both.wrong > goalFalse {
		missed = append(missed, fmt.Sprintf("%d false alarms", both.wrong))
	}
	if m := both.median(); m > goalSearch {
		missed = append(missed, fmt.Sprintf("half of the searches took %.1f s and more", m))
	}
	return missed
}

type totals struct {
	changed, raised, first int
	harmless, wrong        int
	search                 []float64
}

func (t *totals) add(c caseOf, r *result) {
	t.search = append(t.search, r.Search)
	if c.Kind == harmless {
		t.harmless++
		if r.raised() {
			t.wrong++
		}
		return
	}
	t.changed++
	if r.raised() {
		t.raised++
		if len(r.Alarms) > 0 && r.Alarms[0].about(c) {
			t.first++
		}
	}
}

func (t *totals) median() float64 {
	if len(t.search) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(t.search))
	return sorted[len(sorted)/2]
}

func (t *totals) row(w io.Writer, name string) {
	fmt.Fprintf(w, "| %s | %d of %d | %d of %d | %d of %d | %.1f s |\n", name, t.raised, t.changed, t.first, t.raised, t.wrong, t.harmless, t.median())
}
