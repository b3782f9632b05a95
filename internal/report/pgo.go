package report

import (
	"iter"
	"time"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/unit"
)

// PGO is the contents of a profile for go build -pgo.
type PGO struct {
	File      string     `json:"file,omitempty"`
	Size      int64      `json:"size"`
	Calls     int        `json:"calls"`      // calls in all inputs that the compiler reads: from a line of a function to another function
	Hot       int        `json:"hot"`        // calls that the compiler treats as hot
	KeptCalls int        `json:"kept_calls"` // calls in the file
	KeptHot   int        `json:"kept_hot"`
	Kept      float64    `json:"kept"` // share of the weight of all calls
	Inputs    []PGOInput `json:"inputs"`
	Notes     hint.Texts `json:"notes,omitempty"`
}

// A PGOInput is one of the merged profiles.
type PGOInput struct {
	Ref     string        `json:"ref"`
	Samples int64         `json:"samples"`
	CPU     time.Duration `json:"cpu_ns"`
	Cores   float64       `json:"cores"` // mean cores; 0 if unknown
	Share   float64       `json:"share"` // share of the merged profile
}

// Blocks returns a summary of the file, and a table of inputs.
func (p *PGO) Blocks() iter.Seq[Block] {
	head := Phrase{}
	if p.File != "" {
		head = append(head, p.File, Sep{})
	}
	head = append(head, unit.Size(p.Size), Sep{}, unit.Counted(p.Calls, "call site"), ", ", p.Hot, " of them hot")
	list := []Block{Heading{[]Phrase{head}}}
	if p.KeptCalls < p.Calls {
		kept := Phrase{p.KeptCalls, " of the call sites are kept, ", p.KeptHot, " of the hot ones, with ", unit.Share(p.Kept), " of the weight"}
		list[0] = Heading{[]Phrase{head, kept}}
	}
	t := Table{Columns: []Column{{Name: "share"}, {Name: "cores"}, {Name: "cpu"}, {Name: "samples"}, {Name: "profile"}}}
	for _, in := range p.Inputs {
		var cores any
		if in.Cores > 0 {
			cores = unit.Cores(in.Cores)
		}
		t.Rows = append(t.Rows, []any{unit.Share(in.Share), cores, unit.Time(in.CPU), int(in.Samples), in.Ref})
	}
	list = append(list, t)
	for _, n := range p.Notes {
		list = append(list, Note{Phrase{n}})
	}
	return blocks(list)
}
