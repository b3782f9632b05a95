package recording

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/scratch"
	"github.com/hone-perf/hone/internal/secret"
)

// A Duel is the result of a comparison of two versions.
type Duel struct {
	Old        DuelSide        `json:"old"`
	New        DuelSide        `json:"new"`
	Alpha      float64         `json:"alpha"`                // probability of a wrong verdict in a row
	Within     float64         `json:"within"`               // smaller changes count as none
	Surely     bool            `json:"surely,omitempty"`     // the user set Within: a change has to be surely larger
	Spread     float64         `json:"spread,omitempty"`     // of the logarithm of the ratio of identical programs
	SpreadOf   int             `json:"spread_of,omitempty"`  // pairs
	BuiltOnce  bool            `json:"built_once,omitempty"` // both sides are one program that runs with different settings
	Benchmarks []DuelBenchmark `json:"benchmarks"`
	Why        []DuelWhy       `json:"why,omitempty"`
	Better     map[string]int  `json:"better,omitempty"` // by unit, if benchmarks state it: 1 means more is better, -1 less
	Same       []string        `json:"same,omitempty"`   // packages whose programs are the same, byte for byte
	Notes      []string        `json:"notes,omitempty"`
}

// A DuelSide is a version.
type DuelSide struct {
	Name  string `json:"name"`            // name that the user gave
	Rev   string `json:"rev,omitempty"`   // commit
	Dirty bool   `json:"dirty,omitempty"` // with uncommitted changes
	Go    string `json:"go,omitempty"`    // version of Go

	// What it was built and run with, as far as that was set for the comparison, and without values that look like secrets.
	Env   []string `json:"env,omitempty"`   // NAME=value
	Flags []string `json:"flags,omitempty"` // for building
}

// How a benchmark was run.
const (
	Duet      = "duet"      // both at the same time on one core
	Alternate = "alternate" // one after the other, in random order
)

// A DuelBenchmark is what was measured of one benchmark, or command.
type DuelBenchmark struct {
	Pkg    string        `json:"pkg,omitempty"`
	Name   string        `json:"name"`
	How    string        `json:"how,omitempty"`    // Duet or Alternate
	Unit   string        `json:"unit,omitempty"`   // unit that decided when to stop
	Iters  int           `json:"iters,omitempty"`  // of each run, the same on both sides
	Apart  [2]int        `json:"apart,omitzero"`   // iterations by side, if speeds differ so much that both sides run for the same time instead
	Pairs  []DuelPair    `json:"pairs,omitempty"`  // in the order in which they were measured
	Counts []DuelPair    `json:"counts,omitempty"` // of Instructions, where they were counted
	Live   []DuelPair    `json:"live,omitempty"`   // of LiveHeap, where it was watched
	Only   string        `json:"only,omitempty"`   // old or new, if only that side has it
	Fails  string        `json:"fails,omitempty"`  // old or new, if it fails there…
	Error  string        `json:"error,omitempty"`  // …and why
	Took   time.Duration `json:"took_ns,omitempty"`
	// SameCode means that all code that it reaches is the same on both sides, and so is what that code reads. Time differs only by where
	// the code is in memory.
	SameCode bool `json:"same_code,omitempty"`
	// SameOwn means the same, but for what runs before all benchmarks: init functions and TestMain. What these prepare may differ.
	SameOwn bool `json:"same_own_code,omitempty"`

	Stop string `json:"stop,omitempty"` // why measuring ended: "decided", "clear" after a few pairs that are far apart, or "time"
}

// Instructions is the unit of DuelBenchmark.Counts.
const Instructions = "instructions/op"

// LiveHeap is the unit of DuelBenchmark.Live: bytes of the heap that were in use at most, beside those that were before the benchmark.
const LiveHeap = "live-heap-B"

// A DuelPair are two runs that belong together: values by unit.
type DuelPair struct {
	Old map[string]float64 `json:"old"`
	New map[string]float64 `json:"new"`
}

// Ratios returns the logarithms of new/old of pairs in a unit, and of none when one of them has it not, or not above zero.
func Ratios(pairs []DuelPair, unit string) []float64 {
	ds := make([]float64, len(pairs))
	for i, p := range pairs {
		a, b := p.Old[unit], p.New[unit]
		if !(a > 0 && b > 0) || math.IsInf(a, 0) || math.IsInf(b, 0) {
			return nil
		}
		ds[i] = math.Log(b / a)
	}
	return ds
}

// A DuelWhy are profiles of both sides of a benchmark that changed. Both did the same number of operations.
type DuelWhy struct {
	Pkg   string `json:"pkg,omitempty"`
	Was   string `json:"was,omitempty"` // path of the old package, if it differs
	Name  string `json:"name"`
	Kind  string `json:"kind"` // CPU or Heap
	Iters int    `json:"iters"`
	// Took is what an operation took in the profiled runs, by side, in the unit of the benchmark: these ran one after the other, so they may
	// differ by more than the versions do. Zero is not known.
	Took [2]float64 `json:"took,omitzero"`

	Code []DuelCode `json:"code,omitempty"` // how that of its functions differs, those that matter most first

	Old *profile.Profile `json:"-"`
	New *profile.Profile `json:"-"`
}

