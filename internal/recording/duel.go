package recording

import (
	"time"
)

// A Duel is what came of running two versions against each other.
type Duel struct {
	Old        DuelSide        `json:"old"`
	New        DuelSide        `json:"new"`
	Alpha      float64         `json:"alpha"`               // chance of a false call in a row
	Within     float64         `json:"within"`              // a change below this share counts as none
	Spread     float64         `json:"spread,omitempty"`    // of the logarithm of the ratio of identical programs
	SpreadOf   int             `json:"spread_of,omitempty"` // pairs
	Benchmarks []DuelBenchmark `json:"benchmarks"`
	Same       []string        `json:"same,omitempty"` // packages whose programs are the same, byte for byte
	Notes      []string        `json:"notes,omitempty"`
}

// A DuelSide is a version.
type DuelSide struct {
	Name  string `json:"name"`            // as the user calls it
	Rev   string `json:"rev,omitempty"`   // commit
	Dirty bool   `json:"dirty,omitempty"` // and with changes that are in none
	Go    string `json:"go,omitempty"`    // version of Go
}

// How a benchmark was run.
const (
	Duet      = "duet"      // both at the same time on one processor
	Alternate = "alternate" // one after the other, in random order
)

// A DuelBenchmark is what was measured of one benchmark, or command.
type DuelBenchmark struct {
	Pkg   string        `json:"pkg,omitempty"`
	Name  string        `json:"name"`
	How   string        `json:"how,omitempty"`   // Duet or Alternate
	Unit  string        `json:"unit,omitempty"`  // that decided when to stop
	Iters int           `json:"iters,omitempty"` // of each run, the same on both sides
	Pairs []DuelPair    `json:"pairs,omitempty"` // in the order in which they were measured
	Only  string        `json:"only,omitempty"`  // the side that has it, old or new, when the other has not
	Error string        `json:"error,omitempty"` // why there is no answer
	Took  time.Duration `json:"took_ns,omitempty"`
	Stop  string        `json:"stop,omitempty"` // why it was not measured until decided
}

// A DuelPair are two runs that belong together: values by unit.
type DuelPair struct {
	Old map[string]float64 `json:"old"`
	New map[string]float64 `json:"new"`
}
