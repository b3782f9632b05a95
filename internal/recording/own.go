package recording

import (
	"path"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/filename"
	"github.com/hone-perf/hone/internal/profile"
)

// Samples of the recorder inside a program carry this label, so that they can be left out.
const (
	OverheadLabel = "overhead"
	Recorder      = "recorder"
)

// RecorderPackage is the package that functions of the recorder are shown in.
const RecorderPackage = "hone/recorder"

// RecorderFiles is how the names of the recorder's files begin, which are added to a package of the standard library.
const RecorderFiles = "zz_hone_"

// ofRecorder reports whether a function is part of the recorder inside a program.
func ofRecorder(f *profile.Function) bool {
	return strings.HasPrefix(filename.Base(f.File), RecorderFiles) || f.Name == "runtime.honeRecorder" || f.Name == "runtime.honeProfileWriter"
}

// apart tells what the recorder did from what the program did. Files hold both, as the runtime wrote them: goroutines
// of the recorder, and their waits, are left out here, since the program has none of them, and what else the recorder took,
// which is the program's to pay, is labeled. It is called by its own name, too, not by that of the package that its files
// were put into.
func apart(kind string, p *profile.Profile) (*profile.Profile, error) {
	t := p.Tables
	mine := make([]bool, len(t.Functions))
	any := false
	for i := range t.Functions {
		mine[i] = ofRecorder(&t.Functions[i])
		any = any || mine[i]
	}
	if !any {
		return p, nil
	}
	t.Functions = slices.Clone(t.Functions)
	for i := range t.Functions {
		f := &t.Functions[i]
		if mine[i] && !strings.HasPrefix(f.Name, "runtime.") {
			f.Name, f.SystemName = recorderName(f.Name), recorderName(f.SystemName)
		}
	}
	p = p.WithTables(t)
	own := make([]bool, len(p.Locations))
	for i, l := range p.Locations {
		for _, line := range l.Lines {
			own[i] = own[i] || mine[line.Function]
		}
	}
	switch kind {
	case Goroutine, Leaks:
	case Block, Mutex:
		var buf []uint32
		kept := profile.NewSampleSet(p.NumSamples())
		for i := range p.NumSamples() {
			if buf = p.Stack(i, buf[:0]); !begins(own, buf) {
				kept.Add(uint32(i))
			}
		}
		p = p.Filter(kept)
		fallthrough
	default:
		set := p.LocationSet(own)
		return p.LabelWhere(OverheadLabel, Recorder, func(i int) bool { return p.HasAny(i, set) }), nil
	}
	return p.Rewrite(p.Tables, func(_ int, stack []uint32) ([]uint32, bool) {
		if begins(own, stack) {
			return stack, false
		}
		// The last profile is taken by the goroutine that ends the program: that it does is all there is to say of it. Where main has returned, there
		// is no more of it.
		for i := len(stack) - 1; i >= 0; i-- {
			if own[stack[i]] {
				rest := stack[i+1:]
				return rest, slices.ContainsFunc(rest, func(l uint32) bool { return !inRuntime(t, p.Locations[l]) })
			}
		}
		return stack, true
	})
}

// begins reports whether a stack begins in one of some locations.
func begins(in []bool, stack []uint32) bool { return len(stack) > 0 && in[stack[len(stack)-1]] }

// inRuntime reports whether a location is in the runtime, with what it calls at exit.
func inRuntime(t profile.Tables, l profile.Location) bool {
	return !slices.ContainsFunc(l.Lines, func(line profile.Line) bool {
		name := t.Functions[line.Function].Name
		return !strings.HasPrefix(name, "runtime.") && !strings.HasPrefix(name, "internal/runtime/exithook.")
	})
}

// recorderName returns the name of a function of the recorder: hone/recorder.(*recorder).loop.
func recorderName(name string) string {
	dir, base := path.Split(name)
	_, rest, ok := strings.Cut(base, ".")
	if !ok || dir == "" {
		return name
	}
	return RecorderPackage + "." + rest
}
