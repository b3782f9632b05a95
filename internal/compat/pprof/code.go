package pprof

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/source/objfile"
)

// binaries find machine code as pprof does: by the symbol table alone, without a look at the build ID.
type binaries struct {
	out   io.Writer // takes what is wrong with a program
	intel bool      // in the syntax of Intel, which Go's disassembler does not know
	rx    *regexp.Regexp
	known map[string]*objfile.File
	found bool           // a symbol matched
	kept  recording.Code // what recordings keep of programs that are not here; nil when there are none
}

func newBinaries(out io.Writer, intel bool, arg string) (*binaries, error) {
	rx, err := regexp.Compile(arg)
	if err != nil {
		return nil, err
	}
	return &binaries{out: out, intel: intel, rx: rx, known: make(map[string]*objfile.File)}, nil
}

// Object opens the program of a mapping. pprof prints errors before the report, wherever that goes to.
func (b *binaries) Object(m *profile.Mapping) (recording.Object, error) {
	o, err := b.open(m)
	if err != nil && b.kept != nil {
		if kept, err := b.kept.Object(m); err == nil {
			return &keptBinary{b, kept}, nil
		}
	}
	if err != nil {
		fmt.Fprintln(b.out, err)
		return nil, err
	}
	return o, nil
}

func (b *binaries) open(m *profile.Mapping) (*binary, error) {
	f := b.known[m.File]
	if f == nil {
		var err error
		if f, err = objfile.Open(m.File); err != nil {
			return nil, err
		}
		b.known[m.File] = f
	}
	return &binary{b, f, f.Base(m.Start)}, nil
}

func (b *binaries) close() {
	for _, f := range b.known {
		f.Close()
	}
}

// address returns the address that the argument of the command is, if it is one.
func (b *binaries) address() (uint64, bool) {
	n, err := strconv.ParseUint(b.rx.String(), 0, 64)
	return n, err == nil
}

// noMatch says that no machine code was found.
func (b *binaries) noMatch() error {
	switch addr, ok := b.address(); {
	case !ok:
		return fmt.Errorf("no matches found for regexp %s", b.rx)
	case !b.found:
		return fmt.Errorf("no matches found for address 0x%x", addr)
	default:
		return fmt.Errorf("address 0x%x found in binary, but the corresponding symbols do not have samples in the profile", addr)
	}
}

// A binary is a program as it was mapped.
type binary struct {
	of *binaries
	*objfile.File
	base uint64
}

func (b *binary) Base() uint64 { return b.base }

// Functions returns symbols of all kinds. To pprof the last byte of a symbol does not belong to it. An address has to
// match as a regexp, too.
func (b *binary) Functions(keep func(*recording.Function) bool) ([]recording.Function, error) {
	syms, err := b.Symbols()
	if err != nil {
		return nil, err
	}
	addr, _ := b.of.address()
	var out []recording.Function
	for _, s := range syms {
		switch {
		case s.Addr == 0 && s.Size == 0:
		case addr != 0 && (addr < s.Addr || addr >= s.Addr+s.Size):
		case b.of.rx.MatchString(s.Name):
			b.of.found = true
			f := recording.Function{Name: s.Name, Start: s.Addr, End: s.Addr + s.Size - 1}
			if keep(&f) {
				out = append(out, f)
			}
		}
	}
	return out, nil
}

// A keptBinary is what a recording keeps of a program.
type keptBinary struct {
	of *binaries
	recording.Object
}

func (k *keptBinary) Functions(keep func(*recording.Function) bool) ([]recording.Function, error) {
	return k.Object.Functions(func(f *recording.Function) bool {
		k.of.found = k.of.found || k.of.rx.MatchString(f.Name)
		return keep(f)
	})
}

func (k *keptBinary) Instructions(f *recording.Function) ([]recording.Instruction, error) {
	if k.of.intel {
		return nil, errIntel
	}
	in, err := k.Object.Instructions(f)
	out := make([]recording.Instruction, len(in)) // frames are shared
	for i := range in {
		out[i] = in[i]
		if n := len(in[i].Frames); n > 0 {
			out[i].Frames = []recording.Frame{{File: in[i].Frames[0].File, Line: in[i].Frames[0].Line}}
		}
	}
	return out, err
}

var errIntel = errors.New("printing assembly in Intel syntax is not supported")

func (b *binary) Instructions(f *recording.Function) ([]recording.Instruction, error) {
	if b.of.intel {
		return nil, errIntel
	}
	in, err := b.File.Instructions(f.Start, f.End, false)
	for i := range in {
		for j := range in[i].Frames {
			in[i].Frames[j].Func = "" // pprof names functions only where there are samples
		}
	}
	return in, err
}

func printDisasm(w io.Writer, r report.Report, f *form) error {
	fmt.Fprintln(w, "Total:", f.value(f.head.Total))
	for _, fn := range r.(*report.Disasm).Functions {
		fmt.Fprintf(w, "ROUTINE ======================== %s\n", fn.Name)
		fmt.Fprintf(w, "%10s %10s (flat, cum) %s of Total\n", f.value(fn.Flat), f.value(fn.Cum), f.percent(fn.Cum))
		var last report.Place
		for i := range fn.Instructions {
			in := &fn.Instructions[i]
			here := in.Place
			if here.File != "" {
				here.File = filepath.Base(here.File)
			}
			at := ""
			if here != last {
				at = placeText(here)
				last = here
			}
			costs := fmt.Sprintf("%10s %10s %10x:", f.valueOrDot(in.Flat), f.valueOrDot(in.Cum), in.Address)
			switch {
			case at == "":
				fmt.Fprintf(w, "%s %s\n", costs, in.Text)
			case len(in.Text) < 40:
				fmt.Fprintf(w, "%s %-40s;%s\n", costs, in.Text, at)
			default:
				fmt.Fprintf(w, "%74s;%s\n%s %s\n", "", at, costs, in.Text)
			}
		}
	}
	return nil
}

func placeText(p report.Place) string {
	s := ""
	if p.Function != "" {
		s = p.Function + " "
	}
	if p.File != "" {
		s += p.File
		if p.Line != 0 {
			s += fmt.Sprintf(":%d", p.Line)
		}
	}
	return s
}
