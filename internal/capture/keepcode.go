package capture

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/source/objfile"
)

// Limits of the machine code in a recording.
const (
	maxCodeFunctions = 300
	maxCode          = 256 << 10 // bytes
	maxFunctionCode  = 32 << 10  // bytes of one function
	minCodeShare     = 0.001     // of what is measured, for a function to be kept
	codeTime         = 5 * time.Second
)

// keepCode adds the machine code of hot functions to a recording, from the programs and libraries that its profiles name.
// Nothing is said of those that are gone or were replaced: a recording without code is one, too.
func keepCode(rec *recording.Recording, folder string, opener codeOpener) error {
	programs := map[program]*programCode{}
	for _, metric := range []string{"cpu", "heap:alloc_space"} {
		picked, typ, err := rec.Pick(metric, 0, 0)
		if err != nil {
			continue // there are none
		}
		addCosts(picked.Profile, typ, programs)
	}
	var all []hotFunction
	for of, p := range programs {
		fns, err := p.functions(of, rec.Manifest.Started, opener)
		if p.file != nil {
			defer p.file.Close()
		}
		if err == nil {
			all = append(all, fns...)
		}
	}
	order.Stable(all, func(a, b hotFunction) int {
		return cmp.Or(cmp.Compare(b.share, a.share), cmp.Compare(a.of.name, b.of.name), cmp.Compare(a.fn.Start, b.fn.Start))
	})
	var out recording.KeptCode
	var keepers []*objfile.Keeper
	until := time.Now().Add(codeTime)
	left := uint64(maxCode)
	for _, f := range all[:min(len(all), maxCodeFunctions)] {
		size := min(f.fn.End-f.fn.Start, maxFunctionCode)
		if size > left {
			continue // a smaller one may still fit
		}
		if time.Now().After(until) {
			break
		}
		if f.in.keeper == nil {
			k, err := f.in.file.Keep(f.of.name)
			if err != nil {
				continue
			}
			f.in.keeper = k
			keepers = append(keepers, k)
		}
		if f.in.keeper.Add(f.fn, size) == nil {
			left -= size
		}
	}
	for _, k := range keepers {
		if o := k.Object(); len(o.Functions) > 0 {
			out.Objects = append(out.Objects, o)
		}
	}
	if len(out.Objects) == 0 {
		return nil
	}
	return recording.WriteCode(folder, &out)
}

// A codeOpener opens programs and libraries that profiles name.
type codeOpener struct {
	open func(name string) (*objfile.File, error)
	own  bool // hone built what ran
	far  bool // they may be of another machine: only a build ID tells that one is the same
}

// A program is a program or library, as profiles name it.
type program struct{ name, build string }

// A programCode is what the code of a program costs.
type programCode struct {
	start  uint64             // of the mapping
	costs  map[uint64]float64 // by address: shares of what is measured that is there, and that is below
	file   *objfile.File
	keeper *objfile.Keeper
}

// A hotFunction is a function that costs something.
type hotFunction struct {
	of    program
	in    *programCode
	fn    recording.Function
	share float64
}

// addCosts adds what the addresses in a profile cost.
func addCosts(p *profile.Profile, typ string, programs map[program]*programCode) {
	values, total := valuesOf(p, typ)
	if total <= 0 {
		return
	}
	costs := make([]float64, len(p.Locations))
	seen := make([]int, len(p.Locations)) // 1 + the last sample
	var buf []uint32
	for i, v := range values {
		if v == 0 || p.LabelSets()[p.Label(i)].Has(recording.OverheadLabel, recording.Recorder) {
			continue
		}
		buf = p.Stack(i, buf[:0])
		for depth, l := range buf {
			if depth == 0 {
				costs[l] += float64(v) / total
			}
			if seen[l] != i+1 {
				seen[l] = i + 1
				costs[l] += float64(v) / total
			}
		}
	}
	for l, cost := range costs {
		loc := &p.Locations[l]
		if cost == 0 || loc.Mapping == profile.NoMapping {
			continue
		}
		m := &p.Mappings[loc.Mapping]
		of := program{m.File, m.BuildID}
		c := programs[of]
		if c == nil {
			c = &programCode{start: m.Start, costs: make(map[uint64]float64)}
			programs[of] = c
		}
		if c.start == m.Start {
			c.costs[loc.Address] += cost
		}
	}
}

var errOtherProgram = errors.New("another program")

// functions returns the functions that cost something. A program that is another one than that which ran has none.
func (p *programCode) functions(of program, started time.Time, opener codeOpener) ([]hotFunction, error) {
	if of.name == "" {
		return nil, errOtherProgram
	}
	f, err := opener.open(of.name)
	if err != nil {
		return nil, err
	}
	p.file = f
	switch id := f.BuildID(); {
	case id != "" && of.build != "":
		if id != of.build {
			return nil, errOtherProgram
		}
	case opener.own:
	case opener.far:
		return nil, errOtherProgram
	default:
		if st, err := os.Stat(of.name); err == nil && !started.IsZero() && st.ModTime().After(started) {
			return nil, errOtherProgram // it was built since
		}
	}
	base := f.Base(p.start)
	var at []uint64
	for a := range p.costs {
		at = append(at, a-base)
	}
	slices.Sort(at)
	sums := make([]float64, len(at)+1)
	for i, a := range at {
		sums[i+1] = sums[i] + p.costs[a+base]
	}
	share := func(fn *recording.Function) float64 {
		from, _ := slices.BinarySearch(at, fn.Start)
		to, _ := slices.BinarySearch(at, fn.End)
		return sums[max(from, to)] - sums[from]
	}
	fns, err := f.Functions(func(fn *recording.Function) bool { return share(fn) >= minCodeShare })
	var out []hotFunction
	for _, fn := range fns {
		out = append(out, hotFunction{of, p, fn, share(&fn)})
	}
	return out, err
}

// keepCode adds machine code to the recording, or nothing.
func (s *session) keepCode(rec *recording.Recording, opener codeOpener) {
	if err := keepCode(rec, s.folder, opener); err != nil {
		s.wrote(0, err)
		os.Remove(filepath.Join(s.folder, recording.CodeFile)) // there may be no room for what matters more
	}
}
