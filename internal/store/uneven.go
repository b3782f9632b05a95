package store

import (
	"fmt"

	"github.com/hone-perf/hone/internal/unit"
)

// Uneven says that processes were profiled for clearly different parts of the time that they ran. In a sum of their profiles, a process that was profiled
// more has a larger share than its CPU time.
type Uneven struct {
	Most  Profiled `json:"most"`
	Least Profiled `json:"least"`
	Text  string   `json:"text"`
}

// Profiled is the part of its time for which a process was profiled.
type Profiled struct {
	Service string  `json:"service"`
	Process string  `json:"process,omitempty"` // "" if no label names it
	Share   float64 `json:"share"`
}

// UnevenFrom is from which factor on the parts of two processes are clearly different.
const UnevenFrom = 1.5

// NewUneven returns what there is to say about the processes that were profiled most and least, or nil if they were profiled alike.
func NewUneven(most, least Profiled) *Uneven {
	if least.Share <= 0 || most.Share < UnevenFrom*least.Share {
		return nil
	}
	u := &Uneven{Most: most, Least: least}
	u.Text = fmt.Sprintf("samples of all processes are added up, and %s was profiled for %s of its time, but %s for %s: the same CPU time counts %s times as much in the first",
		most, unit.Share(most.Share), least, unit.Share(least.Share), unit.Number(most.Share/least.Share))
	return u
}

func (p Profiled) String() string {
	if p.Process == "" {
		return p.Service
	}
	return p.Process + " of " + p.Service
}
