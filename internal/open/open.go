// Package open turns what a user names into recordings, for all fronts.
//
// Open is told what is wanted of them: the profile that a question is about, as a sum where several are named; a part that is no profile; or
// the whole recording. It returns recordings and the question as it is meant for them. What goes wrong is an error of a type of its own, where
// a front may know the next step.
package open

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/filename"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/source"
	"github.com/hone-perf/hone/internal/source/gosrc"
)

// A Want is what to open of refs, and how. The zero Want is the default profile of a recording, and the sum of other profiles.
type Want struct {
	Whole bool                // whole recordings, and nothing else
	Part  *recording.FileKind // a part other than profiles, of a recording or in a file of its own

	Base   []string // refs of profiles to compare with
	Metric string   // selects a profile of a recording
	Kind   string   // kind of profile, if Metric is ""
	At     query.Span
	Raw    bool // keep the names of the file, and load no sources or machine code

	Source     source.Options
	Dir        string // folder where the search for sources begins
	SourcePath string // more folders with sources
	TrimPath   string // prefixes to remove from file names

	Lost     func(*recording.Recording)   // called for a recording with missing parts, unless notes of its profile report them; may be nil
	Begin    func(files int)              // called before reading several profiles, with their number; may be nil
	Progress func(done int)               // called with the number of profiles read so far; may be nil
	Missing  func(ref string, named bool) // called for each of several profiles that cannot be read; named if the user named the file; may be nil
}

// Opened is the result of Open: the recordings, and the base last.
type Opened struct {
	Recordings []*recording.Recording
	Metric     string     // sample type of the first recording for Want.Metric
	At         query.Span // time range of the ref, or of the Want
	Damaged    bool       // a part of the answer is missing

	first []*recording.Recording // recordings that were added up for the first one
}

// Open opens refs.
func Open(ctx context.Context, refs []string, w Want) (*Opened, error) {
	switch {
	case w.Part != nil:
		return w.part(ctx, refs)
	case w.Whole:
		return w.whole(ctx, refs)
	}
	return w.profiles(ctx, refs)
}

// Resolve returns the recordings with the profiles for a query, and the query with its metric replaced by a sample type.
func Resolve(in []*recording.Recording, q query.Query) ([]*recording.Recording, query.Query, error) {
	out := make([]*recording.Recording, len(in))
	metric := q.Metric
	for i, rec := range in {
		r, typ, err := rec.Pick(metric, q.At.From, q.At.To)
		if err != nil {
			return nil, q, err
		}
		if out[i] = r; i == 0 {
			q.Metric = typ
		}
	}
	return out, q, nil
}

// Lines opens a file of benchmark lines. It returns nil if ref is something else.
func Lines(ref string) (*recording.Recording, error) { return source.Bench(ref) }

func (w *Want) whole(ctx context.Context, refs []string) (*Opened, error) {
	out := &Opened{}
	for i, ref := range refs {
		rec, at, err := source.Recording(ctx, ref)
		if err == nil && rec == nil {
			err = &NotRecordingError{ref}
		}
		if err != nil {
			out.Close()
			return nil, err
		}
		if i == 0 {
			out.At = at
		}
		out.Recordings = append(out.Recordings, rec)
	}
	return out, nil
}

// profiles opens profiles and their base.
func (w *Want) profiles(ctx context.Context, refs []string) (*Opened, error) {
	out := &Opened{At: w.At}
	for _, group := range [][]string{refs, w.Base} {
		if len(group) == 0 {
			continue
		}
		r, typ, err := w.gather(ctx, group, out)
		if err != nil {
			return nil, err
		}
		if len(out.Recordings) == 0 {
			out.Metric = typ
		}
		if !w.Raw {
			p := r.Profile.WithShortNames()
			if p.NumSamples() == 0 {
				p = p.WithNote("the profile has no samples: record for longer, or put the program under load")
			}
			r = r.WithProfile(p, "")
		}
		out.Recordings = append(out.Recordings, r)
	}
	if w.Raw {
		return out, nil
	}
	first := *out.Recordings[0]
	first.Sources = recording.Either(first.Sources, w.Source.Sources(ctx, w.Dir, filepath.SplitList(w.SourcePath), filename.SplitList(w.TrimPath, runtime.GOOS), goVersion(out.first)))
	first.Code = w.Source.Code(out.first...)
	out.Recordings[0] = &first
	return out, nil
}

