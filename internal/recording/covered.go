package recording

import "time"

// A Coverage says which part of a run CPU profiles are of.
type Coverage struct {
	Run      time.Duration // how long it was
	Covered  time.Duration // how much of it the profiles are of
	From, To time.Duration // where the first begins and the last ends
}

// Covered returns which part of the run the CPU profiles of a recording are of, where they are to be of all of it.
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
