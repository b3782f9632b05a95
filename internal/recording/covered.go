package recording

import "time"

// A Coverage is the part of a run that CPU profiles cover.
type Coverage struct {
	Run      time.Duration // duration of the run
	Covered  time.Duration // duration of the profiles
	From, To time.Duration // begin of the first and end of the last
}

// Covered returns the part of the run that the CPU profiles of a recording cover. It is not ok for recordings that do not aim to cover the whole run.
func (r *Recording) Covered() (c Coverage, ok bool) {
	all := r.Parts[CPU]
	if r.Manifest == nil || len(all) == 0 {
		return c, false
	}
	switch r.Manifest.How {
	case Built, Ran, Fetched, Watched:
	default:
		return c, false // benchmarks and sides of a comparison come one after another
	}
	c.From = all[0].From
	for _, p := range all {
		c.Covered += max(0, p.To-max(p.From, c.To))
		c.To = max(c.To, p.To)
	}
	if !r.Manifest.Ended.IsZero() {
		c.Run = max(c.To-c.From, r.Manifest.Ended.Sub(r.Manifest.Started))
		return c, true
	}
	for _, parts := range r.Parts {
		for _, p := range parts {
			c.Run = max(c.Run, p.To)
		}
	}
	return c, true
}
