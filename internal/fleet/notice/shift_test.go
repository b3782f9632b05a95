package notice

import (
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/fleet/event"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
)

// TestShiftOfMemory tells more work by what is allocated only where no CPU time is known: new code may allocate in another way for as much work.
func TestShiftOfMemory(t *testing.T) {
	at := time.Date(2026, 9, 1, 10, 0, 0, 0, time.UTC)
	const step = 5 * time.Minute
	fill := func(more float64) *memory {
		m := newMemory(1)
		f := m.names.id(&profile.Function{Name: "main.handle"})
		for i := range 2 * shiftSteps {
			v := 1000.0
			if i >= shiftSteps {
				v *= more
			}
			m.add(stepAt(at.Add(time.Duration(i)*step)), &costs{stacks: [][]int32{{f}}, entries: []int32{f}, values: []float64{v}})
		}
		return m
	}
	for _, c := range []struct {
		name string
		cpu  *memory
		want int
	}{{"only memory", nil, 1}, {"as much CPU time as before", fill(1), 0}, {"more CPU time, which tells it", fill(3), 0}} {
		events := openEvents(t)
		heap := fill(3)
		s := &service{tenant: "t", name: "shop", memories: map[string]*memory{recording.Heap: heap}}
		if c.cpu != nil {
			s.memories[recording.CPU] = c.cpu
		}
		n := New(Options{Events: events, Step: step})
		if err := n.shifts(s, recording.Heap, heap, heap.scales(), false); err != nil {
			t.Fatal(err)
		}
		if all, _ := events.List(event.Filter{Tenant: "t"}); len(all) != c.want {
			t.Errorf("%s: %d events, want %d: %+v", c.name, len(all), c.want, all)
		}
	}
}

// TestShiftHasBegun waits until work is more in all of the time after a shift, and not in its last step alone.
func TestShiftHasBegun(t *testing.T) {
	at := time.Date(2026, 9, 1, 10, 0, 0, 0, time.UTC)
	const step = 5 * time.Minute
	for _, c := range []struct{ more, want int }{{1, 0}, {shiftSteps, 1}} {
		events := openEvents(t)
		m := newMemory(1)
		f := m.names.id(&profile.Function{Name: "main.handle"})
		for i := range 2 * shiftSteps {
			v := 1000.0
			if i >= 2*shiftSteps-c.more {
				v *= 6
			}
			m.add(stepAt(at.Add(time.Duration(i)*step)), &costs{stacks: [][]int32{{f}}, entries: []int32{f}, values: []float64{v}})
		}
		s := &service{tenant: "t", name: "shop", memories: map[string]*memory{recording.CPU: m}}
		if err := New(Options{Events: events, Step: step}).shifts(s, recording.CPU, m, m.scales(), false); err != nil {
			t.Fatal(err)
		}
		all, _ := events.List(event.Filter{Tenant: "t"})
		if len(all) != c.want || c.want > 0 && !all[0].Time.Equal(at.Add(shiftSteps*step)) {
			t.Errorf("%d steps of more work: %d events, want %d: %+v", c.more, len(all), c.want, all)
		}
	}
}

func stepAt(at time.Time) step {
	return step{Time: at, Profiles: 20, Processes: 4, Covered: 200 * time.Second}
}
