package objfile

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/recording"
)

// A Keeper collects machine code of a file for a recording.
type Keeper struct {
	f      *File
	out    recording.KeptObject
	texts  map[string]uint32
	frames map[recording.KeptFrame]uint32 // 1 + the place
	syms   map[uint64]bool
}

// Keep begins to collect the machine code of a file that profiles call name.
func (f *File) Keep(name string) (*Keeper, error) {
	k := &Keeper{f: f, texts: make(map[string]uint32), frames: make(map[recording.KeptFrame]uint32), syms: make(map[uint64]bool)}
	k.out.File, k.out.BuildID = name, f.BuildID()
	f.mu.Lock()
	defer f.mu.Unlock()
	k.out.Arch = f.obj.goarch()
	var err error
	k.out.Load, err = f.obj.loadAddress()
	return k, err
}

// Add collects a function, of one that is longer only the first most bytes.
func (k *Keeper) Add(fn recording.Function, most uint64) error {
	list, err := k.f.Instructions(fn.Start, min(fn.End, fn.Start+most), true)
	if err != nil || len(list) == 0 {
		return err
	}
	k.f.mu.Lock()
	defer k.f.mu.Unlock()
	c, err := k.f.code()
	if err != nil {
		return err
	}
	out := recording.KeptFunction{Name: fn.Name, Start: fn.Start, End: fn.End}
	last := list[len(list)-1]
	out.Code = make([]byte, min(last.Address+uint64(last.Size), fn.End)-fn.Start)
	if n, err := c.text.data.ReadAt(out.Code, int64(fn.Start-c.text.start)); n < len(out.Code) {
		return fmt.Errorf("reading the code at %#x: %w", fn.Start, err)
	}
	known := *c
	known.look = k.symbol
	for _, in := range list {
		known.instruction(out.Code[in.Address-fn.Start:], in.Address)
		at := k.frame(in.Frames)
		if n := len(out.Runs); n > 0 && out.Runs[n-1] == at {
			out.Runs[n-2] += uint32(in.Size)
		} else {
			out.Runs = append(out.Runs, uint32(in.Size), at)
		}
	}
	k.out.Functions = append(k.out.Functions, out)
	return nil
}

// symbol notes a symbol that an instruction refers to.
func (k *Keeper) symbol(s *Symbol) {
	if !k.syms[s.Addr] {
		k.syms[s.Addr] = true
		k.out.Symbols = append(k.out.Symbols, recording.KeptSymbol(*s))
	}
}

// frame returns 1 + the place of a frame with what it was inlined into, or 0 for none.
func (k *Keeper) frame(frames []recording.Frame) uint32 {
	at := uint32(0)
	for i := len(frames) - 1; i >= 0; i-- {
		fr := recording.KeptFrame{k.text(frames[i].Func), k.text(frames[i].File), uint32(max(frames[i].Line, 0)), at}
		next, ok := k.frames[fr]
		if !ok {
			k.out.Frames = append(k.out.Frames, fr)
			next = uint32(len(k.out.Frames))
			k.frames[fr] = next
		}
		at = next
	}
	return at
}

func (k *Keeper) text(s string) uint32 {
	at, ok := k.texts[s]
	if !ok {
		at = uint32(len(k.out.Texts))
		k.texts[s] = at
		k.out.Texts = append(k.out.Texts, s)
	}
	return at
}

// Object returns what was collected.
func (k *Keeper) Object() recording.KeptObject {
	order.Stable(k.out.Symbols, func(a, b recording.KeptSymbol) int { return cmp.Compare(a.Addr, b.Addr) })
	return k.out
}

// Kept is machine code that a recording keeps.
type Kept struct {
	of   *recording.KeptObject
	code code
}

// OpenKept opens machine code that a recording keeps.
func OpenKept(o *recording.KeptObject) (*Kept, error) {
	k := &Kept{of: o}
	if k.code.decode = decoders[o.Arch]; k.code.decode == nil {
		return nil, fmt.Errorf("unsupported architecture %q", o.Arch)
	}
	for _, s := range o.Symbols {
		k.code.syms = append(k.code.syms, Symbol(s))
	}
	order.Stable(k.code.syms, func(a, b Symbol) int { return cmp.Compare(a.Addr, b.Addr) })
	return k, nil
}

// Base is as that of a File.
func (k *Kept) Base(start uint64) uint64 {
	if start == 0 {
		return 0
	}
	return start - k.of.Load
}

// Functions returns the functions for which keep is true, in the order of their addresses.
func (k *Kept) Functions(keep func(*recording.Function) bool) []recording.Function {
	var out []recording.Function
	for i := range k.of.Functions {
		kept := &k.of.Functions[i]
		if f := (recording.Function{Name: kept.Name, Start: kept.Start, End: kept.End}); keep(&f) {
			out = append(out, f)
		}
	}
	order.Stable(out, func(a, b recording.Function) int { return cmp.Compare(a.Start, b.Start) })
	return out
}

// Instructions takes a function apart. It reports false of one that is not kept.
func (k *Kept) Instructions(f *recording.Function) ([]recording.Instruction, bool) {
	i := slices.IndexFunc(k.of.Functions, func(kept recording.KeptFunction) bool { return kept.Start == f.Start && kept.Name == f.Name })
	if i < 0 {
		return nil, false
	}
	kept := &k.of.Functions[i]
	// Some decoders look behind the end of what they are given, as far as its capacity goes.
	b := slices.Clip(slices.Clone(kept.Code))
	var out []recording.Instruction
	runs, left := kept.Runs, 0
	known := make(map[uint32][]recording.Frame)
	var frames []recording.Frame
	for at := 0; at < len(b); {
		in := recording.Instruction{Address: kept.Start + uint64(at)}
		in.Text, in.Size = k.code.instruction(b[at:], in.Address)
		for left <= 0 && len(runs) > 0 {
			left += int(runs[0])
			var ok bool
			if frames, ok = known[runs[1]]; !ok {
				frames = k.of.Frame(runs[1])
				known[runs[1]] = frames
			}
			runs = runs[2:]
		}
		if left > 0 {
			in.Frames = frames
		}
		left -= in.Size
		at += in.Size
		out = append(out, in)
	}
	return out, true
}
