package capture

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/secret"
	"github.com/hone-perf/hone/internal/source"
	"github.com/hone-perf/hone/internal/source/objfile"
)

// A Server is asked for its profiles.
type Server struct {
	Target string         // host:port or URL
	Ask    source.Options // how to ask
}

// ErrNoProfiles is that a server has no profiles where they usually are.
var ErrNoProfiles = errors.New("no Go profiles there")

// usualFor is how long a server is recorded when nothing is said.
const usualFor = 30 * time.Second

// longest is how long a server is recorded while something else is done, which says when it is over.
const longest = 24 * time.Hour

// fetched is the recording of a server.
type fetched struct {
	*session
	lookout
	Server
	base  *url.URL // of its profiles, with a slash at the end
	start time.Time
}

// Fetch records a server: CPU profiles one after the other, and the others now and then. The context ends it early.
func Fetch(ctx context.Context, opt Options, from Server) (*Recorded, error) {
	f := &fetched{session: opt.session(), Server: from}
	f.lookFor(&f.Options)
	f.For = cmp.Or(f.For, usualFor)
	if f.While != nil {
		f.For = longest
	}
	f.manifest.How, f.manifest.Target, f.manifest.Dir = recording.Fetched, from.Target, opt.Dir
	f.say("looking for profiles at " + f.asked())
	kinds, err := f.find(ctx)
	if err != nil {
		return nil, err
	}
	if err := f.begin(serverName(f.base)); err != nil {
		return nil, err
	}
	f.start = time.Now()
	f.zero = f.start
	f.manifest.Target = f.base.String()
	if line, err := f.Ask.Get(ctx, f.at("cmdline"), shortPatience); err == nil && len(line) > 0 {
		f.manifest.Command = strings.Split(strings.TrimRight(string(line), "\x00"), "\x00")
	}
	if err := f.writeManifest(); err != nil {
		f.discard()
		return nil, fmt.Errorf("writing %s: %w", f.folder, err)
	}
	if f.While == nil {
		f.say("recording for " + f.For.String())
	}
	whileErr := f.record(ctx, kinds)
	f.keepLoad()
	f.manifest.Ended = f.Now()
	f.manifest.Usage = &recording.Usage{Real: time.Since(f.start)}
	rec, err := recording.Open(f.folder)
	if err == nil {
		defer rec.Close()
		if len(rec.Parts) == 0 {
			why := errors.New("it gave no profile")
			if len(f.manifest.Notes) > 0 {
				why = errors.New(f.manifest.Notes[0])
			}
			rec.Close()
			f.discard()
			return nil, fmt.Errorf("%s: %w", f.base.Redacted(), why)
		}
		f.manifest.Program = programOf(rec)
		f.keepSources(rec, nil)
		f.keepCode(rec, codeOpener{open: objfile.Open, far: true})
	}
	out, err := f.pack()
	out.Name = f.asked()
	return out, errors.Join(whileErr, err)
}

// asked is how the server is called to the user, whose terminal may be that of a build that everybody can look at.
func (f *fetched) asked() string { return new(secret.Hider).URL(f.Server.Target) }

const shortPatience = 15 * time.Second

// serverName makes a name for a recording of a server.
func serverName(u *url.URL) string {
	return strings.NewReplacer(":", "-", "[", "", "]", "").Replace(u.Host)
}

// usualPlaces are where Go servers have their profiles, below what the user named.
var usualPlaces = []string{"debug/pprof/", "pprof/", "", "-/debug/pprof/", "debug/"}

// at returns the address of a profile.
func (f *fetched) at(kind string) *url.URL {
	u := *f.base
	u.Path += kind
	return &u
}

