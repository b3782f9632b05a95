package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/hone-perf/hone/tools/study"
)

// Goals of the study: shares of all cases.
const (
	goalFirst  = 0.75 // the first finding hits
	goalThree  = 0.90 // one of the first three does
	goalCause  = 0.75 // and names the right cause
	goalPatch  = 0.50 // and has a patch
	goalProven = 0.35 // that is proven
	goalFind   = 10.0 // seconds of CPU time
	goalMemory = 1 << 30
)

// caseTable writes what was found, and returns the goals that are missed.
func caseTable(w io.Writer, all []caseOf, results []*result) (missed []string) {
	fmt.Fprintln(w, "| case | what the fix did | hit@1 | hit@3 | cause | patch | proven | find, and CPU time of it | memory | |")
	fmt.Fprintln(w, "|---|---|:-:|:-:|:-:|:-:|:-:|--:|--:|---|")
	t := totals{}
	held := totals{}
	bad := 0
	for _, r := range results {
		i := slices.IndexFunc(all, func(c caseOf) bool { return c.Name == r.Case })
		if i < 0 || all[i].Dropped != "" {
			continue // it was one when it was measured
		}
		c := all[i]
		v := r.verdict()
		t.add(v)
		looked := "rules mended"
		if c.Held {
			held.add(v)
			looked = "only measured"
		}
		proven := study.YesNo(v.proven)
		if !r.Fixed {
			proven = "–"
		}
		for _, k := range r.Kept {
			if k.Wrong != "" {
				bad++
				missed = append(missed, fmt.Sprintf("%s: kept, though wrong: %s:%d: %s: %s", r.Case, k.File, k.Line, k.Fix, k.Wrong))
			}
		}
		fmt.Fprintf(w, "| %s %s → %s | %s | %s | %s | %s | %s | %s | %.1f, %.1f s | %d MB | %s |\n", study.Cell(strings.TrimPrefix(c.Module, "github.com/")), c.Before, c.After,
			study.Cell(c.What), study.YesNo(v.first), study.YesNo(v.three), study.YesNo(v.cause), study.YesNo(v.patch), proven, r.Find, r.CPU, r.Memory>>20, looked)
		if r.CPU > goalFind || r.Memory > goalMemory {
			missed = append(missed, fmt.Sprintf("%s: finding took %.1f s and %d MB", r.Case, r.CPU, r.Memory>>20))
		}
	}
	if t.n == 0 {
		return append(missed, "no case was measured")
	}
	row := func(name string, t totals) {
		if t.n > 0 {
			fmt.Fprintf(w, "| **%s (%d)** | | %s | %s | %s | %s | %s | | | |\n", name, t.n, t.share(t.first), t.share(t.three), t.share(t.cause), t.share(t.patch), t.share(t.proven))
		}
	}
	row("all", t)
	row("only measured", held)
	fmt.Fprintf(w, "| **goal** | | %.0f %% | %.0f %% | %.0f %% | %.0f %% | %.0f %% | %.0f s | %d MB | |\n", goalFirst*100, goalThree*100, goalCause*100, goalPatch*100, goalProven*100, goalFind, goalMemory>>20)
	strict, keptAll := 0, 0
	for _, r := range results {
		if r.within(3, func(f finding) bool { return f.Close }) {
			strict++
		}
		keptAll += len(r.Kept)
	}
	fmt.Fprintf(w, "\nWithin %d lines of a changed line, among the first three: %s. Kept patches: %d, of which wrong: %d.\n", near, t.share(strict), keptAll, bad)
	for _, g := range []struct {
		name string
		n    int
		goal float64
	}{{"hit@1", t.first, goalFirst}, {"hit@3", t.three, goalThree}, {"cause", t.cause, goalCause}, {"patch", t.patch, goalPatch}} {
		if float64(g.n) < g.goal*float64(t.n) {
			missed = append(missed, fmt.Sprintf("%s: %s of %.0f %%", g.name, t.share(g.n), g.goal*100))
		}
	}
	if t.fixed > 0 && float64(t.proven) < goalProven*float64(t.n) {
		missed = append(missed, fmt.Sprintf("proven: %s of %.0f %%", t.share(t.proven), goalProven*100))
	}
	fmt.Fprint(w, "\n| case | hit | where | what hone says | patch | |\n|---|---|---|---|---|---|\n")
	for _, r := range results {
		for i, f := range r.top(3) {
			hit := "no"
			switch {
			case f.Right:
				hit = "cause"
			case f.Hit:
				hit = "place"
			}
			fmt.Fprintf(w, "| %s | %s | %d. %s:%d, %s | %s: %s | %s | %s |\n", r.Case, hit, i+1, f.File, f.Line, f.Func, f.Rule, study.Cell(f.Title), study.Cell(strings.Join(f.Fixes, "; ")), study.Cell(r.became(f)))
		}
	}
	if slices.ContainsFunc(all, func(c caseOf) bool { return c.Dropped != "" }) {
		fmt.Fprint(w, "\n| tried, and no case | why |\n|---|---|\n")
		for _, c := range all {
			if c.Dropped != "" {
				fmt.Fprintf(w, "| %s %s → %s | %s |\n", study.Cell(strings.TrimPrefix(c.Module, "github.com/")), c.Before, c.After, study.Cell(c.Dropped))
			}
		}
	}
	return missed
}

