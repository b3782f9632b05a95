package fleetview

import (
	"fmt"
	"slices"
	"time"

	"github.com/hone-perf/hone/internal/store"
	"github.com/hone-perf/hone/internal/unit"
)

const (
	leastProfiles = 3               // of a process, until it is known how much of its time is profiled
	leastAlive    = 2 * time.Minute // that a process ran in the time of the question
	unevenFrom    = 1.5             // how much larger the part of one process is, for it to be clearly another one
)

// Uneven compares for which part of their time processes were profiled, and returns nil if the parts are about the same. The lines are the means of
// single processes: by service and by the labels that can name a process, the best first.
func Uneven(lines []store.Line, process []string) *store.Uneven {
	var most, least store.Profiled
	for _, l := range lines {
		var profiles int
		var covered, alive time.Duration
		for _, p := range l.Points {
			profiles += p.Profiles
			covered += p.Covered
		}
		for _, m := range l.Means {
			alive += m.Alive
		}
		one := store.Profiled{Service: l.Labels.Get(store.ServiceLabel), Process: processOf(l.Labels, process)}
		if profiles < leastProfiles || alive < leastAlive || covered <= 0 || one.Process == "" && named(lines, one.Service, process) {
			continue
		}
		one.Share = min(1, covered.Seconds()/alive.Seconds())
		if one.Share > most.Share {
			most = one
		}
		if least.Share == 0 || one.Share < least.Share {
			least = one
		}
	}
	if least.Share <= 0 || most.Share < unevenFrom*least.Share {
		return nil
	}
	text := fmt.Sprintf("samples of all processes are added up, and %s was profiled for %s of its time, but %s for %s: the same CPU time counts %s times as much in the first",
		nameOf(most), unit.Share(most.Share), nameOf(least), unit.Share(least.Share), unit.Number(most.Share/least.Share))
	return &store.Uneven{Most: most, Least: least, Text: text}
}

func nameOf(p store.Profiled) string {
	if p.Process == "" {
		return p.Service
	}
	return p.Process + " of " + p.Service
}

func processOf(labels store.Labels, process []string) string {
	for _, name := range process {
		if v := labels.Get(name); v != "" {
			return v
		}
	}
	return ""
}

// named reports whether some processes of a service have names: what has none is then a sum of several.
func named(lines []store.Line, service string, process []string) bool {
	return slices.ContainsFunc(lines, func(l store.Line) bool {
		return l.Labels.Get(store.ServiceLabel) == service && processOf(l.Labels, process) != ""
	})
}