// goVersion returns the Go version of some recordings, or "" if it is unknown or differs.
func goVersion(of []*recording.Recording) string {
	version := ""
	for i, r := range of {
		built := builtWith(r)
		if built == "" || i > 0 && built != version {
			return ""
		}
		version = built
	}
	return version
}

// builtWith returns the Go version of a recording. A profile does not have it, but the path of its program names it if that is part of Go, as the
// compiler is.
func builtWith(r *recording.Recording) string {
	if r.Manifest != nil && r.Manifest.Program != nil {
		return r.Manifest.Program.Go
	}
	if r.Profile == nil || len(r.Profile.Mappings) == 0 {
		return ""
	}
	return gosrc.VersionOfTool(filename.Key(r.Profile.Mappings[0].File))
}

// gather returns the recording of refs with its profile selected, or the sum of several, and the sample type for the metric.
func (w *Want) gather(ctx context.Context, refs []string, out *Opened) (*recording.Recording, string, error) {
	var recorded []*recording.Recording
	var others []string
	typ := w.Metric
	for _, ref := range refs {
		if w.At != (query.Span{}) && source.IsStored(ref) {
			return nil, "", &StoredTimeError{ref}
		}
		r, when, err := source.Recording(ctx, ref)
		if err != nil {
			return nil, "", err
		}
		if r == nil {
			others = append(others, ref)
			continue
		}
		if when == (query.Span{}) {
			when = w.At
		}
		pick := w.Metric
		if pick == "" {
			pick = w.Kind
		}
		picked, t, err := r.Pick(pick, when.From, when.To)
		if err != nil {
			return nil, "", &PickError{r, err}
		}
		out.Damaged = out.Damaged || picked.Profile.Damage != nil
		typ = t
		recorded = append(recorded, picked)
	}
	if len(others) > 0 {
		if w.At != (query.Span{}) {
			if slices.ContainsFunc(others, func(ref string) bool { return !source.IsTrace(ref) }) {
				return nil, "", &TimelessError{Naming(others)}
			}
			w.Source.At = w.At
		}
		p, err := w.sum(ctx, others)
		if err != nil {
			return nil, "", &ProfilesError{refs, err}
		}
		out.Damaged = out.Damaged || p.Damage != nil
		one := (&recording.Recording{Ref: Naming(others)}).Numbered()
		if len(others) == 1 && source.IsTrace(others[0]) {
			if one, _, err = w.partIn(ctx, recording.Execution.FileKind, others[0]); err != nil {
				return nil, "", err
			}
			if _, err := one.TraceAt(w.At.From, w.At.To); err != nil {
				return nil, "", fmt.Errorf("%s: %w", others[0], err)
			}
		}
		recorded = append(recorded, one.WithProfile(p, ""))
	}
	if len(out.Recordings) == 0 {
		out.first = recorded
	}
	if len(recorded) == 1 {
		return recorded[0], typ, nil
	}
	var sum profile.Merger
	var sources []recording.Sources
	for _, r := range recorded {
		if err := sum.Add(r.Profile); err != nil {
			return nil, "", fmt.Errorf("adding up %s: %w", Naming(refs), err)
		}
		sources = append(sources, r.Sources)
	}
	p, err := sum.Profile()
	if err != nil {
		return nil, "", fmt.Errorf("adding up %s: %w", Naming(refs), err)
	}
	return (&recording.Recording{Ref: Naming(refs), Profile: p, Load: recording.LoadOf(recorded...), Sources: recording.Either(sources...)}).Numbered(), typ, nil
}

// manySamples is the number of samples from which it is worth collecting garbage after reading.
const manySamples = 200_000

