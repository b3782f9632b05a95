package report

import (
	"cmp"
	"fmt"
	"iter"
	"strings"

	"github.com/hone-perf/hone/internal/filename"
	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/recording"
)

// Disasm is machine code with costs beside its instructions. It is the answer of disasm.
type Disasm struct {
	Head
	Functions []CodeFunction `json:"functions"`
	LeftOut   int            `json:"left_out,omitempty"` // functions that match but are beyond the limit
}

// A CodeFunction is the machine code of a function.
type CodeFunction struct {
	Name         string        `json:"name"`   // the linker's
	Object       string        `json:"object"` // the program or library
	Address      uint64        `json:"address"`
	Flat         int64         `json:"flat"`
	Cum          int64         `json:"cum"`
	Instructions []Instruction `json:"instructions"`
}

// An Instruction is a machine instruction, what it costs, and where in the source it comes from.
type Instruction struct {
	Address uint64 `json:"address"` // in the file
	Flat    int64  `json:"flat,omitempty"`
	Cum     int64  `json:"cum,omitempty"`
	Text    string `json:"text"`
	Place
	InlinedInto []Place `json:"inlined_into,omitempty"` // the callers of that place, where the calls were inlined

	// Depth is how many calls below its line of source led to the instruction: it is 0 in the line's own code, and more
	// in the bodies of what was inlined there. The line itself is then InlinedInto[Depth-1].
	Depth int `json:"depth,omitempty"`
}

// A Place is a line of source. What is not known of it is empty.
type Place struct {
	Function string `json:"function,omitempty"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
}

// Weblist is source text with the machine code of its lines. It is the answer of weblist.
type Weblist struct{ Source }

// A NoCode says why machine code of a function is missing.
type NoCode struct {
	Why  CodeGap   `json:"why"`
	File string    `json:"file,omitempty"` // the program or library, as the profile names it
	Text hint.Text `json:"text"`           // why
}

// A CodeGap is a reason why machine code is missing: one of recording, or one of these.
type CodeGap = recording.CodeGap

const (
	NoSymbol CodeGap = "no-symbol" // nothing in the program is said to be of the function
	LeftOut  CodeGap = "left-out"  // more functions hold it than are taken apart
)

// noCode returns the reasons why machine code is missing, each of them once.
func (s *Weblist) noCode() (list []Block) {
	seen := make(map[string]bool)
	for i := range s.Functions {
		for _, n := range s.Functions[i].NoCode {
			if text := n.Text.String(); !seen[text] {
				seen[text] = true
				list = append(list, Note{Phrase{n.Text}})
			}
		}
	}
	return list
}

// short returns the place without folders.
func (p *Place) short() string {
	if p.File == "" {
		return ""
	}
	file := filename.Base(p.File)
	if p.Line == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d", file, p.Line)
}

// where returns where an instruction comes from: the line, and the inlined functions that led there, if any.
func (in *Instruction) where(depth int) string {
	s := in.short()
	if depth == 0 {
		return s
	}
	name := in.Function
	if i := strings.LastIndexByte(name[:cmp.Or(strings.IndexAny(name, "([{<")+1, len(name))], '/'); i >= 0 {
		name = name[i+1:] // without the path of the package
	}
	return strings.TrimSpace(s + " " + name)
}

// Blocks cuts the answer into a table a function.
func (d *Disasm) Blocks() iter.Seq[Block] {
	m := d.measure()
	var list []Block
	for i := range d.Functions {
		f := &d.Functions[i]
		t := Table{Group: "function", Title: f.Name, Summary: m.costs(f.Flat, f.Cum), Columns: []Column{
			{Name: "flat", Unit: d.Unit}, {Name: "cum", Unit: d.Unit}, {Name: "address"}, {Name: "instruction"}, {Name: "source"},
		}}
		last := ""
		for j := range f.Instructions {
			in := &f.Instructions[j]
			at := in.where(len(in.InlinedInto))
			shown := at
			if at == last {
				shown = "" // else the column is all there is to see
			}
			last = at
			t.Rows = append(t.Rows, []any{m.cost(in.Flat), m.cost(in.Cum), fmt.Sprintf("%x", in.Address), tabless(in.Text), shown})
		}
		list = append(list, t)
	}
	if d.LeftOut > 0 {
		list = append(list, Note{Phrase{"functions left out: ", d.LeftOut, "; raise limit to see them"}})
	}
	return d.answer(m, nil, list...)
}

// Blocks cuts the answer into a table a file, with the instructions of a line below it.
func (s *Weblist) Blocks() iter.Seq[Block] {
	m := s.measure()
	var list []Block
	for _, f := range s.Functions {
		for _, file := range f.Files {
			t := Table{Group: "function", Title: f.Name, Columns: []Column{
				{Name: "flat", Unit: s.Unit}, {Name: "cum", Unit: s.Unit}, {Name: "line"}, {Name: "source"}, {Name: "from"},
			}}
			t.Summary = append(m.costs(file.Flat, file.Cum), Sep{}, file.File)
			for i := range file.Lines {
				l := &file.Lines[i]
				t.Rows = append(t.Rows, []any{m.cost(l.Flat), m.cost(l.Cum), l.Line, tabless(l.Text), nil})
				for j := range l.Instructions {
					in := &l.Instructions[j]
					from := ""
					if in.Depth > 0 {
						from = in.where(in.Depth)
					}
					text := strings.Repeat("  ", in.Depth+2) + fmt.Sprintf("%x  ", in.Address) + tabless(in.Text)
					t.Rows = append(t.Rows, []any{m.cost(in.Flat), m.cost(in.Cum), nil, text, from})
				}
			}
			list = append(list, t)
			if file.Error != "" {
				list = append(list, Note{Phrase{"no source text: " + file.Error}})
			}
			for _, n := range file.Notes {
				list = append(list, Note{Phrase{n}})
			}
		}
	}
	return s.answer(m, nil, append(list, s.noCode()...)...)
}

// cost returns v as an item, and nothing where it costs nothing: that is most instructions.
func (m *Measure) cost(v int64) any {
	if v == 0 {
		return nil
	}
	m.add(v)
	return Value{v, m}
}

// costs puts the cost of a whole into words.
func (m *Measure) costs(flat, cum int64) Phrase {
	return Phrase{
		"flat ", Value{flat, m}, " ", Share{flat, m.Total}, ", ", "cum ", Value{cum, m}, " ", Share{cum, m.Total},
	}
}

// tabless returns text with blanks in place of tabs: a table has columns of its own.
func tabless(text string) string { return strings.ReplaceAll(text, "\t", "    ") }
