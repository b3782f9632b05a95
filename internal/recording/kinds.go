package recording

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/bench"
	"github.com/hone-perf/hone/internal/cache"
	"github.com/hone-perf/hone/internal/gclog"
	"github.com/hone-perf/hone/internal/latency"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/secret"
)

// A FileKind is a kind of file in recordings. The table of kinds has everything about it: how to read it, what remains after hone merge --strip,
// how to find secrets in it, and whether it has text.
type FileKind struct {
	Name string // in sessions of hone web; "" when it is not something to look at
	Doc  string // what there is one of, in messages

	file string                 // its name, or else
	is   func(name string) bool // whether a name is of this kind

	read  func(r *Recording) (any, error)
	alone func(in io.Reader, name string) (any, error) // reads a file that is nothing else; nil where there are none
	there func(v any) bool                             // whether it is not nil
	some  func(v any) bool                             // whether there is something to look at in what was read
	soft  bool                                         // if it is damaged, the recording counts as one without it, unless it is requested alone

	strip   func(text []byte, main string) ([]byte, error) // leaves out words; nil is for a kind that is left out as a whole
	missed  bool                                           // a note says that it was left out
	hide    func(text []byte, h *secret.Hider) ([]byte, error)
	hideBig func(file string, h *secret.Hider) error // in place of hide, for a file that may be too large for memory
	plain   bool                                     // it cannot have secrets
	early   int                                      // files with a higher number are searched first: they name secrets that others contain
	quiet   bool                                     // it has no text, or its text is listed elsewhere
	profile bool
}

// A Kind is a kind of part that is a *T when it is read.
type Kind[T any] struct{ *FileKind }

// The kinds of parts that are no profiles.
var (
	Metrics = kindOf(FileKind{
		Name: "metrics", Doc: "metrics over time", file: MetricsFile, soft: true,
		strip: stripMetrics, plain: true, quiet: true,
	}, readSeries, func(s *Series) bool { return len(s.Times) > 0 })

	GC = kindOf(FileKind{
		Name: "gc", Doc: "garbage collector log", file: GCFile,
		strip: stripLines(gcLine), plain: true, quiet: true,
		alone: alone(func(in io.Reader, name string) (*gclog.Log, error) {
			l, err := gclog.Parse(in)
			if err != nil {
				return nil, fmt.Errorf("reading %s: %w", name, err)
			}
			return l, nil
		}),
	}, readGC, func(l *gclog.Log) bool { return len(l.Cycles) > 0 })

	Versions = kindOf(FileKind{
		Name: "compare", Doc: "comparison of versions", file: duelFile,
		strip: stripDuel, hide: hideDuel,
	}, readDuel, func(*Duel) bool { return true })

	Benchmarks = kindOf(FileKind{
		Name: "bench", Doc: "benchmark line", file: BenchFile,
		strip: stripLines(benchLine), alone: alone(bench.Open),
	}, readBench, func(f *bench.File) bool { return len(f.Results) > 0 })

	LoadRun = kindOf(FileKind{
		Name: "load", Doc: "load run", file: LoadFile,
		strip: stripLoad, hide: hideLoad,
	}, readLoad, func(*latency.Log) bool { return true })
)

// FileKinds is the table of all kinds, those to look at first. The first one that fits a file is its kind.
var FileKinds = []*FileKind{
	Metrics.FileKind, GC.FileKind, Versions.FileKind, Benchmarks.FileKind, LoadRun.FileKind, MachineCode.FileKind,
	{is: isProfile, strip: StripProfile, hide: hideProfile, early: 3, profile: true},
	{is: func(name string) bool { return strings.HasSuffix(name, profileEnding) }, hide: hideProfile, early: 3, profile: true}, // with a name that says nothing
	Execution.FileKind,
	{file: OutputFile, hide: hideText, early: 1},
	{file: CrashFile, hide: hideText, early: 1},
	{file: SourceIndex, plain: true, quiet: true},
	{is: func(name string) bool { return path.Dir(name) == SourcesDir }, quiet: true},
	{is: func(string) bool { return true }}, // as DiffFile, and what later versions add
}

