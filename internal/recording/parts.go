package recording

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/order"
)

// The kinds of profiles, in the order in which they are looked through for a metric.
const (
	CPU          = "cpu"
	Heap         = "heap"
	Goroutine    = "goroutine"
	Block        = "block"
	Mutex        = "mutex"
	ThreadCreate = "threadcreate"
	Leaks        = "goroutineleak"
	Held         = "held" // who holds memory
)

// Process is the kind of what a store knows of processes beside their profiles: requests that they answered, and their memory.
const Process = "process"

// Kinds are the kinds of profiles that a recording can hold.
var Kinds = []string{CPU, Heap, Goroutine, Block, Mutex, ThreadCreate, Leaks, Held}

// Names of the other parts.
const (
	manifestFile = "manifest.json"
	GCFile       = "gc.log"        // lines of gctrace
	BenchFile    = "bench.txt"     // what a test binary wrote when it ran benchmarks
	MetricsFile  = "metrics.jsonl" // what the runtime and the system say about the process, over time
	OutputFile   = "stderr.log"    // the end of what the program wrote to standard error
	CrashFile    = "crash.txt"     // what the runtime said when the program crashed
	TraceFile    = "trace.out"     // execution trace
	FlightDir    = "flight"        // the last seconds of execution traces
	DiffFile     = "changes.diff"  // what was not committed when the program was built
	SourcesDir   = "sources"
)

const profileEnding = ".pb.gz"

// A Part is one profile of a recording. CPU profiles are of the time from From to To; of the others, that count from
// the start of the program or show a moment, To is when they were taken and From is the same.
type Part struct {
	Kind     string
	From, To time.Duration // since the program started
	File     string        // inside the recording
}

// PartFile returns the name under which a profile is kept: cpu/000001000-000002000.pb.gz is of the second second.
// The names say all there is to know, so that a recording whose recorder died can be read.
func PartFile(kind string, from, to time.Duration) string {
	if kind == CPU {
		return fmt.Sprintf("%s/%09d-%09d.pb.gz", kind, from.Milliseconds(), to.Milliseconds())
	}
	return fmt.Sprintf("%s/%09d.pb.gz", kind, to.Milliseconds())
}

// parsePart is the inverse of PartFile.
func parsePart(file string) (p Part, ok bool) {
	kind, name := path.Split(file)
	kind = strings.TrimSuffix(kind, "/")
	name, isProfile := strings.CutSuffix(name, profileEnding)
	if !isProfile || !slices.Contains(Kinds, kind) {
		return p, false
	}
	from, to, spans := strings.Cut(name, "-")
	if !spans {
		to = from
	}
	a, errA := strconv.ParseUint(from, 10, 63)
	b, errB := strconv.ParseUint(to, 10, 63)
	if errA != nil || errB != nil || a > b || b > uint64(math.MaxInt64/time.Millisecond) || spans != (kind == CPU) {
		return p, false
	}
	return Part{kind, time.Duration(a) * time.Millisecond, time.Duration(b) * time.Millisecond, file}, true
}

// maxParts is how many profiles a recording may have: a day and more of one each second.
const maxParts = 1 << 17

// partsOf lists the profiles in a recording in the order of time, and says in words which are left out.
func partsOf(files fs.FS) (out map[string][]Part, lost []string, err error) {
	out = make(map[string][]Part)
	n := 0
	var misnamed []string
	for _, kind := range Kinds {
		entries, err := fs.ReadDir(files, kind)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			lost = append(lost, fmt.Sprintf("%s profiles are left out: %v", kind, err))
		}
		if n += len(entries); n > maxParts {
			return nil, nil, fmt.Errorf("recording has more than %d profiles", maxParts)
		}
		for _, e := range entries {
			name := path.Join(kind, e.Name())
			if p, ok := parsePart(name); ok {
				out[kind] = append(out[kind], p)
			} else if strings.HasSuffix(name, profileEnding) && !strings.HasPrefix(e.Name(), ".") { // with a dot, it was being written
				misnamed = append(misnamed, name)
			}
		}
		order.Stable(out[kind], func(a, b Part) int {
			return cmp.Compare(a.To, b.To)
		})
	}
	if len(misnamed) > 0 {
		lost = append(lost, "profiles without a time in their name are left out: "+some(misnamed))
	}
	return out, lost, nil
}
