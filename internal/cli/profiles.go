package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/hone-perf/hone/internal/filename"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/source"
)

// sourceNames are the flags that say how profiles are got.
var sourceNames = []string{"binary", "symbolize", lengthFlag, "timeout", "tls-cert", "tls-key", "tls-ca"}

// symbolizers are the ways to name addresses. They can be combined with colons.
var symbolizers = []string{"none", "local", "fastlocal", "remote", "force"}

// sourceFlags adds the flags that say how profiles are got.
func sourceFlags(cmd *cobra.Command) *source.Options {
	o := &source.Options{}
	f := cmd.Flags()
	f.StringVar(&o.Binary, "binary", "", "program `FILE` that was profiled, to name addresses from")
	f.Var(&symbolizeFlag{&o.Symbolize}, "symbolize", "how to name addresses: none, local, remote, force")
	f.Var(&secondsFlag{&o.Duration}, lengthFlag, "how long a server shall record, such as 30 or 2m")
	formerly(f, lengthFlag, "seconds")
	f.Var(&secondsFlag{&o.Timeout}, "timeout", "how long to wait for a server")
	f.StringVar(&o.TLSCert, "tls-cert", "", "show the certificate in `FILE` to servers")
	f.StringVar(&o.TLSKey, "tls-key", "", "private key of the certificate, in `FILE`")
	f.StringVar(&o.TLSCA, "tls-ca", "", "trust the authorities in `FILE`")
	return o
}

// A secondsFlag is a time: a number of seconds, or one with a unit.
type secondsFlag struct{ d *time.Duration }

func (f *secondsFlag) Set(text string) error {
	d, err := time.ParseDuration(text)
	if n, intErr := strconv.ParseUint(text, 10, 31); intErr == nil {
		d, err = time.Duration(n)*time.Second, nil
	}
	if err != nil || d < time.Second {
		return errors.New("want a number of seconds, or a time such as 90s or 2m")
	}
	*f.d = d
	return nil
}

func (f *secondsFlag) String() string {
	if f.d == nil || *f.d == 0 {
		return ""
	}
	return f.d.String()
}

func (f *secondsFlag) Type() string { return "TIME" }

// A symbolizeFlag is ways to name addresses.
type symbolizeFlag struct{ s *string }

func (f *symbolizeFlag) Set(text string) error {
	for part := range strings.SplitSeq(text, ":") {
		if !slices.Contains(symbolizers, part) && !strings.HasPrefix(part, "demangle=") {
			return fmt.Errorf("want some of %s, joined by colons", strings.Join(symbolizers, ", "))
		}
	}
	*f.s = text
	return nil
}

func (f *symbolizeFlag) String() string {
	if f.s == nil {
		return ""
	}
	return *f.s
}

func (f *symbolizeFlag) Type() string { return "HOW" }

// manySamples make so much garbage while they are read that collecting it pays.
const manySamples = 200_000

// loadProfiles gets the sum of the profiles that refs name.
func loadProfiles(cmd *cobra.Command, sys *System, o *source.Options, refs []string) (*profile.Profile, error) {
	opt := *o
	opt.Stdin = sys.In
	opt.BinaryPath = filepath.SplitList(sys.Env("PPROF_BINARY_PATH"))
	if err := present(refs); err != nil {
		return nil, err
	}
	named := refs
	refs, err := opt.Expand(refs)
	if err != nil {
		return nil, err
	}
	if len(refs) > 1 && opt.Binary == "" && source.IsBinary(refs[0]) {
		opt.Binary, refs = refs[0], refs[1:]
		o.Binary = opt.Binary
	}
	progress := &progress{sys: sys, start: time.Now()}
	if len(refs) > 1 && width(sys.Err) > 0 {
		progress.total = len(refs)
	}
	opt.Progress = progress.show
	defer progress.clear()
	opt.Say = func(msg string) {
		progress.clear()
		note(sys, "%s", strings.TrimSuffix(msg, "\n"))
	}
	ctx := cmd.Context()
	if len(refs) == 1 {
		// The only one there is: what is wrong with it is the answer.
		f, err := opt.Fetch(ctx, refs[0])
		if err != nil {
			return nil, orBench(refs, fetchError(refs[0], err))
		}
		g, err := opt.One(f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", refs[0], err)
		}
		p, err := opt.Finish(ctx, g)
		if err == nil && p.NumSamples() > manySamples {
			runtime.GC() // what was only needed to read it is memory for the answer
		}
		return p, err
	}
	g, err := opt.Gather(ctx, refs)
	if err != nil {
		return nil, fmt.Errorf("adding up %d profiles: %w", len(refs), err)
	}
	if g.N == 0 {
		return nil, orBench(refs, fmt.Errorf("none of %d profiles could be read", len(refs)))
	}
	p, err := opt.Finish(ctx, g)
	if err == nil && g.N < len(refs) {
		// A folder may hold other things than profiles. What was named should have been one.
		sys.partial = sys.partial || slices.ContainsFunc(g.Missing, func(ref string) bool { return slices.Contains(named, ref) })
		p = p.WithNote(fmt.Sprintf("%d of %d profiles could not be read and are not in this answer", len(refs)-g.N, len(refs)))
	}
	return p, err
}