// sum returns the sum of the profiles of refs.
func (w *Want) sum(ctx context.Context, refs []string) (*profile.Profile, error) {
	if err := Present(refs); err != nil {
		return nil, err
	}
	named := refs
	opt := &w.Source
	refs, err := opt.Expand(refs)
	if err != nil {
		return nil, err
	}
	if len(refs) > 1 && opt.Binary == "" && source.IsBinary(refs[0]) {
		opt.Binary, refs = refs[0], refs[1:] // the program also helps to find sources
	}
	if w.Begin != nil {
		w.Begin(len(refs))
	}
	opt.Progress = w.Progress
	if len(refs) == 1 {
		// With one profile, its error is the answer.
		f, err := opt.Fetch(ctx, refs[0])
		if err != nil {
			return nil, orLines(refs, fetchError(refs[0], err))
		}
		g, err := opt.One(f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", refs[0], err)
		}
		p, err := opt.Finish(ctx, g)
		if err == nil && p.NumSamples() > manySamples {
			runtime.GC() // free the memory of reading for the answer
		}
		return p, err
	}
	say := func(msg string) {
		if opt.Say != nil {
			opt.Say(msg)
		}
	}
	var strangers []string // notes about files in a folder that are no profiles; if none is, they are not news
	opt.Missed = func(ref string, err error) {
		msg := fmt.Sprintf("%s: %v", ref, err)
		if !slices.Contains(named, ref) && profile.Unrecognized(err) {
			strangers = append(strangers, msg)
			return
		}
		say(msg)
	}
	g, err := opt.Gather(ctx, refs)
	if err != nil {
		return nil, fmt.Errorf("adding up %d profiles: %w", len(refs), err)
	}
	if len(strangers) == len(refs) {
		return nil, orLines(refs, fmt.Errorf("%s: none of the %d files is a profile", Naming(named), len(refs)))
	}
	for _, msg := range strangers {
		say(msg)
	}
	if g.N == 0 {
		return nil, orLines(refs, fmt.Errorf("none of %d profiles could be read", len(refs)))
	}
	p, err := opt.Finish(ctx, g)
	if err == nil && g.N < len(refs) {
		if w.Missing != nil {
			for _, ref := range g.Missing {
				w.Missing(ref, slices.Contains(named, ref))
			}
		}
		p = p.WithNote(fmt.Sprintf("%d of %d profiles could not be read and are left out", len(refs)-g.N, len(refs)))
	}
	return p, err
}

// part opens recordings, or files, for one part.
func (w *Want) part(ctx context.Context, refs []string) (*Opened, error) {
	out := &Opened{At: w.At}
	for i, ref := range refs {
		rec, at, err := w.partOf(ctx, ref)
		if err != nil {
			out.Close()
			return nil, err
		}
		if i == 0 && out.At == (query.Span{}) {
			out.At = at
		}
		out.Recordings = append(out.Recordings, rec)
	}
	return out, nil
}

func (w *Want) partOf(ctx context.Context, ref string) (*recording.Recording, query.Span, error) {
	return w.partIn(ctx, w.Part, ref)
}

func (w *Want) partIn(ctx context.Context, part *recording.FileKind, ref string) (*recording.Recording, query.Span, error) {
	if ref == "" {
		return nil, query.Span{}, &NoNameError{part}
	}
	if ref == "-" && part.Alone() {
		rec, err := part.ReadAlone(ref, w.Source.Stdin)
		return rec, query.Span{}, err
	}
	if source.IsStored(ref) {
		return nil, query.Span{}, &StoredPartError{ref, part}
	}
	rec, at, err := source.Recording(ctx, ref)
	if err != nil {
		return nil, at, err
	}
	if rec != nil {
		if w.Lost != nil {
			w.Lost(rec)
		}
		there, err := part.There(rec)
		if err == nil && !there {
			none := &NoPartError{Ref: ref, Part: part}
			if rec.Manifest != nil {
				none.How = rec.Manifest.How
			}
			err = none
		}
		if err != nil {
			rec.Close()
			return nil, at, err
		}
		return rec, at, nil
	}
	if !part.Alone() {
		return nil, at, &NotRecordingError{ref}
	}
	f, err := os.Open(ref)
	if errors.Is(err, fs.ErrNotExist) {
		err = NoFile(ref)
	}
	if err != nil {
		return nil, at, err
	}
	defer f.Close()
	if part == recording.GC.FileKind && IsProgram(f) {
		return nil, at, &ProgramError{ref}
	}
	rec, err = part.ReadAlone(ref, f)
	return rec, at, err
}

// Close closes the files of all recordings.
func (o *Opened) Close() {
	for _, r := range o.Recordings {
		r.Close()
	}
}

// Naming returns the meaning of refs for messages.
func Naming(refs []string) string {
	if len(refs) > 3 {
		return fmt.Sprintf("%d profiles", len(refs))
	}
	return strings.Join(refs, " ")
}