// find finds where the profiles are, and returns which there are.
func (f *fetched) find(ctx context.Context) ([]string, error) {
	target := f.Target
	if !strings.Contains(target, "://") {
		target = "http://" + target
	}
	u, err := url.Parse(target)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("%s is not an address of a server", f.asked())
	}
	u.RawQuery, u.Fragment = "", ""
	if before, _, ok := strings.Cut(u.Path, "/debug/pprof"); ok {
		u.Path = before // the user may have named one of them
	}
	u.Path = strings.TrimSuffix(u.Path, "/") + "/"
	var last error
	for _, place := range usualPlaces {
		base := *u
		base.Path += place
		f.base = &base
		index, err := f.Ask.Get(ctx, &base, shortPatience)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(err, syscall.ECONNREFUSED):
			return nil, fmt.Errorf("%s: %w", f.asked(), syscall.ECONNREFUSED)
		case err == nil:
			if kinds := kindsIn(index); len(kinds) > 0 {
				return kinds, nil
			}
		default:
			var asking *url.Error
			if errors.As(err, &asking) {
				return nil, err // another place will not help
			}
			last = err
		}
		// Some routers have the profiles, but not the page that lists them.
		probe := f.at("goroutine")
		probe.RawQuery = "debug=1"
		if text, err := f.Ask.Get(ctx, probe, shortPatience); err == nil && bytes.HasPrefix(text, []byte("goroutine profile: total ")) {
			return snapshots, nil
		}
	}
	if last != nil {
		return nil, fmt.Errorf("%s: %w: %v", f.asked(), ErrNoProfiles, last)
	}
	return nil, fmt.Errorf("%s: %w", f.asked(), ErrNoProfiles)
}

// snapshots are the kinds of profiles that a server gives at once.
var snapshots = []string{recording.Heap, recording.Goroutine, recording.Block, recording.Mutex, recording.ThreadCreate}

// kindsIn returns the kinds of profiles that the index page of net/http/pprof lists.
func kindsIn(index []byte) []string {
	if !bytes.Contains(index, []byte("goroutine?debug=")) {
		return nil
	}
	var out []string
	for _, k := range append(slices.Clone(snapshots), recording.Leaks) {
		if bytes.Contains(index, []byte(k+"?debug=")) {
			out = append(out, k)
		}
	}
	return out
}

// record asks until the time is over, or what is done meanwhile.
func (f *fetched) record(ctx context.Context, kinds []string) (whileErr error) {
	ctx, stop := context.WithTimeout(ctx, f.For)
	defer stop()
	var all sync.WaitGroup
	if f.While != nil {
		whole := ctx
		all.Go(func() {
			f.load, whileErr = f.While(whole)
			stop()
		})
	}
	var notes said
	pieces := make(chan piece, 16)
	all.Go(func() {
		defer close(pieces)
		f.cpu(ctx, pieces, &notes)
	})
	all.Go(func() {
		g := gauge{fetched: f}
		g.run(context.WithoutCancel(ctx), pieces, &notes, func() { f.snapshot(ctx, kinds, &notes) })
	})
	if f.Trace {
		all.Go(func() { f.trace(ctx, &notes) })
	}
	all.Go(func() {
		for n := 0; ; n++ {
			f.snapshot(ctx, kinds, &notes)
			select {
			case <-ctx.Done():
				return
			case <-time.After(time.Until(f.start.Add(time.Duration(n+1) * f.Every))):
			}
		}
	})
	all.Wait()
	f.last(context.WithoutCancel(ctx), kinds, &notes)
	f.manifest.Notes = append(f.manifest.Notes, notes.all()...)
	f.finishLookout(&f.lookout)
	return whileErr
}

// said are notes, each once, with how often.
type said struct {
	mu    sync.Mutex
	texts []string
	times map[string]int
}

func (s *said) note(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.times == nil {
		s.times = map[string]int{}
	}
	if s.times[text]++; s.times[text] == 1 {
		s.texts = append(s.texts, text)
	}
}

func (s *said) all() []string {
	for i, t := range s.texts {
		if n := s.times[t]; n > 1 {
			s.texts[i] = fmt.Sprintf("%s (%d times)", t, n)
		}
	}
	return s.texts
}

// length is how long a CPU profile is.
func (f *fetched) length() time.Duration {
	if f.For > 2*time.Minute && f.While == nil {
		return 5 * time.Second
	}
	return time.Second
}

