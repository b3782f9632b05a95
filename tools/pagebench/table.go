package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A verdict says whether a target was met.
type verdict int

const (
	untold verdict = iota // there is no target, or nobody asked for what it needs
	met
	missed
)

func (v verdict) String() string {
	return [...]string{"", "yes", "**no**"}[v]
}

func judge(ok bool) verdict {
	if ok {
		return met
	}
	return missed
}

// A row is a line of the table.
type row struct {
	what, pprof, hone, target string
	met                       verdict
}

const tableHeader = `| profile | what | pprof | hone | target | met |
|---|---|---:|---:|---|---|`

func (r row) markdown(profile string) string {
	return "| " + strings.Join([]string{profile, r.what, r.pprof, r.hone, r.target, r.met.String()}, " | ") + " |"
}

// What the page has to keep to. Those of large and small profiles are in rowsOf.
const (
	mostMemory  = 400 << 20
	mostPayload = 200 * 1000
	mostScript  = 120 * 1000
	mostFocus   = 300 * time.Millisecond
	mostAgain   = 50 * time.Millisecond
	mostZoom    = 50 * time.Millisecond
	mostFrame   = 8 * time.Millisecond
	mostAfter   = 300 * time.Millisecond
	mostGap     = 34 * time.Millisecond // two frames
)

// fasterThanPprof returns how many times sooner than with pprof a picture of so many samples should be there, or 0.
func fasterThanPprof(samples int) float64 {
	switch {
	case samples <= 100_000:
		return 10
	case samples <= 1000_000:
		return 20
	}
	return 0 // nobody waits for pprof then
}