// fetchError says what is wrong with ref.
func fetchError(ref string, err error) error {
	var path *fs.PathError
	var addr *url.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return &hinted{fmt.Errorf("%s: connection refused", ref), "is the server running, and has it net/http/pprof?"}
	case errors.As(err, &path) && path.Path == ref, errors.As(err, &addr):
		return err // it says so itself
	case ref == "-":
		ref = "standard input"
	}
	return fmt.Errorf("%s: %w", ref, err)
}

// orBench says what shows a file that is no profile but holds benchmark lines.
func orBench(refs []string, err error) error {
	rec, benchErr := source.Bench(refs[0])
	if rec == nil || benchErr != nil {
		return err
	}
	hint := "hone bench " + quoted(refs[0]) + " shows the benchmarks in it"
	if len(refs) > 1 {
		hint = "hone benchstat " + quotedRefs(refs) + " compares benchmarks"
	}
	return &hinted{err, hint}
}

// present refuses files that are not there. Of many profiles one may be damaged or not answer, and the rest is still an
// answer; but a name that means nothing is a typo.
func present(refs []string) error {
	for _, ref := range refs {
		if ref == "" {
			return usagef("", "an empty name is not a profile")
		}
		if ref == "-" || strings.ContainsAny(ref, ":*?[") {
			continue
		}
		_, err := os.Stat(ref)
		if !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		err = fmt.Errorf("%s: no such file", ref)
		if near := nearestFile(ref); near != "" {
			err = &hinted{err, "did you mean " + near + "?"}
		}
		return err
	}
	return nil
}

// nearestFile returns the file that name was probably meant to be, or "".
func nearestFile(name string) string {
	entries, err := os.ReadDir(filepath.Dir(name))
	if err != nil {
		return ""
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	near := query.Nearest(filepath.Base(name), names)
	if near == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(name), near)
}

// recordings returns what a query is about, and its base. The metric of the query becomes a sample type of theirs.
func recordings(cmd *cobra.Command, sys *System, o *source.Options, q *query.Query) ([]*recording.Recording, error) {
	var in []*recording.Recording
	metric := q.Metric
	for _, refs := range [][]string{q.Refs, q.Base} {
		if len(refs) == 0 {
			continue
		}
		r, typ, err := gather(cmd, sys, o, refs, metric, q.At)
		if err != nil {
			return nil, err
		}
		if len(in) == 0 {
			q.Metric = typ
		}
		r.Profile = r.Profile.WithShortNames()
		if p := r.Profile; p.NumSamples() == 0 {
			r.Profile = p.WithNote("the profile has no samples: record for longer, or put the program under load")
		}
		in = append(in, r)
	}
	local := o.Sources(cmd.Context(), sys.Dir, filepath.SplitList(q.SourcePath), filename.SplitList(q.TrimPath, runtime.GOOS))
	in[0].Sources = recording.Either(in[0].Sources, local)
	in[0].Code = o.Code()
	return in, nil
}

