package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/build"
	"go/parser"
	"go/token"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/open"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/source"
)

// sourceNames are the flags that control where profiles and names of functions come from.
var sourceNames = []string{"binary", "symbolize", lengthFlag, "timeout", "tls-cert", "tls-key", "tls-ca"}

// symbolizers are the ways to find the functions of addresses. Colons combine them.
var symbolizers = []string{"none", "local", "fastlocal", "remote", "force"}

// sourceFlags adds the flags that control where profiles come from.
func sourceFlags(cmd *cobra.Command) *source.Options {
	o := &source.Options{}
	f := cmd.Flags()
	f.StringVar(&o.Binary, "binary", "", "symbolize addresses with the profiled program in `FILE`")
	f.Var(&symbolizeFlag{&o.Symbolize}, "symbolize", "how to symbolize addresses: none, local, remote, force")
	f.Var(&secondsFlag{&o.Duration}, lengthFlag, "how long to profile a server, such as 30 or 2m")
	formerly(f, lengthFlag, "seconds")
	f.Var(&secondsFlag{&o.Timeout}, "timeout", "how long to wait for a server")
	f.StringVar(&o.TLSCert, "tls-cert", "", "present the client certificate in `FILE`")
	f.StringVar(&o.TLSKey, "tls-key", "", "private key of the client certificate, in `FILE`")
	f.StringVar(&o.TLSCA, "tls-ca", "", "trust the certificate authorities in `FILE`")
	return o
}

// A secondsFlag is a duration: a number of seconds, or a number with a unit.
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

// A symbolizeFlag is a list of symbolizers.
type symbolizeFlag struct{ s *string }