// became says what became of the patch of a finding.
func (r *result) became(f finding) string {
	same := func(k kept) bool { return k.Rule == f.Rule && k.File == f.File && k.Func == f.Func }
	if i := slices.IndexFunc(r.Kept, same); i >= 0 {
		if r.Kept[i].Wrong != "" {
			return "kept, **wrong**: " + r.Kept[i].Wrong
		}
		return "kept: " + r.Kept[i].Check
	}
	if i := slices.IndexFunc(r.Refused, same); i >= 0 {
		return r.Refused[i].Reason
	}
	return f.NoFix
}

// A verdict is how a case went.
type verdict struct{ first, three, cause, patch, proven, fixed bool }

func (r *result) verdict() verdict {
	return verdict{
		first:  r.within(1, func(f finding) bool { return f.Hit }),
		three:  r.within(3, func(f finding) bool { return f.Hit }),
		cause:  r.within(3, func(f finding) bool { return f.Right }),
		patch:  r.within(3, func(f finding) bool { return f.Hit && len(f.Fixes) > 0 }),
		proven: r.proven(),
		fixed:  r.Fixed,
	}
}

type totals struct{ n, first, three, cause, patch, proven, fixed int }

func (t *totals) add(v verdict) {
	t.n++
	for _, one := range []struct {
		n  *int
		is bool
	}{{&t.first, v.first}, {&t.three, v.three}, {&t.cause, v.cause}, {&t.patch, v.patch}, {&t.proven, v.proven}, {&t.fixed, v.fixed}} {
		if one.is {
			*one.n++
		}
	}
}

func (t *totals) share(n int) string { return fmt.Sprintf("%.0f %%", 100*float64(n)/float64(t.n)) }

// tunedTable writes what was said of tuned packages, and returns the goals that are missed.
func tunedTable(w io.Writer, results []*result) (missed []string) {
	fmt.Fprintln(w, "| package | findings | with a patch | kept | what | find, and CPU time of it | memory |")
	fmt.Fprintln(w, "|---|--:|--:|--:|---|--:|--:|")
	for _, r := range results {
		patches := 0
		var what []string
		for _, f := range r.Found {
			if len(f.Fixes) > 0 {
				patches++
			}
			what = append(what, fmt.Sprintf("%s %s:%d", f.Rule, f.File, f.Line))
		}
		kept := "–"
		if r.Fixed {
			kept = fmt.Sprint(len(r.Kept))
		}
		fmt.Fprintf(w, "| %s | %d | %d | %s | %s | %.1f, %.1f s | %d MB |\n", r.Case, len(r.Found), patches, kept, study.Cell(strings.Join(what, ", ")), r.Find, r.CPU, r.Memory>>20)
		if patches > 1 {
			missed = append(missed, fmt.Sprintf("%s: %d patches are proposed, of 1 at most", r.Case, patches))
		}
		for _, k := range r.Kept {
			missed = append(missed, fmt.Sprintf("%s: kept: %s:%d: %s: %s %s", r.Case, k.File, k.Line, k.Fix, k.Check, k.Wrong))
		}
		if r.CPU > goalFind || r.Memory > goalMemory {
			missed = append(missed, fmt.Sprintf("%s: finding took %.1f s and %d MB", r.Case, r.CPU, r.Memory>>20))
		}
	}
	return missed
}

// gainTable writes what the versions after won.
func gainTable(w io.Writer, results []*result) {
	fmt.Fprintln(w, "| case | benchmark | allocs/op | B/op | ns/op | functions that differ |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|")
	for _, r := range results {
		var names []string
		for _, p := range r.Places {
			names = append(names, p.File+":"+p.Func)
		}
		places := strings.Join(names, " ")
		for _, g := range r.Gains {
			fmt.Fprintf(w, "| %s | %s | %.4g → %.4g | %.4g → %.4g | %.4g → %.4g | %s |\n", r.Case, g.Name, g.Allocs[0], g.Allocs[1], g.Bytes[0], g.Bytes[1], g.Time[0], g.Time[1], study.Cell(places))
			places = ""
		}
	}
}