// rowsOf returns the lines of the table about a profile.
func rowsOf(samples int, res result) []row {
	if res.failed != nil {
		return []row{{what: "flame graph", hone: "failed", met: missed}}
	}
	var rows []row
	add := func(what, pprof, hone, target string, v verdict) {
		rows = append(rows, row{what, pprof, hone, target, v})
	}
	top := medianOf(res.looks, func(l look) time.Duration { return l.top })
	drawn := medianOf(res.looks, func(l look) time.Duration { return l.drawn })
	var pprof, pprofCPU, pprofPeak, pprofBytes string
	if p := res.pprof; p != nil {
		pprof, pprofCPU, pprofPeak, pprofBytes = seconds(p.drawn), seconds(p.cpu), megabytes(p.peak), kilobytes(p.payload)
		if p.timedOut {
			pprof, pprofBytes = "> "+pprof, ""
		}
	}
	add("`hone top`", "", seconds(top), "", untold)
	wanted := top*3/2 + 300*time.Millisecond
	add("start to flame graph", pprof, seconds(drawn), "≤ 1.5 × top + 0.3 s = "+seconds(wanted), judge(drawn <= wanted))
	if times := fasterThanPprof(samples); times > 0 {
		target := fmt.Sprintf("≥ %g×", times)
		if p := res.pprof; p == nil {
			add("… sooner than pprof", "", "", target, untold)
		} else {
			r := float64(p.drawn) / float64(drawn)
			add("… sooner than pprof", "", fmt.Sprintf("%.1f×", r), target, judge(r >= times))
		}
	}
	if p := res.scope; p != nil {
		text := seconds(p.drawn)
		if p.timedOut {
			text = "> " + text
		}
		add("… the same in speedscope", text, "", "", untold)
	}
	add("… CPU of the server", pprofCPU, seconds(medianOf(res.looks, func(l look) time.Duration { return l.drawnCPU })), "", untold)
	bytes := func(what, pprof string, text func(int64) string, most int64, of func(look) int64) {
		n := medianOf(res.looks, of)
		if most == 0 {
			add(what, pprof, text(n), "", untold)
		} else {
			add(what, pprof, text(n), "≤ "+text(most), judge(n <= most))
		}
	}
	took := func(what string, most time.Duration, of func(look) time.Duration) {
		d := medianOf(res.looks, of)
		if most == 0 {
			add(what, "", milliseconds(d), "", untold)
		} else {
			add(what, "", milliseconds(d), "≤ "+milliseconds(most), judge(d <= most))
		}
	}
	bytes("… peak memory of the server", pprofPeak, megabytes, mostMemory, func(l look) int64 { return l.drawnPeak })
	bytes("… answers, packed", pprofBytes, kilobytes, mostPayload, func(l look) int64 { return l.payload })
	bytes("… script, packed", "", kilobytes, mostScript, func(l look) int64 { return l.script })
	took("… since the profile was read", mostAfter, func(l look) time.Duration { return l.afterRead })
	took("… to the picture with all calls", 0, func(l look) time.Duration { return l.wholeAfter })
	took("page opened again", 0, func(l look) time.Duration { return l.reopen })
	took("focus=json, click to picture", mostFocus, func(l look) time.Duration { return l.focus })
	took("… answer of the server", 0, func(l look) time.Duration { return l.focusAnswer })
	took("… CPU of the server", 0, func(l look) time.Duration { return l.focusCPU })
	took("… the same again", mostAgain, func(l look) time.Duration { return l.again })
	took(fmt.Sprintf("zoom after %v, second click to picture", looks), 0, func(l look) time.Duration { return l.zoom.first })
	took("… to the finer one", mostZoom, func(l look) time.Duration { return l.zoom.took })
	took("… without a click before, to the finer one", mostZoom, func(l look) time.Duration { return l.zoomAtOnce.took })
	took("… answer of the server then", mostZoom, func(l look) time.Duration { return l.zoomAtOnce.answer })
	bytes("memory of the server then", "", megabytes, 0, func(l look) int64 { return l.rss })
	bytes("… at its peak", "", megabytes, mostMemory, func(l look) int64 { return l.peak })

	for i, v := range visits {
		if len(res.looks[0].views) > i && (v.tab != "" || v.most > 0) {
			took("click to "+v.name(), v.most, func(l look) time.Duration { return l.views[i] })
			if v.key != "" {
				took("… until all calls are there", 0, func(l look) time.Duration { return l.wholeViews[i] })
			}
			took("… CPU of the server", 0, func(l look) time.Duration { return l.viewsCPU[i] })
		}
	}
	for i, m := range movements {
		var all []time.Duration
		for _, l := range res.looks {
			if len(l.gaps) > i {
				all = append(all, l.gaps[i]...)
			}
		}
		if len(all) > 0 {
			worst := quantile(all, 1)
			add(fmt.Sprintf("frames while %s, p95; longest", m.kind), "", milliseconds(quantile(all, 0.95))+"; "+milliseconds(worst), "≤ "+milliseconds(mostGap), judge(worst <= mostGap))
		}
	}

	var frames, steps []time.Duration
	for _, l := range res.looks {
		frames, steps = append(frames, l.frames...), append(steps, l.steps...)
	}
	painting := fmt.Sprintf("painting %d calls", medianOf(res.looks, func(l look) int { return l.nodes }))
	p95 := quantile(frames, 0.95)
	add(painting+", p50", "", milliseconds(quantile(frames, 0.5)), "", untold)
	add("… p95", "", milliseconds(p95), "≤ "+milliseconds(mostFrame), judge(p95 <= mostFrame))
	add("… CPU time of all script for it, p50", "", milliseconds(quantile(steps, 0.5)), "", untold)
	all := quantile(steps, 0.95)
	add("… p95", "", milliseconds(all), "≤ "+milliseconds(mostFrame), judge(all <= mostFrame))
	return rows
}

// medianOf returns the middle of what the looks have.
func medianOf[T cmp.Ordered](looks []look, of func(look) T) T {
	var xs []T
	for _, l := range looks {
		xs = append(xs, of(l))
	}
	slices.Sort(xs)
	return xs[len(xs)/2]
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.3g ms", float64(d)/float64(time.Millisecond))
}

func megabytes(n int64) string { return fmt.Sprintf("%.0f MB", float64(n)/(1<<20)) }

func kilobytes(n int64) string { return fmt.Sprintf("%.0f kB", float64(n)/1000) }
