package recording

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/hone-perf/hone/internal/heapgraph"
	"github.com/hone-perf/hone/internal/store"
)

// Format is the version of the format that is written. A reader takes all up to its own: what is new in a later one
// comes with a new number only when an older reader would show something wrong.
const Format = 1

// A Manifest describes a recording: its program, how it was recorded, and the overhead. See docs/format/recording.md.
type Manifest struct {
	Format  int       `json:"format"`
	Hone    string    `json:"hone"`              // version of the recorder
	How     How       `json:"how"`               // how it was recorded
	Command []string  `json:"command,omitempty"` // as it was started
	Target  string    `json:"target,omitempty"`  // URL or process that was recorded, if no command was started
	Dir     string    `json:"dir,omitempty"`     // where it was started
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended,omitzero"` // zero while it runs, and if the recorder was killed before the end

	Exit     *Exit    `json:"exit,omitempty"`
	Program  *Program `json:"program,omitempty"`
	Machine  *Machine `json:"machine,omitempty"`
	Usage    *Usage   `json:"usage,omitempty"`
	Recorder *Cost    `json:"recorder,omitempty"`
	Cores    float64  `json:"cores,omitempty"` // mean number of cores that all processes used, for profiles from a store
	Lookout  *Lookout `json:"lookout,omitempty"`
	Changes  *Changes `json:"changes,omitempty"`

	// Fleet describes the added profiles by kind, if How is Stored.
	Fleet map[string]Load `json:"fleet,omitempty"`

	Events []Event `json:"events,omitempty"`

	Holders []HeapRead `json:"holders,omitempty"` // by the time of its profile

	Notes []string `json:"notes,omitempty"` // missing or doubtful data, as text for users

	KeepSecrets bool `json:"keep_secrets,omitempty"` // possible secrets were not replaced
	Stripped    bool `json:"stripped,omitempty"`     // sources, arguments and labels were removed
}

// How is the way in which a recording was made.
type How string

// The ways to record.
const (
	Built   How = "built"   // the program was built with the recorder inside
	Ran     How = "ran"     // a program that was built before was run and watched from outside
	Fetched How = "fetched" // a server was asked for its profiles
	Watched How = "watched" // a process that was running was watched from outside
	Dueled  How = "dueled"  // two versions were run against each other
	Benched How = "benched" // benchmarks were run
	Loaded  How = "loaded"  // a server was sent requests
	Stored  How = "stored"  // profiles of many processes were added up, out of a store
)

// A Load describes added profiles of many processes.
type Load struct {
	Profiles  int           `json:"profiles"`
	Processes float64       `json:"processes"`       // at the same time, on average
	Covered   time.Duration `json:"covered_ns"`      // by the profiles, all together; those that only count cover the time since the previous one
	Seen      time.Duration `json:"seen_ns"`         // of the time, in which processes ran
	Scale     float64       `json:"scale,omitempty"` // what all processes did in a second, for each that the profile has; 0 in older recordings
	Notes     []string      `json:"notes,omitempty"` // doubts, such as that some of the profiles are left out
	Sums      *store.Sums   `json:"sums,omitempty"`  // that are of more than the time
	Shared    *store.Shared `json:"shared,omitempty"`
	Uneven    *store.Uneven `json:"uneven,omitempty"` // processes were profiled for different parts of their time
}

// LoadOf returns the load of recordings that were added up, or nil where the duration of their sum says enough.
func LoadOf(added ...*Recording) *Load {
	var out Load
	told, unknown := false, false
	for _, r := range added {
		one := Load{Processes: 1}
		if r.Load != nil {
			one, told = *r.Load, true
		} else {
			one.Covered = time.Duration(r.Profile.DurationNanos)
		}
		out.Profiles += one.Profiles
		out.Processes += one.Processes
		out.Covered += one.Covered
		unknown = unknown || one.Covered <= 0
	}
	if !told {
		return nil
	}
	if unknown {
		out.Covered = 0
	}
	return &out
}

// PerSecond returns what all processes together did in a second, of what their profiles count: nanoseconds of CPU for one.
func (l Load) PerSecond(v int64) float64 {
	switch {
	case l.Scale > 0:
		return float64(v) * l.Scale
	case l.Covered > 0:
		return float64(v) / l.Covered.Seconds() * l.Processes
	case l.Seen > 0:
		return float64(v) / l.Seen.Seconds()
	}
	return 0
}

// An Exit says how a program ended.
type Exit struct {
	Code   int    `json:"code"`             // what the shell sees: 128 and the number of the signal, if there was one
	Signal string `json:"signal,omitempty"` // that ended it
	Cause  string `json:"cause,omitempty"`  // as text, if known, such as out of memory
	Asked  bool   `json:"asked,omitempty"`  // hone stopped the program
}

