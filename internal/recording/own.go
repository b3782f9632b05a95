package recording

import (
	"strings"

	"github.com/hone-perf/hone/internal/profile"
)

// Samples of the recorder inside a program carry this label, so that they can be left out.
const (
	OverheadLabel = "overhead"
	Recorder      = "recorder"
)

// ofRecorder reports whether a function is part of the recorder inside a program.
func ofRecorder(name string) bool {
	return strings.HasPrefix(name, "0hone/recorder.") || name == "runtime.honeRecorder" || name == "runtime.honeProfileWriter"
}

// apart tells what the recorder did from what the program did. Files hold both, as the runtime wrote them: goroutines
// of the recorder are left out here, since the program has none of them, and what else the recorder took is labelled.
func apart(kind string, p *profile.Profile) (*profile.Profile, error) {
	own := make([]bool, len(p.Locations))
	any := false
	for i, l := range p.Locations {
		for _, line := range l.Lines {
			if ofRecorder(p.Functions[line.Function].Name) {
				own[i], any = true, true
			}
		}
	}
	if !any {
		return p, nil
	}
	if kind != Goroutine && kind != Leaks {
		return p.LabelWhere(OverheadLabel, Recorder, func(i int) bool { return p.StackAt(i).HasAny(own) }), nil
	}
	return p.Rewrite(p.Tables, func(_ int, stack []uint32) ([]uint32, bool) {
		if n := len(stack); n > 0 && own[stack[n-1]] {
			return stack, false
		}
		// The last profile is taken by the goroutine that ends the program: that it does is all there is to say of it.
		for i := len(stack) - 1; i >= 0; i-- {
			if own[stack[i]] {
				return stack[i+1:], true
			}
		}
		return stack, true
	})
}
