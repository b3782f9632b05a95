package recording

import (
	"strings"

	"github.com/hone-perf/hone/internal/profile"
)

// ownKinds are the profiles in which the recorder does not belong: it waits all the time, in goroutines that the program does
// not have. What it allocates and computes is the program's to pay, so it stays in the others.
var ownKinds = []string{Goroutine, Block, Mutex, Leaks}

// ownName is how the functions begin in which goroutines of the recorder do. What the program's own ran of it, as when it
// ends, is the program's.
const ownName = "runtime.hone"

// withoutRecorder returns a profile without the goroutines of the recorder that was in the program.
func withoutRecorder(p *profile.Profile) *profile.Profile {
	var buf []uint32
	return p.Filter(func(i int) bool {
		buf = p.Stack(i, buf[:0])
		if len(buf) == 0 {
			return true
		}
		outermost := p.Locations[buf[len(buf)-1]].Lines
		return len(outermost) == 0 || !strings.HasPrefix(p.Functions[outermost[len(outermost)-1].Function].Name, ownName)
	})
}