// gather returns the recording that refs name with its profile picked, or the sum of what they name, and the sample
// type that metric means.
func gather(cmd *cobra.Command, sys *System, o *source.Options, refs []string, metric string, at query.Span) (*recording.Recording, string, error) {
	var recorded []*recording.Recording
	var others []string
	typ := metric
	for _, ref := range refs {
		r, when, err := source.Recording(ref)
		if err != nil {
			return nil, "", err
		}
		if r == nil {
			others = append(others, ref)
			continue
		}
		if when == (query.Span{}) {
			when = at
		}
		pick := metric
		if pick == "" && o.Goroutines {
			pick = recording.Goroutine
		}
		picked, t, err := r.Pick(pick, when.From, when.To)
		if err != nil {
			return nil, "", insteadOf(r, err)
		}
		sys.partial = sys.partial || picked.Profile.Damage != nil
		r, typ = picked, t
		recorded = append(recorded, r)
	}
	if len(others) > 0 {
		if at != (query.Span{}) {
			return nil, "", usagef("hone record makes recordings, which know when things happened", "%s is a profile, which has no times to pick with --at", naming(others))
		}
		p, err := loadProfiles(cmd, sys, o, others)
		if err != nil {
			if len(refs) == 1 && isPackage(refs[0]) && cmd.Context().Err() == nil {
				err = &hinted{fmt.Errorf("%s: there is a Go package in this folder, and no profile", refs[0]), "hone record " + quoted(refs[0]) + " records the program"}
			}
			return nil, "", err
		}
		recorded = append(recorded, &recording.Recording{Ref: naming(others), Profile: p})
	}
	if len(recorded) == 1 {
		return recorded[0], typ, nil
	}
	var sum profile.Merger
	var sources []recording.Sources
	for _, r := range recorded {
		if err := sum.Add(r.Profile); err != nil {
			return nil, "", fmt.Errorf("adding up %s: %w", naming(refs), err)
		}
		sources = append(sources, r.Sources)
	}
	p, err := sum.Profile()
	if err != nil {
		return nil, "", fmt.Errorf("adding up %s: %w", naming(refs), err)
	}
	return &recording.Recording{Ref: naming(refs), Profile: p, Sources: recording.Either(sources...)}, typ, nil
}

// sayLost says what of a recording could not be used, where the answer itself does not.
func (s *System) sayLost(rec *recording.Recording) {
	for _, n := range rec.Lost {
		s.partial = true
		note(s, "%s", n)
	}
}

// isPackage reports whether dir is a folder with Go files.
func isPackage(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && slices.ContainsFunc(entries, func(e os.DirEntry) bool { return strings.HasSuffix(e.Name(), ".go") })
}

// insteadOf says what shows a recording that has no profile.
func insteadOf(rec *recording.Recording, err error) error {
	if !errors.Is(err, recording.ErrNoProfile) {
		return err
	}
	switch ref := quoted(rec.Ref); firstView(rec) {
	case "compare":
		return &hinted{err, "hone compare " + ref + " shows the comparison in it"}
	case "bench":
		return &hinted{err, "hone bench " + ref + " shows the benchmarks in it"}
	case "load":
		return &hinted{err, "hone load " + ref + " shows the load run in it"}
	case "timeline":
		return &hinted{err, "hone timeline " + ref + " shows how the run went"}
	}
	return err
}

// naming names what refs stand for, in messages.
func naming(refs []string) string {
	if len(refs) > 3 {
		return fmt.Sprintf("%d profiles", len(refs))
	}
	return strings.Join(refs, " ")
}

// A progress shows how far reading many profiles has come, once that takes noticeable time. Those who read profiles at
// the same time may all have something to say.
type progress struct {
	sys   *System
	total int // 0 shows nothing
	start time.Time

	mu    sync.Mutex
	shown bool
}

func (p *progress) show(done int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.total > 0 && time.Since(p.start) > 300*time.Millisecond {
		p.shown = true
		fmt.Fprintf(p.sys.Err, "\rread %d of %d profiles", done, p.total)
	}
}

func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		p.shown = false
		fmt.Fprint(p.sys.Err, "\r\033[K")
	}
}