func (f *symbolizeFlag) Set(text string) error {
	for part := range strings.SplitSeq(text, ":") {
		if !slices.Contains(symbolizers, part) && !strings.HasPrefix(part, "demangle=") {
			return fmt.Errorf("want one or more of %s, separated by colons", strings.Join(symbolizers, ", "))
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

// recordings opens the refs and the base of a query. It returns the query with the metric replaced by the name of a sample type.
func recordings(cmd *cobra.Command, sys *System, o *source.Options, q query.Query) ([]*recording.Recording, query.Query, error) {
	opened, err := openProfiles(cmd, sys, o, q.Refs, open.Want{Base: q.Base, Metric: q.Metric, At: q.At, SourcePath: q.SourcePath, TrimPath: q.TrimPath})
	if err != nil {
		return nil, q, orPackage(cmd.Context(), err)
	}
	q.Metric = opened.Metric
	return opened.Recordings, q, nil
}

// openProfiles opens the profiles that refs name, and shows progress.
func openProfiles(cmd *cobra.Command, sys *System, o *source.Options, refs []string, w open.Want) (*open.Opened, error) {
	progress := &progress{sys: sys, start: time.Now()}
	defer progress.clear()
	w.Source, w.Dir = *o, sys.Dir
	w.Source.Stdin = sys.In
	w.Source.BinaryPath = filepath.SplitList(sys.Env("PPROF_BINARY_PATH"))
	w.Source.Say = func(msg string) {
		progress.clear()
		note(sys, "%s", strings.TrimSuffix(msg, "\n"))
	}
	w.Source.Absent = func(programs []string) {
		progress.clear()
		noteAbsent(sys, programs)
	}
	if o.Kind == recording.Goroutine || o.Kind == recording.Held {
		w.Kind = o.Kind
	}
	w.Begin = func(files int) {
		if progress.total = 0; files > 1 && width(sys.Err) > 0 {
			progress.total = files
		}
	}
	w.Progress = progress.show
	// A folder may have other files than profiles, but a file that the user named should be a profile.
	w.Missing = func(_ string, named bool) { sys.partial = sys.partial || named }
	opened, err := open.Open(cmd.Context(), refs, w)
	if err != nil {
		return nil, err
	}
	sys.partial = sys.partial || opened.Damaged
	return opened, nil
}

// openPart opens a recording, or a file, for one of its parts.
func openPart(ctx context.Context, sys *System, part *recording.FileKind, ref string) (*recording.Recording, query.Span, error) {
	opened, err := open.Open(ctx, []string{ref}, open.Want{Part: part, Lost: sys.sayLost, Source: source.Options{Stdin: sys.In}})
	if err != nil {
		return nil, query.Span{}, err
	}
	return opened.Recordings[0], opened.At, nil
}

// openWhole opens a recording with all its parts. It returns nil if ref is not a recording.
func openWhole(ctx context.Context, ref string) (*recording.Recording, query.Span, error) {
	opened, err := open.Open(ctx, []string{ref}, open.Want{Whole: true})
	var other *open.NotRecordingError
	switch {
	case errors.As(err, &other):
		return nil, query.Span{}, nil
	case err != nil:
		return nil, query.Span{}, err
	}
	return opened.Recordings[0], opened.At, nil
}

// openHints words an error of package open for the command line, with the next step.
func openHints(err error) error {
	var noName *open.NoNameError
	var noFile *open.NoFileError
	var noMatch *source.NoMatchError
	var timeless *open.TimelessError
	var refused *open.RefusedError
	var storedTime *open.StoredTimeError
	var storedPart *open.StoredPartError
	var status *source.StatusError
	var asked *url.Error
	var lines *open.LinesError
	var log *open.LogError
	var pick *open.PickError
	switch {
	case errors.As(err, &noName):
		return usagef("", "%w", err)
	case errors.As(err, &noFile) && isHost(noFile.Ref):
		return withHint(err, "the address of a server has its port, such as "+noFile.Ref+":6060")
	case errors.As(err, &noFile) && strings.Trim(noFile.Ref, "0123456789") == "":
		return withHint(err, hint.Option{Name: "limit", Value: noFile.Ref}, " sets how many rows are shown")
	case errors.As(err, &noMatch) && strings.Contains(noMatch.Pattern, "(*"):
		return withHint(err, "to find a function: ", hint.Option{Name: "focus", Value: noMatch.Pattern}, ", or ", hint.Ask("list", noMatch.Pattern, "FILE"))
	case errors.As(err, &noFile) && noFile.Near != "":
		return withHint(err, "did you mean "+noFile.Near+"?")
	case errors.As(err, &asked) && !strings.HasPrefix(asked.URL, "http://") && !strings.HasPrefix(asked.URL, "https://"):
		return withHint(err, "hone reads addresses that begin with http:// or https://")
	case errors.As(err, &status) && status.Code == http.StatusNotFound:
		return withHint(err, "the server has no profile at this path; it serves /debug/pprof/ when it imports net/http/pprof")
	case errors.As(err, &status) && (status.Code == http.StatusUnauthorized || status.Code == http.StatusForbidden):
		return withHint(err, "the server wants a login; save the profile with curl, and give hone the file")
	case errors.As(err, &timeless):
		return &usageError{err: withHint(err, hint.Option{Name: "at"}, " is for recordings, which have times")}
	case errors.As(err, &storedTime):
		return &usageError{err: withHint(err, hint.Option{Name: "at"}, " is for recordings; the time is a part of the ref here, such as ", quoted(source.StorePrefix+"api@-2h..-1h"))}
	case errors.As(err, &storedPart) && storedPart.Part == recording.Metrics.FileKind:
		return withHint(err, hint.Ask("services"), ", and the page of the service in the browser, show cores and memory over time")
	case errors.As(err, &storedPart):
		return withHint(err, hint.Ask("record", "URL"), " records a program with it, and ", hint.Ask("push"), " shares the recording")
	case errors.As(err, &refused):
		return withHint(err, "is the server running, and does it import net/http/pprof?")
	case errors.As(err, &lines) && len(lines.Refs) > 1:
		return withHint(err, "hone benchstat "+quotedRefs(lines.Refs)+" compares benchmarks")
	case errors.As(err, &lines):
		return withHint(err, "hone bench "+quoted(lines.Refs[0])+" shows the benchmarks in it; hone compare OLD NEW compares two such files")
	case errors.As(err, &log):
		return withHint(err, hint.Ask("gc", log.Ref), " shows the garbage collections in it")
	case errors.As(err, &pick):
		return insteadOf(pick.Recording, err)
	}
	return err
}

// orPackage is openHints for commands whose users may have meant a folder with a Go package.
func orPackage(ctx context.Context, err error) error {
	var none *open.ProfilesError
	if !errors.As(err, &none) || len(none.Refs) != 1 || ctx.Err() != nil {
		return openHints(err)
	}
	ref := none.Refs[0]
	switch _, modErr := os.Stat(filepath.Join(ref, "go.mod")); {
	case isPackage(ref):
		return withHint(fmt.Errorf("%s: this folder has a Go package but no profile", ref), recordPackage(ref)...)
	case modErr == nil:
		return withHint(fmt.Errorf("%s: this folder has a Go module but no profile", ref), hint.Ask("record", "./PACKAGE"), " records a program of it")
	case filepath.Ext(ref) == ".go" && open.Present(none.Refs) == nil:
		if is, err := parser.ParseFile(token.NewFileSet(), ref, nil, parser.PackageClauseOnly); err == nil && is.Name.Name != "main" {
			return withHint(fmt.Errorf("%s: this is a Go file, not a profile", ref), recordPackage(filepath.Dir(ref))...)
		}
		return withHint(fmt.Errorf("%s: this is a Go file, not a profile", ref), hint.Ask("record", asPackage(ref)), " records the program")
	}
	return openHints(err)
}

// recordPackage is a hint about how to record the Go package in a folder. A library has no program, but may have tests and benchmarks.
func recordPackage(dir string) hint.Text {
	record := hint.Ask("record", asPackage(dir))
	name, tests := packageIn(dir)
	benched := slices.ContainsFunc(tests, func(name string) bool {
		text, err := os.ReadFile(filepath.Join(dir, name))
		return err == nil && bytes.Contains(text, []byte("\nfunc Benchmark"))
	})
	switch {
	case name == "main" || name == "":
		return hint.Text{record, " records the program"}
	case benched:
		return hint.Text{record.With("test", "").With("bench", "."), " records its benchmarks"}
	case len(tests) > 0:
		return hint.Text{record.With("test", ""), " records its tests"}
	}
	return hint.Text{hint.Ask("record", "./PACKAGE"), " records a program that uses package ", name}
}

// packageIn returns the name of the package in a folder, and which of its files are tests, as far as they are built for this system.
// build.ImportDir, of which nothing else is needed, would add 0.1 MB to the program.
func packageIn(dir string) (name string, tests []string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		file := e.Name()
		if built, err := build.Default.MatchFile(dir, file); filepath.Ext(file) != ".go" || err != nil || !built {
			continue
		}
		is, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, file), nil, parser.PackageClauseOnly)
		test := strings.HasSuffix(file, "_test.go")
		if test {
			tests = append(tests, file)
		}
		if err == nil && name == "" {
			name = is.Name.Name
			if test {
				name = strings.TrimSuffix(name, "_test")
			}
		}
	}
	return name, tests
}

