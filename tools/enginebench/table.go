package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/maxrss"
)

// do does the works, prints what they cost, and reports whether all targets were met.
func (r *runner) do(ctx context.Context, works []work, out io.Writer) (met bool, err error) {
	met = true
	var notes []string
	title := "" // of the table being printed
	for _, w := range works {
		fmt.Fprintf(r.log, "%s …\n", w.name)
		res := r.measure(ctx, w)
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		header, row := costHeader, costRow
		if w.grows > 0 {
			header, row = growthHeader, growthRow
		}
		if header != title {
			if title != "" {
				fmt.Fprintln(out)
			}
			fmt.Fprintln(out, header)
			title = header
		}
		missed := misses(res)
		fmt.Fprintln(out, row(res, len(missed) == 0))
		met = met && len(missed) == 0
		for _, n := range append(missed, res.notes...) {
			notes = append(notes, w.name+": "+n)
		}
	}
	if floor := maxrss.Own(); floor > 0 {
		notes = append(notes, fmt.Sprintf("RSS up to %s MB may be that of enginebench itself, which its children begin with.",
			megabytes(floor)))
	}
	if len(notes) > 0 {
		fmt.Fprintln(out)
	}
	for _, n := range notes {
		fmt.Fprintln(out, "-", n)
	}
	return met, nil
}

// misses says in which ways a result misses its target.
func misses(res result) []string {
	if res.err != nil {
		return []string{res.err.Error()}
	}
	var missed []string
	t, hone, pprof := res.work.target, total(res.hone), total(res.pprof)
	if r := float64(pprof.cpu) / float64(hone.cpu); r < t.cpu {
		missed = append(missed, fmt.Sprintf("%.1f× less CPU than pprof, want %g×", r, t.cpu))
	}
	// Where memory is not measured nobody can say that it is too much.
	if r := float64(pprof.rss) / float64(hone.rss); hone.rss > 0 && r < t.rss {
		missed = append(missed, fmt.Sprintf("%.1f× less memory than pprof, want %g×", r, t.rss))
	}
	for i, d := range res.duels {
		name := strings.TrimSpace(d.name + " " + milliseconds(res.hone[i].cpu))
		if t.each > 0 && res.hone[i].cpu > t.each {
			missed = append(missed, fmt.Sprintf("%s of CPU, want %s at most", name, milliseconds(t.each)))
		}
		if t.never && res.hone[i].cpu > res.pprof[i].cpu {
			missed = append(missed, fmt.Sprintf("%s of CPU, pprof takes %s", name, milliseconds(res.pprof[i].cpu)))
		}
	}
	return missed
}

const costHeader = `| work | pprof CPU s | pprof RSS MB | hone CPU s | hone RSS MB | CPU ratio | RSS ratio | target | met |
|---|---:|---:|---:|---:|---:|---:|---|---|`

// costRow compares hone with pprof.
func costRow(res result, met bool) string {
	cells := []string{res.work.name, "", "", "", "", "", "", res.work.target.String(), yes(met)}
	if res.err == nil {
		hone, pprof := total(res.hone), total(res.pprof)
		cells[3], cells[4] = seconds(hone.cpu), megabytes(hone.rss)
		if res.pprof != nil {
			cells[1], cells[2] = seconds(pprof.cpu), megabytes(pprof.rss)
			cells[5] = ratio(float64(pprof.cpu), float64(hone.cpu))
			cells[6] = ratio(float64(pprof.rss), float64(hone.rss))
		}
	}
	return markdown(cells)
}

const growthHeader = `| hone top | CPU s | RSS MB | ns per sample |
|---|---:|---:|---:|`

// growthRow shows what hone takes for so many samples.
func growthRow(res result, _ bool) string {
	cells := []string{formatSize(res.work.grows), "failed", "", ""}
	if res.err == nil {
		c := total(res.hone)
		cells = []string{cells[0], seconds(c.cpu), megabytes(c.rss), fmt.Sprint(c.cpu.Nanoseconds() / int64(res.work.grows))}
	}
	return markdown(cells)
}

func markdown(cells []string) string { return "| " + strings.Join(cells, " | ") + " |" }

// String returns the target as the table shows it.
func (t target) String() string {
	var parts []string
	if t.cpu > 0 {
		parts = append(parts, fmt.Sprintf("CPU ≥ %g×", t.cpu))
	}
	if t.rss > 0 {
		parts = append(parts, fmt.Sprintf("RSS ≤ 1/%g", t.rss))
	}
	if t.never {
		parts = append(parts, "never slower")
	}
	if t.each > 0 {
		parts = append(parts, "CPU ≤ "+milliseconds(t.each))
	}
	return strings.Join(parts, ", ")
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "**no**"
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.3g ms", float64(d)/float64(time.Millisecond))
}

func megabytes(n int64) string {
	if n == 0 {
		return "not measured"
	}
	return fmt.Sprintf("%.1f", float64(n)/(1<<20))
}

func ratio(a, b float64) string {
	if a == 0 || b == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f×", a/b)
}
