package report

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/filename"
	"github.com/hone-perf/hone/internal/hint"
)

// Goroutines are groups of goroutines with the same stack, largest first. With a base, the groups that grew most come first.
type Goroutines struct {
	Head
	Before *Head            `json:"before,omitempty"`
	First  time.Duration    `json:"first_ns,omitempty"` // time of the snapshot for Before, if it is from the same recording
	Groups []GoroutineGroup `json:"groups"`
	Shown  int              `json:"shown"`
	Of     int              `json:"of"`
	Gone   int              `json:"gone,omitempty"` // groups that have no goroutine any more

	Returned bool `json:"main_returned,omitempty"` // main had returned when leaked goroutines were looked for: some may only be leaked since
}

// A GoroutineGroup is goroutines with the same stack.
type GoroutineGroup struct {
	Count   int64    `json:"count"`
	Before  *int64   `json:"before,omitempty"` // earlier number
	Leaked  int64    `json:"leaked,omitempty"` // of Count: those that nothing can wake, as the garbage collector found
	States  []string `json:"states,omitempty"` // states, if known
	Guessed bool     `json:"guessed,omitempty"`

	// Waiting time in whole minutes, if known.
	WaitLeast time.Duration `json:"wait_least_ns,omitempty"`
	WaitMost  time.Duration `json:"wait_most_ns,omitempty"`

	Where   Frame   `json:"where"`             // most relevant frame, in the program's own code if possible
	Creator string  `json:"creator,omitempty"` // function that started them
	Line    string  `json:"creator_line,omitempty"`
	Stack   []Frame `json:"stack"` // innermost frame first

	Suspect string `json:"suspect,omitempty"` // why they never end or, if none is known to be leaked, may never end; or ""
}

// Blocks returns a table of groups, with suspicious ones as notes.
func (g *Goroutines) Blocks() iter.Seq[Block] {
	m := g.measure()
	t := Table{Columns: []Column{{Name: "count"}}}
	if g.Before != nil {
		t.Columns = append(t.Columns, Column{Name: "before"})
	}
	has := func(of func(r *GoroutineGroup) bool) bool {
		return slices.ContainsFunc(g.Groups, func(r GoroutineGroup) bool { return of(&r) })
	}
	leaked := has(func(r *GoroutineGroup) bool { return r.Leaked > 0 })
	waits := has(func(r *GoroutineGroup) bool { return r.WaitMost > 0 })
	creators := has(func(r *GoroutineGroup) bool { return r.Creator != "" })
	if leaked {
		t.Columns = append(t.Columns, Column{Name: "leaked"})
	}
	t.Columns = append(t.Columns, Column{Name: "state"})
	if waits {
		t.Columns = append(t.Columns, Column{Name: "waiting"})
	}
	t.Columns = append(t.Columns, Column{Name: "where"})
	if creators {
		t.Columns = append(t.Columns, Column{Name: "started by"})
	}
	var notes []Phrase
	for i := range g.Groups {
		r := &g.Groups[i]
		row := []any{int(r.Count)}
		if g.Before != nil {
			before := 0
			if r.Before != nil {
				before = int(*r.Before)
			}
			row = append(row, before)
		}
		if leaked {
			row = append(row, int(r.Leaked))
		}
		row = append(row, strings.Join(r.States, ", "))
		if waits {
			row = append(row, r.wait())
		}
		row = append(row, r.place())
		if creators {
			row = append(row, r.Creator)
		}
		t.Rows = append(t.Rows, row)
		if r.Suspect != "" {
			notes = append(notes, Phrase{r.Suspect})
		}
	}
	if g.First > 0 {
		notes = append(notes, Phrase{"before: the first goroutine profile of the recording, taken ", Nanos(int64(g.First)), " after the start"})
	}
	if left := g.Of - g.Shown; left > 0 {
		notes = append(notes, Phrase{"the first ", g.Shown, " of ", g.Of, " groups are shown; raise ", hint.Option{Name: "limit"}, " to see more"})
	}
	return func(yield func(Block) bool) {
		for b := range g.answer(m, nil, t) {
			if !yield(b) {
				return
			}
		}
		for _, n := range notes {
			if !yield(Note{Phrase{n}}) {
				return
			}
		}
	}
}

func (r *GoroutineGroup) wait() string {
	switch least, most := r.WaitLeast.Minutes(), r.WaitMost.Minutes(); {
	case most == 0:
		return ""
	case least == most:
		return fmt.Sprintf("%g min", most)
	default:
		return fmt.Sprintf("%g to %g min", least, most)
	}
}

// place returns the function of a group and, if known, the line.
func (r *GoroutineGroup) place() string {
	f := &r.Where
	if f.Line == 0 {
		return f.String()
	}
	file := filename.Base(f.File)
	return fmt.Sprintf("%s %s:%d", cmp.Or(f.Name, "?"), file, f.Line)
}