// Ref names the profile of a side where it is looked at by itself.
func (w *DuelWhy) Ref(side string) string {
	name := w.Name
	if w.Pkg != "" {
		name = w.Pkg + "." + name
	}
	return name + " " + w.Kind + ", " + side
}

// duelFile is what a recording of a duel holds besides profiles.
const duelFile = "duel.json"

// maxDuel is the maximum size of duelFile.
const maxDuel = 64 << 20

// whyFile returns the name under which a profile of the i-th DuelWhy is kept.
func whyFile(i int, side string) string { return fmt.Sprintf("why/%d-%s.pb.gz", i, side) }

// writeDuel writes a duel into the folder of a recording.
func writeDuel(folder string, d *Duel) error {
	text, err := json.Marshal(d)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, duelFile), text, 0o644); err != nil {
		return err
	}
	if len(d.Why) > 0 {
		if err := os.MkdirAll(filepath.Join(folder, "why"), 0o755); err != nil {
			return err
		}
	}
	for i, w := range d.Why {
		for side, p := range map[string]*profile.Profile{"old": w.Old, "new": w.New} {
			var b bytes.Buffer
			if err := p.Write(&b); err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(folder, filepath.FromSlash(whyFile(i, side))), b.Bytes(), 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// SaveDuel makes a recording of a duel, in one file, and returns how many secrets were replaced.
func SaveDuel(file string, m *Manifest, d *Duel) (hidden int, err error) {
	dir, err := scratch.Files("pack-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	if err := writeDuel(dir, d); err != nil {
		return 0, err
	}
	return Pack(dir, file, m)
}

// stripDuel leaves out the names of what was compared, and what was said about it.
func stripDuel(text []byte, _ string) ([]byte, error) {
	d := &Duel{}
	if err := json.Unmarshal(text, d); err != nil {
		return nil, err
	}
	d.Notes = nil
	d.Old.Name, d.New.Name = "old", "new"
	for i := range d.Benchmarks {
		b := &d.Benchmarks[i]
		b.Name = strippedName(b.Name, i)
		if b.Error != "" {
			b.Error = "there is no answer"
		}
	}
	for i := range d.Why {
		w := &d.Why[i]
		for k := range d.Benchmarks {
			if d.Benchmarks[k].Pkg == w.Pkg {
				w.Name = strippedName(w.Name, k)
			}
		}
	}
	return json.Marshal(d)
}

// hideDuel replaces secrets in a duel: of commands, in what it calls them. It returns text itself when there are none.
func hideDuel(text []byte, h *secret.Hider) ([]byte, error) {
	d := &Duel{}
	if err := json.Unmarshal(text, d); err != nil {
		return nil, &unreadableError{err}
	}
	n := h.N
	named := func(name *string) {
		if strings.Contains(*name, " ") {
			*name = h.Text(*name)
		} else {
			*name = h.Known(h.Again(*name)) // a benchmark, whose cases may be token=a and token=b
		}
	}
	named(&d.Old.Name)
	named(&d.New.Name)
	for i := range d.Benchmarks {
		b := &d.Benchmarks[i]
		named(&b.Name)
		b.Error, b.Stop = h.Text(b.Error), h.Text(b.Stop)
	}
	for i := range d.Why {
		named(&d.Why[i].Name)
	}
	for i, note := range d.Notes {
		d.Notes[i] = h.Text(note)
	}
	if h.N == n {
		return text, nil
	}
	return json.Marshal(d)
}

// readDuel reads the duel of a recording, which has none when it is nil.
func readDuel(r *Recording) (*Duel, error) {
	text, err := r.File(duelFile, maxDuel)
	if err != nil || text == nil {
		return nil, err
	}
	d := &Duel{}
	if err := json.Unmarshal(text, d); err != nil {
		return nil, fmt.Errorf("%s: reading %s: %w", r.Ref, duelFile, err)
	}
	whole := d.Why[:0]
	for i, w := range d.Why {
		for _, of := range []struct {
			side string
			to   **profile.Profile
		}{{"old", &w.Old}, {"new", &w.New}} {
			file := whyFile(i, of.side)
			read, err := r.parse(file)
			if err == nil {
				err = read.Damage
			}
			switch {
			case err == nil:
				*of.to = read
			case errors.Is(err, fs.ErrNotExist):
				d.Notes = append(d.Notes, "the recording lacks "+file)
			default:
				d.Notes = append(d.Notes, fmt.Sprintf("%s is damaged (%v) and left out", file, err))
			}
		}
		if w.Old != nil && w.New != nil {
			whole = append(whole, w)
		}
	}
	d.Why = whole
	return d, nil
}
