package report

import (
	"iter"
	"time"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/unit"
)

// PGO says what is in a profile for go build -pgo.
type PGO struct {
	File      string     `json:"file,omitempty"`
	Size      int64      `json:"size"`
	Calls     int        `json:"calls"`      // that the compiler finds in all that was read: of a function on a line of another
	Hot       int        `json:"hot"`        // of these, that it takes for hot
	KeptCalls int        `json:"kept_calls"` // that are in the file
	KeptHot   int        `json:"kept_hot"`
	Kept      float64    `json:"kept"` // share of the weight of all calls that is in the file
	Inputs    []PGOInput `json:"inputs"`
	Notes     hint.Texts `json:"notes,omitempty"`
}

// A PGOInput is one of the profiles that it was made of.
type PGOInput struct {
	Ref     string        `json:"ref"`
	Samples int64         `json:"samples"`
	CPU     time.Duration `json:"cpu_ns"`
	Cores   float64       `json:"cores"` // on average; 0 is not known
	Share   float64       `json:"share"` // of the profile
}

// Blocks returns what the compiler will see, and the inputs as a table.
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
