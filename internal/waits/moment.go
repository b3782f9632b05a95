package waits

import (
	"cmp"

	"github.com/hone-perf/hone/internal/exectrace"
	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/profile"
)

// StateLabel says what a goroutine of a Moment does.
const StateLabel = "state"

// Moment returns where the goroutines of the program were at a time of a trace, as a profile of goroutines; 0 is its end.
func Moment(t *exectrace.Trace, at int64) (*profile.Profile, error) {
	type key struct {
		stack exectrace.Stack
		kind  string
		state string
	}
	names := NewNames(t)
	counts := map[key]int64{}
	walk := &Walk{Window: Window{To: at}, Names: names}
	walk.Span = func(s *Span) {
		if !s.Open {
			return
		}
		k := key{stack: s.Stack, kind: names.Kind(s.Goroutine, s.Stack)}
		if IsRuntime(k.kind) {
			return
		}
		switch s.State {
		case exectrace.Waiting:
			k.state = names.Cause(s).String()
		case exectrace.Ready:
			k.state = isReady.String()
		case exectrace.Syscall:
			k.state = inSyscall.String()
		default:
			// Where it is, a trace says when it stops.
			k.state, k.stack = isRunning.String(), s.Goroutine.Start
		}
		counts[k]++
	}
	if err := walk.Run(t); err != nil {
		return nil, err
	}
	h := profile.Header{SampleTypes: []profile.ValueType{{Type: "goroutine", Unit: "count"}}, PeriodType: profile.ValueType{Type: "goroutine", Unit: "count"}, Period: 1}
	if wall := t.Wall(); wall != 0 {
		h.TimeNanos = wall + walk.End
	}
	b := newStacks(t, h)
	list := make([]key, 0, len(counts))
	for k := range counts {
		list = append(list, k)
	}
	order.Stable(list, func(a, b key) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a.stack, b.stack), cmp.Compare(a.kind, b.kind), cmp.Compare(a.state, b.state))
	})
	for _, k := range list {
		b.add(k.stack, k.kind, []profile.Label{{Key: StateLabel, Str: k.state}}, []int64{counts[k]})
	}
	b.Notes = append(b.Notes, DamageNotes(t)...)
	return b.Profile()
}