// A Program is the build information of a program.
type Program struct {
	Path     string            `json:"path,omitempty"`   // of its main package
	Module   string            `json:"module,omitempty"` // main module
	Version  string            `json:"version,omitempty"`
	Go       string            `json:"go,omitempty"` // go1.26.8
	Settings map[string]string `json:"settings,omitempty"`
	MaxProcs int               `json:"gomaxprocs,omitempty"`
	Env      map[string]string `json:"env,omitempty"` // GOGC, GOMEMLIMIT, GODEBUG and GOMAXPROCS, where set
	BuildID  string            `json:"build_id,omitempty"`
}

// A Machine is where a program ran.
type Machine struct {
	OS        string `json:"os"`
	Arch      string `json:"arch"`
	CPU       string `json:"cpu,omitempty"` // model
	CPUs      int    `json:"cpus"`
	Memory    int64  `json:"memory,omitempty"` // bytes
	Kernel    string `json:"kernel,omitempty"`
	MemLimit  int64  `json:"cgroup_memory,omitempty"` // bytes that a cgroup allows; 0 is no limit
	CPULimit  string `json:"cgroup_cpu,omitempty"`    // such as 1.5
	Container bool   `json:"container,omitempty"`
}

// Quota returns how many cores a cgroup allows; 0 is no limit.
func (m *Machine) Quota() float64 {
	cores, err := strconv.ParseFloat(m.CPULimit, 64)
	if err != nil || !(cores > 0) || math.IsInf(cores, 0) {
		return 0
	}
	return cores
}

// A Usage is the resources that a whole run used.
type Usage struct {
	User   time.Duration `json:"user_ns"`
	System time.Duration `json:"system_ns"`
	Real   time.Duration `json:"real_ns"`
	MaxRSS int64         `json:"max_rss,omitempty"` // bytes
}

// A Cost is the overhead of recording, as measured by the recorder in the program.
type Cost struct {
	CPU    time.Duration `json:"cpu_ns"`             // of writing profiles
	Pauses time.Duration `json:"pauses_ns"`          // without a CPU profile, between two segments
	Bytes  int64         `json:"bytes"`              // written
	Cycle  int           `json:"gc_cycle,omitempty"` // from this one on, the first forced collection is the recorder's, at the end
}

// A Lookout is the conditions that the recorder watched for. The recording has only the last Window of the run, and the time before each of
// Events.
type Lookout struct {
	When     []string      `json:"when"` // rss>50%
	Window   time.Duration `json:"window_ns"`
	Cooldown time.Duration `json:"cooldown_ns"`
	Captures int           `json:"captures"` // at most
}

// An Event is a condition that became true. Profiles were taken at once, and those from before it are kept.
type Event struct {
	At    time.Duration `json:"at_ns"` // since the start
	When  string        `json:"when"`  // the condition
	Of    string        `json:"of"`    // value above its limit: rss, goroutines
	Unit  string        `json:"unit"`  // bytes, count, percent or nanoseconds
	Value float64       `json:"value"`
	Limit float64       `json:"limit"`

	Request string `json:"request,omitempty"` // ServeMux pattern of the request that took too long
}

// A HeapRead is how the profile of who holds memory came about.
type HeapRead struct {
	At        time.Duration    `json:"at_ns"` // since the start
	Go        string           `json:"go,omitempty"`
	Pause     time.Duration    `json:"pause_ns"`            // how long the program stood still
	Stopped   bool             `json:"stopped,omitempty"`   // it stood still while its memory was read
	Garbage   heapgraph.Sum    `json:"garbage"`             // objects that nothing holds, and that were not freed yet
	Allocated uint64           `json:"allocated,omitempty"` // bytes of the objects that the runtime counts, with garbage
	Rate      int64            `json:"rate,omitempty"`      // bytes for each sampled allocation, or 0 if none are sampled
	Notes     []heapgraph.Note `json:"notes,omitempty"`     // what could not be read
}

// HeapRead returns how the profile that was picked came about, if it is of who holds memory and that is known.
func (r *Recording) HeapRead() *HeapRead {
	if r.Manifest == nil || r.kind != Held || r.Profile == nil {
		return nil
	}
	for i := range r.Manifest.Holders {
		if h := &r.Manifest.Holders[i]; r.Manifest.Started.Add(h.At).UnixNano() == r.Profile.TimeNanos {
			return h
		}
	}
	return nil
}

// Latency is what an Event is of that is about a slow request.
const Latency = "latency"

// Slow reports whether the event is a request that took too long.
func (m *Manifest) Slow() bool {
	return slices.ContainsFunc(m.Events, func(e Event) bool { return e.Of == Latency })
}

// Changes are those in the folder that a program was built in, against its last commit. The text of them is DiffFile.
type Changes struct {
	Files     int  `json:"files"`
	Untracked int  `json:"untracked,omitempty"` // untracked files; the text has only their names
	Cut       bool `json:"cut,omitempty"`       // the text was cut
}