// alone reads a file that is a part.
func alone[T any](read func(in io.Reader, name string) (*T, error)) func(io.Reader, string) (any, error) {
	return func(in io.Reader, name string) (any, error) { return read(in, name) }
}

func kindOf[T any](k FileKind, read func(r *Recording) (*T, error), some func(*T) bool) Kind[T] {
	k.read = func(r *Recording) (any, error) { return read(r) }
	k.there = func(v any) bool { return v.(*T) != nil }
	k.some = func(v any) bool { return v.(*T) != nil && some(v.(*T)) }
	return Kind[T]{&k}
}

// kindOfFile returns the kind of a file of a recording that is not its manifest.
func kindOfFile(name string) *FileKind {
	for _, k := range FileKinds {
		if k.file == name || k.is != nil && k.is(name) {
			return k
		}
	}
	panic("the last kind is for all files")
}

func isProfile(name string) bool {
	_, ok := parsePart(name)
	return ok || whyName().MatchString(name)
}

func isTrace(name string) bool { return name == TraceFile || path.Dir(name) == FlightDir }

// Of returns a recording with one part only.
func (k Kind[T]) Of(ref string, v *T) *Recording {
	return (&Recording{Ref: ref, given: map[*FileKind]any{k.FileKind: v}}).Numbered()
}

// Read returns the part of a recording, which is nil when there is none. It is read once.
func (k Kind[T]) Read(r *Recording) (*T, error) {
	v, err := k.FileKind.of(r)
	if err != nil || v == nil {
		return nil, err
	}
	return v.(*T), nil
}

// In returns the part of a recording, or nil when there is none that can be read.
func (k Kind[T]) In(r *Recording) *T {
	v, _ := k.Read(r)
	return v
}

// Has reports whether a recording has a part of this kind that there is something to look at in.
func (k *FileKind) Has(r *Recording) bool {
	v, err := k.of(r)
	return err == nil && v != nil && k.some(v)
}

// There reports whether a recording has a part of this kind, as far as it can be read.
func (k *FileKind) There(r *Recording) (bool, error) {
	v, err := k.of(r)
	return err == nil && v != nil && k.there(v), err
}

// Alone reports whether there are files that are such a part and nothing else.
func (k *FileKind) Alone() bool { return k.alone != nil }

// ReadAlone reads such a file. Name is that of the recording that is made of it; of standard input it is -.
func (k *FileKind) ReadAlone(name string, in io.Reader) (*Recording, error) {
	called := name
	if name == "-" && k == Benchmarks.FileKind {
		called = "standard input"
	}
	v, err := k.alone(in, called)
	if err != nil {
		return nil, err
	}
	return (&Recording{Ref: name, given: map[*FileKind]any{k: v}, read: cache.New[string, *profile.Profile](maxKept, nil)}).Numbered(), nil
}

func (k *FileKind) of(r *Recording) (any, error) {
	if v, ok := r.given[k]; ok || r.files == nil || k.read == nil {
		return v, nil
	}
	return r.parts.Do(k.key(r), func() (any, error) { return k.read(r) })
}

// key is the name under which the part of a recording is kept.
func (k *FileKind) key(r *Recording) string {
	key := cmp.Or(k.file, k.Name)
	if k.Name == traceKind {
		key += " " + r.trace
	}
	return key
}

// Only returns a recording in which there is nothing beside its profile but what is of some kinds: of profiles, or names of FileKinds.
func (r *Recording) Only(kinds ...string) *Recording {
	out := *r
	out.Parts = make(map[string][]Part)
	for kind, parts := range r.Parts {
		if slices.Contains(kinds, kind) {
			out.Parts[kind] = parts
		}
	}
	out.given = maps.Clone(r.given)
	if out.given == nil {
		out.given = make(map[*FileKind]any)
	}
	for _, k := range FileKinds {
		if k.Name != "" && !slices.Contains(kinds, k.Name) {
			out.given[k] = nil
		}
	}
	return &out
}

// Check reads all parts except profiles, and returns what is wrong with them.
func (r *Recording) Check() error {
	for _, k := range FileKinds {
		if k.soft {
			continue
		}
		if _, err := k.of(r); err != nil {
			return err
		}
	}
	return nil
}