// cpu takes CPU profiles one after the other.
func (f *fetched) cpu(ctx context.Context, pieces chan<- piece, notes *said) {
	length := f.length()
	for ctx.Err() == nil {
		left := f.For - time.Since(f.start)
		if left < length/2 {
			return
		}
		u := f.at("profile")
		u.RawQuery = "seconds=" + strconv.Itoa(int(length.Seconds()))
		from := time.Since(f.start)
		// The last one may end a little late.
		text, err := f.Ask.Get(context.WithoutCancel(ctx), u, 3*length+shortPatience)
		to := time.Since(f.start)
		var p *profile.Profile
		if err == nil {
			p, err = f.keep(recording.CPU, from, to, text)
		}
		pieces <- piece{from, to, p}
		if err != nil {
			notes.note(whyNoCPU(err))
			if errors.Is(err, syscall.ECONNREFUSED) {
				return
			}
			sleep(ctx, length)
		}
	}
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// whyNoCPU says why there is no CPU profile, and what to do about it.
func whyNoCPU(err error) string {
	text := err.Error()
	switch {
	case strings.Contains(text, "already in use"):
		return "the server was already taking a CPU profile for another client: only one can run at a time, so record again later"
	case strings.Contains(text, "WriteTimeout"):
		return "the server gives up before a CPU profile is complete because its http.Server has a short WriteTimeout: serve /debug/pprof with another http.Server without one"
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return "the server closed the connection before a CPU profile was complete, as with a short WriteTimeout: serve /debug/pprof with another http.Server without one"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the server stopped before the end of the recording"
	case strings.Contains(text, "404"):
		return "the server has no CPU profile at /debug/pprof/profile: register pprof.Profile too"
	}
	return "no CPU profile: " + text
}

// trace gets an execution trace of the whole time.
func (f *fetched) trace(ctx context.Context, notes *said) {
	u := f.at("trace")
	u.RawQuery = "seconds=" + strconv.Itoa(max(1, int(f.For.Seconds())))
	text, err := f.Ask.Get(context.WithoutCancel(ctx), u, f.For+2*shortPatience)
	if err != nil {
		notes.note("no execution trace: " + err.Error())
		return
	}
	f.wrote(0, os.WriteFile(filepath.Join(f.folder, recording.TraceFile), text, 0o644))
}

// snapshot gets the profiles of a moment. What they count since the server started is there each time, so that any two
// tell what came between them; that is what the server would do when asked for a number of seconds.
//
// That of leaked goroutines makes the server collect its garbage, so only the last one has it.
func (f *fetched) snapshot(ctx context.Context, kinds []string, notes *said) {
	for _, kind := range kinds {
		if kind == recording.Leaks {
			continue
		}
		if _, more := f.get(ctx, f.at(kind), kind, notes); !more {
			return
		}
	}
}

// last gets the profiles of the end. They say what all of it added, and cannot be left out because time is over. A heap profile shows what was live
// at the last collection but one, so the server collects its garbage first, once: for the profile of leaked goroutines, or else for that of the heap.
func (f *fetched) last(ctx context.Context, kinds []string, notes *said) {
	collected := false
	if slices.Contains(kinds, recording.Leaks) {
		collected, _ = f.get(ctx, f.at(recording.Leaks), recording.Leaks, notes)
	}
	for _, kind := range kinds {
		if kind == recording.Leaks {
			continue
		}
		u := f.at(kind)
		if kind == recording.Heap && !collected {
			u.RawQuery = "gc=1"
		}
		if _, more := f.get(ctx, u, kind, notes); !more {
			return
		}
	}
}

// get gets a profile, and returns whether it did. more is that there is time for another one, and a server.
func (f *fetched) get(ctx context.Context, u *url.URL, kind string, notes *said) (got, more bool) {
	if ctx.Err() != nil {
		return false, false
	}
	text, err := f.Ask.Get(ctx, u, shortPatience)
	if err == nil {
		at := time.Since(f.start)
		_, err = f.keep(kind, at, at, text)
	}
	switch {
	case ctx.Err() != nil, errors.Is(err, syscall.ECONNREFUSED):
		return false, false // cpu says so
	case err != nil:
		notes.note("no " + kind + " profile: " + err.Error())
	}
	return err == nil, true
}

// keep writes a profile, unless it is none.
func (f *fetched) keep(kind string, from, to time.Duration, text []byte) (*profile.Profile, error) {
	p, err := profile.Parse(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("what the server sent is not a profile: %w", err)
	}
	name := filepath.Join(f.folder, filepath.FromSlash(recording.PartFile(kind, from, to)))
	if err := f.write(name, text); err != nil {
		return nil, err
	}
	f.add(name, from, to)
	return p, nil
}

// programOf says what profiles say about the program.
func programOf(rec *recording.Recording) *recording.Program {
	picked, _, err := rec.Pick("", 0, 0)
	if err != nil {
		return nil
	}
	for _, m := range picked.Profile.Mappings {
		if m.File != "" && !strings.HasPrefix(m.File, "[") {
			return &recording.Program{Path: m.File, BuildID: m.Build()}
		}
	}
	return nil
}
