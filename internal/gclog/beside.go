package gclog

import (
	"math"
	"strconv"
	"strings"
)

// scvg reads what the scavenger said up to Go 1.13.
func (p *Parser) scvg(s string) int {
	sc := scanner{s: s}
	sc.text("scvg")
	if isDigit(s[sc.at]) {
		sc.number()
	}
	sc.text(": ")
	switch {
	case sc.try("GC forced"):
		p.byTime = true
		return sc.at
	case sc.try("inuse: "):
		sc.number()
		sc.text(", idle: ")
		sc.number()
		sc.text(", sys: ")
		sys := sc.size()
		sc.text(", released: ")
		released := sc.size()
		sc.text(", consumed: ")
		sc.number()
		sc.text(" (MB)")
		if sc.failed {
			return 0
		}
		v := &p.log.Scavenger
		v.Sys, v.Released, v.MaxSys = sys, released, max(v.MaxSys, sys)
	default:
		if sc.try("0x") { // Go 1.0 wrote it as if it were an address
			for sc.at < len(s) && s[sc.at] != ' ' {
				sc.at++
			}
		} else {
			sc.number()
		}
		if !sc.try(" MB released") {
			sc.text(" KB released")
		}
		if sc.failed {
			return 0
		}
	}
	p.log.Scavenger.Lines++
	p.skip(scavenger)
	return sc.at
}

// scav reads what the scavenger says from Go 1.14 on: what it did, how much is given back by now, and how much of the
// rest is in use.
func (p *Parser) scav(s string) int {
	sc := scanner{s: s}
	sc.text("scav ")
	const most = 4
	for range most {
		n := sc.number()
		switch {
		case sc.failed:
			return 0
		case sc.try(" KiB work (bg), "), sc.try(" KiB work (eager), "), sc.try(" KiB work, "):
		case sc.try(" KiB now, "), sc.try(" KiB total, "):
			if n > math.MaxInt64>>10 {
				return 0
			}
			sc.number()
			sc.text("% util")
			if sc.failed {
				return 0
			}
			_ = sc.try(" (forced)") || sc.try(" [controller reset]")
			p.log.Scavenger.Lines++
			p.log.Scavenger.Released = n << 10
			p.skip(scavenger)
			return sc.at
		case sc.try(" "): // the number of the line, once
		default:
			return 0
		}
	}
	return 0
}

// pacer reads how much of all CPUs marking had: N% CPU from Go 1.18 on, u_a=+N.Ne-001 before.
func (p *Parser) pacer(s string) {
	p.skip(pacer)
	s = strings.TrimPrefix(s, "pacer: ")
	if number, rest, ok := strings.Cut(s, "% CPU ("); ok && rest != "" {
		if n, err := strconv.Atoi(number); err == nil && n >= 0 && n <= 100 {
			p.marking = n + 1
		}
		return
	}
	if _, rest, ok := strings.Cut(s, " u_a="); ok {
		number, _, _ := strings.Cut(rest, " ")
		if x, err := strconv.ParseFloat(number, 64); err == nil && x >= 0 && x <= 1 {
			p.marking = int(math.Round(x*100)) + 1
		}
	}
}