// asPackage returns a folder or file as an argument of the go command, which takes a name without ./ for an import path.
func asPackage(ref string) string {
	ref = filepath.ToSlash(ref)
	if filepath.IsAbs(ref) || strings.HasPrefix(ref, ".") {
		return ref
	}
	return "./" + ref
}

// isHost reports whether word is certainly a host name or address.
func isHost(word string) bool { return word == "localhost" || net.ParseIP(word) != nil }

// present returns an error if one of the files does not exist.
func present(refs []string) error { return openHints(open.Present(refs)) }

// noteAbsent prints why functions have no names.
func noteAbsent(sys *System, programs []string) {
	who := "the program is"
	switch more := len(programs) - 1; {
	case more > 0 && programs[0] != "":
		who = fmt.Sprintf("%s and %d more are", programs[0], more)
	case more > 0:
		who = "the program and its libraries are"
	case programs[0] != "":
		who = programs[0] + " is"
	}
	names := hint.SpellOption(sys.speller(), hint.Option{Name: "binary", Value: "FILE"})
	note(sys, "some functions have no names, because %s not on this machine: %s names the profiled program, PPROF_BINARY_PATH its folder", who, names)
}

// sayLost prints which parts of a recording could not be read, for answers that have no notes about it.
func (s *System) sayLost(rec *recording.Recording) {
	for _, n := range rec.Lost {
		s.partial = true
		note(s, "%s", n)
	}
}

// isProfile reports whether a file is a profile or a recording with one. It reads all of it, so it is for errors.
func isProfile(ctx context.Context, ref string) bool {
	if source.IsTrace(ref) {
		return false
	}
	opened, err := open.Open(ctx, []string{ref}, open.Want{Raw: true})
	if err != nil {
		return false
	}
	opened.Close()
	return true
}

// isBinary reports whether a file begins with bytes that are not text, like the gzip header of a profile.
func isBinary(name string) bool {
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 512)
	n, _ := f.ReadAt(head, 0)
	return bytes.HasPrefix(head[:n], []byte("\x1f\x8b")) || bytes.IndexByte(head[:n], 0) >= 0
}

// isPackage reports whether dir is a folder with Go files.
func isPackage(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && slices.ContainsFunc(entries, func(e os.DirEntry) bool { return strings.HasSuffix(e.Name(), ".go") })
}

// insteadOf adds the command that can show a recording without profiles.
func insteadOf(rec *recording.Recording, err error) error {
	if !errors.Is(err, recording.ErrNoProfile) {
		return err
	}
	switch show := firstView(rec); show {
	case "compare":
		return withHint(err, hint.Ask(show, rec.Ref), " shows the comparison in it")
	case "bench":
		return withHint(err, hint.Ask(show, rec.Ref), " shows the benchmarks in it")
	case "load":
		return withHint(err, hint.Ask(show, rec.Ref), " shows the load run in it")
	case "timeline":
		return withHint(err, hint.Ask(show, rec.Ref), " shows the run over time")
	}
	return err
}

// A progress shows how many of the profiles are open, once that takes a noticeable time. Goroutines that open profiles may use it at the same time.
type progress struct {
	sys   *System
	total int // 0 shows no progress
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
