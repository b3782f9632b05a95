package report

import (
	"cmp"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/filename"
	"github.com/hone-perf/hone/internal/hint"
)

// Goroutines are groups of goroutines that stand at the same place, the largest group first. With something to compare
// with, those that grew most come first.
type Goroutines struct {
	Head
	Before *Head            `json:"before,omitempty"`
	First  time.Duration    `json:"first_ns,omitempty"` // when Before is from, where that is the first snapshot of the same recording
	Groups []GoroutineGroup `json:"groups"`
	Shown  int              `json:"shown"`
	Of     int              `json:"of"`
}

// A GoroutineGroup is goroutines with the same stack.
type GoroutineGroup struct {
	Count   int64    `json:"count"`
	Before  *int64   `json:"before,omitempty"` // how many there were
	States  []string `json:"states,omitempty"` // what they wait for, where that is known
	Guessed bool     `json:"guessed,omitempty"`

	// How long they have been waiting, in whole minutes, where that is known.
	WaitLeast time.Duration `json:"wait_least_ns,omitempty"`
	WaitMost  time.Duration `json:"wait_most_ns,omitempty"`

	Where   Frame   `json:"where"`             // where to look: in the program's own code, if there is any
	Creator string  `json:"creator,omitempty"` // what started them
	Line    string  `json:"creator_line,omitempty"`
	Stack   []Frame `json:"stack"` // from the innermost frame

	Suspect string `json:"suspect,omitempty"` // why they may never end
}

// Blocks returns the groups as a table, and what is suspicious as notes.
func (g *Goroutines) Blocks() iter.Seq[Block] {
	m := g.measure()
	t := Table{Columns: []Column{{Name: "count"}}}
	if g.Before != nil {
		t.Columns = append(t.Columns, Column{Name: "before"})
	}
	t.Columns = append(t.Columns, Column{Name: "state"}, Column{Name: "waiting"}, Column{Name: "where"}, Column{Name: "started by"})
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
		t.Rows = append(t.Rows, append(row, strings.Join(r.States, ", "), r.wait(), r.place(), r.Creator))
		if r.Suspect != "" {
			notes = append(notes, Phrase{r.Suspect})
		}
	}
	if g.First > 0 {
		notes = append(notes, Phrase{"before: the first snapshot of the recording, after ", Nanos(int64(g.First))})
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

// place is where a group stands: the function, and the line where that is known.
func (r *GoroutineGroup) place() string {
	f := &r.Where
	if f.Line == 0 {
		return f.String()
	}
	file := filename.Base(f.File)
	return fmt.Sprintf("%s %s:%d", cmp.Or(f.Name, "?"), file, f.Line)
}
