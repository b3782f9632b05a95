package capture

import (
	"slices"
	"sync"
	"time"

	"github.com/hone-perf/hone/internal/capture/agent"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
)

// A lookout watches for trouble of a program that has no recorder inside, and keeps the recording small meanwhile.
type lookout struct {
	mu     sync.Mutex
	alarm  agent.Alarm
	window agent.Window
	known  map[string]float64 // of what is watched, what is not asked for anew
	notice func([]agent.Trouble)
}

func (l *lookout) lookFor(opt *Options) {
	if len(opt.When) == 0 {
		return
	}
	l.alarm = agent.Alarm{Conditions: conditionsOf(opt.When), Cooldown: opt.Cooldown, Left: opt.Captures}
	l.window.For = opt.Window
	l.notice = opt.noticed
}

func conditionsOf(list []Condition) []agent.Condition {
	var out []agent.Condition
	for _, c := range list {
		out = append(out, c.Condition)
	}
	return out
}

// looks reports whether something is watched.
func (l *lookout) looks(of string) bool {
	return slices.ContainsFunc(l.alarm.Conditions, func(c agent.Condition) bool { return c.Of == of })
}

// tell keeps a value of what is watched until there is another one.
func (l *lookout) tell(of string, v float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known == nil {
		l.known = map[string]float64{}
	}
	l.known[of] = v
}

// told returns what was told.
func (l *lookout) told(of string) (v, most float64, known bool) {
	v, known = l.known[of]
	return v, 0, known
}

// add adds a file of the recording, which is dropped when it is old.
func (l *lookout) add(file string, from, to time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.window.Add(file, from, to)
}

// trouble reports whether there is trouble worth a look. What led up to it is kept, and what is old is dropped.
func (l *lookout) trouble(now time.Duration, value func(of string) (v, most float64, known bool)) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := len(l.alarm.Troubles)
	trouble := l.alarm.Look(now, value)
	if trouble {
		l.notice(l.alarm.Troubles[before:])
		l.window.Pin(now)
	}
	l.window.Drop(now)
	return trouble
}

// watchProcess returns what can be watched of a process from outside. Rates are told anew every second.
func (l *lookout) watchProcess(p *agent.Process) func(of string) (v, most float64, known bool) {
	memory := float64(p.Memory())
	return func(of string) (v, most float64, known bool) {
		switch of {
		case agent.RSS:
			rss := p.RSS()
			return float64(rss), memory, rss > 0
		case agent.Cgroup:
			used, most := p.Group()
			return float64(used), float64(most), used > 0
		}
		return l.told(of)
	}
}

// collecting returns the CPU time in a CPU profile, and how much of it collecting garbage took, without what
// idle Ps did of it.
func collecting(p *profile.Profile) (gc, all time.Duration) {
	k := slices.IndexFunc(p.SampleTypes, func(t profile.ValueType) bool { return t.Unit == "nanoseconds" })
	if k < 0 {
		return 0, 0
	}
	const collects, idles = 1, 2
	does := make([]int, len(p.Locations))
	for i, l := range p.Locations {
		for _, line := range l.Lines {
			switch p.Functions[line.Function].Name {
			case "runtime.gcBgMarkWorker", "runtime.gcAssistAlloc":
				does[i] |= collects
			case "runtime.gcDrainMarkWorkerIdle":
				does[i] |= idles
			}
		}
	}
	var buf []uint32
	for i, v := range p.Values(k) {
		buf = p.Stack(i, buf[:0])
		did := 0
		for _, l := range buf {
			did |= does[l]
		}
		all += time.Duration(v)
		if did == collects {
			gc += time.Duration(v)
		}
	}
	return gc, all
}

// tellGC tells how much of the CPU time in a profile collecting garbage took.
func (l *lookout) tellGC(p *profile.Profile) {
	if gc, all := collecting(p); all > 0 {
		l.tell(agent.GC, 100*float64(gc)/float64(all))
	} else {
		l.tell(agent.GC, 0)
	}
}

// finishLookout adds to the manifest what was seen.
func (s *session) finishLookout(l *lookout) {
	if len(s.When) > 0 {
		s.troubles(l.alarm.Troubles, l.alarm.Missed, l.alarm.Blind())
	}
}

// lookoutOf is what the manifest says about it.
func lookoutOf(opt *Options) *recording.Lookout {
	if len(opt.When) == 0 {
		return nil
	}
	out := &recording.Lookout{Window: opt.Window, Cooldown: opt.Cooldown, Captures: opt.Captures}
	for _, c := range opt.When {
		out.When = append(out.When, c.Text)
	}
	return out
}
