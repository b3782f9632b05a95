package capture

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hone-perf/hone/internal/capture/agent"
	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/latency"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/safefile"
	"github.com/hone-perf/hone/internal/scratch"
	"github.com/hone-perf/hone/internal/source/objfile"
	"github.com/hone-perf/hone/internal/unit"
)

// Options say what to record and how. The zero value of each is the usual thing.
type Options struct {
	Out  string // the file to write; "" makes up a name from that of the program and the time
	Dir  string // current folder
	Hone string // version of hone

	Build   *Build   // build this and run it; nil runs Program as it is
	Program Program  // with Build, Args are the arguments alone
	Flags   []string // as the user gave them; only kept

	KeepSecrets bool // keep what looks like a password, a key or a token, in place of …

	For   time.Duration // after which the program is asked to end; 0 is never
	Every time.Duration // between two heap profiles; 0 is five seconds
	Trace bool          // write an execution trace, too

	Flight   time.Duration // keep so much of an execution trace, and write it in the end and when there is trouble
	When     []Condition   // trouble to look out for; with any, only the last of the run is kept, and what led up to it
	Window   time.Duration // how much is kept then; 0 is half a minute
	Cooldown time.Duration // of a condition that held; 0 is ten seconds
	Captures int           // how often trouble is looked at; 0 is five times

	// While is done while the program runs, which is asked to end when it returns; nil lets the program run to its end. Its
	// context ends when the program does. What it returns is kept in the recording.
	While func(ctx context.Context) (*latency.Log, error)

	Say     func(doing string)    // called with what is being done; may be nil
	Trouble func(recording.Event) // called when a condition holds while the program runs; may be nil
	Now     func() time.Time      // nil is time.Now
}

// Rates of the profiles that a program does not take by itself: what they cost stays below what can be measured.
const (
	blockRate     = 100 * time.Microsecond
	mutexFraction = 100
	usualEvery    = 5 * time.Second
)

// What looking out for trouble keeps.
const (
	usualWindow   = 30 * time.Second
	usualCooldown = 10 * time.Second
	usualCaptures = 5
)

// A Recorded is what came of it.
type Recorded struct {
	Name     string // of the program
	File     string // where the recording is: one file, or the folder when no file could be made of it
	Bytes    int64
	Code     int // exit code of the program
	Hidden   int // how many times there is … for what looks like a secret
	Manifest *recording.Manifest
}

// ErrExists is that there is something where the recording should go.
var ErrExists = errors.New("already exists")

// A session is a recording that is being made.
type session struct {
	Options
	folder   string
	manifest *recording.Manifest
	load     *latency.Log // what While returned; nil is nothing
	zero     time.Time    // when the clock of the recording began
	beside   beside       // what its recorder cannot know
	lost     int          // parts that its recorder could not write
	cut      bool         // it ended before its recorder did

	mu       sync.Mutex
	writeErr error // the first thing that could not be written
}

// Record runs a program and records it. When the program ran, what was recorded is returned, whatever err says.
func Record(ctx context.Context, opt Options) (*Recorded, error) {
	s := opt.session()
	work, err := scratch.Dir("record-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	s.manifest.How = recording.Ran
	s.manifest.Command = s.Program.Args
	s.manifest.Dir = s.Dir
	var of *built
	if s.Build != nil {
		if err := s.writable(); err != nil {
			return nil, err
		}
		s.say("building " + strings.Join(s.Build.Targets, " "))
		if of, err = s.Build.build(ctx, work); err != nil {
			return nil, err
		}
		of.tree = treeOf(ctx, of.dir) // before there are files of the recording in it
		s.manifest.How = recording.Built
		s.manifest.Command = append(append([]string{}, s.Build.Targets...), s.Program.Args...)
		if s.Program.Words != "" {
			s.manifest.Command = append(s.manifest.Command, s.Program.Words)
		}
		s.Program.Args = append([]string{of.file}, s.Program.Args...)
		if s.Build.Test {
			s.Program.Dir = of.dir
		}
	}
	file := s.Program.Args[0]
	if s.Program.Words != "" {
		s.Program.Args = shellArgs(ShellLine(file, s.Program.Words))
	}
	name := strings.TrimSuffix(filepath.Base(file), ".exe")
	if err := s.begin(name); err != nil {
		return nil, err
	}
	s.manifest.Machine = machine(self)
	s.manifest.Program = s.program(file, of)
	if of != nil {
		s.keepChanges(of.tree)
	}
	if err := s.writeManifest(); err != nil {
		s.discard() // the program has not run, and the folder would be in the way of the next try
		return nil, fmt.Errorf("writing %s: %w", s.folder, err)
	}
	end, runErr := s.run(ctx, of != nil)
	if end == nil {
		s.discard()
		return nil, runErr
	}
	s.finish(end, of)
	out, err := s.pack()
	out.Name, out.Code = name, codeOf(end.state)
	return out, errors.Join(runErr, err)
}

func (opt Options) session() *session {
	s := &session{Options: opt, manifest: &recording.Manifest{Format: recording.Format, Hone: opt.Hone, KeepSecrets: opt.KeepSecrets}}
	if s.Say == nil {
		s.Say = func(string) {}
	}
	if s.Now == nil {
		s.Now = time.Now
	}
	s.Every = cmp.Or(s.Every, usualEvery)
	s.Window, s.Cooldown = cmp.Or(s.Window, usualWindow), cmp.Or(s.Cooldown, usualCooldown)
	s.Captures = cmp.Or(s.Captures, usualCaptures)
	s.manifest.Lookout = lookoutOf(&s.Options)
	return s
}

func (s *session) say(doing string) { s.Say(doing) }

func (s *session) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.manifest.Notes = append(s.manifest.Notes, fmt.Sprintf(format, args...))
}

// begin makes the folder in which the recording is while it is being made.
func (s *session) begin(name string) error {
	chosen := s.Out == ""
	if chosen {
		s.Out = s.freeName(name)
	}
	if !filepath.IsAbs(s.Out) {
		s.Out = filepath.Join(s.Dir, s.Out)
	}
	if _, err := os.Lstat(s.Out); err == nil {
		return fmt.Errorf("%s: %w", s.shown(s.Out), ErrExists)
	}
	s.folder = s.Out + partSuffix
	err := os.Mkdir(s.folder, 0o700)
	for chosen && errors.Is(err, fs.ErrExist) { // another hone that began in the same second was quicker
		s.Out = filepath.Join(s.Dir, s.freeName(name))
		s.folder = s.Out + partSuffix
		err = os.Mkdir(s.folder, 0o700)
	}
	if errors.Is(err, fs.ErrExist) {
		return &PartError{s.shown(s.folder)}
	}
	if err != nil {
		return safefile.CannotWrite(s.shown(s.Out), filepath.Dir(s.shown(s.Out)), err)
	}
	if s.folder, err = filepath.Abs(s.folder); err != nil {
		return err
	}
	s.manifest.Started = s.Now()
	return nil
}

// writable says before a build, which may take minutes, why the recording could not be written after it.
func (s *session) writable() error {
	out, what := s.Out, "the recording"
	if out == "" {
		out = "x" // its name is chosen later
	} else {
		what = s.shown(out)
	}
	if !filepath.IsAbs(out) {
		out = filepath.Join(s.Dir, out)
	}
	if _, err := os.Lstat(out); err == nil && s.Out != "" {
		return fmt.Errorf("%s: %w", what, ErrExists)
	}
	if _, err := os.Lstat(out + partSuffix); err == nil && s.Out != "" {
		return &PartError{what + partSuffix}
	}
	dir, err := os.MkdirTemp(filepath.Dir(out), ".hone-*")
	if err != nil {
		return safefile.CannotWrite(what, s.shown(filepath.Dir(out)), err)
	}
	return os.Remove(dir)
}

// A PartError reports that there is a folder where the new recording should go while it is made. That folder is a recording, too.
type PartError struct{ Folder string }

func (e *PartError) Error() string {
	return fmt.Sprintf("%s: %v: another hone is writing it, or one that was killed left it behind", e.Folder, ErrExists)
}

func (e *PartError) Unwrap() error { return ErrExists }

// partSuffix is what the folder of an unfinished recording is called by.
const partSuffix = ".part"

// freeName returns a name for a recording that nothing has yet.
func (s *session) freeName(program string) string {
	base := program + "-" + s.Now().Format("20060102-150405")
	for i := 1; ; i++ {
		name := base + ".hone"
		if i > 1 {
			name = base + "-" + strconv.Itoa(i) + ".hone"
		}
		_, errFile := os.Lstat(filepath.Join(s.Dir, name))
		_, errFolder := os.Lstat(filepath.Join(s.Dir, name+partSuffix))
		if errFile != nil && errFolder != nil {
			return name
		}
	}
}

// shown is how a user would write a name.
func (s *session) shown(name string) string {
	if rel, err := filepath.Rel(s.Dir, name); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return name
}

// run runs the program, with the recorder inside or watched from outside.
func (s *session) run(ctx context.Context, inside bool) (*ending, error) {
	p := s.Program
	if p.Env == nil {
		p.Env = os.Environ()
	}
	p.Env = p.Env[:len(p.Env):len(p.Env)]
	if p.Dir == "" {
		p.Dir = s.Dir
	}
	if inside {
		set := agent.Settings{Dir: s.folder, Every: s.Every, Block: blockRate, Mutex: mutexFraction, Trace: s.Trace, Flight: s.Flight, Queue: s.While != nil}
		if len(s.When) > 0 {
			set.When, set.Window, set.Cool, set.Most = conditionsOf(s.When), s.Window, s.Cooldown, s.Captures
		}
		for _, e := range p.Env {
			if old, ok := strings.CutPrefix(e, "GODEBUG="); ok {
				set.GoDbug = &old
			}
		}
		p.Env = append(p.Env, agent.Env+"="+set.String())
	}
	gc, err := os.Create(filepath.Join(s.folder, recording.GCFile))
	if err != nil {
		return nil, err
	}
	defer gc.Close()
	var outs io.Writer
	if slices.ContainsFunc(p.Args, func(a string) bool { return strings.HasPrefix(a, "-test.bench") }) {
		lines, err := os.Create(filepath.Join(s.folder, recording.BenchFile))
		if err != nil {
			return nil, err
		}
		defer lines.Close()
		outs = &head{w: lines, rest: maxBenchLines, session: s}
	}
	tail := &tail{}
	outside := &watcher{session: s}
	outside.lookout.lookFor(&s.Options)
	beside := &besideWatcher{}
	w := watch{
		gctrace: true,
		plain:   gocmd.Is(p.Args[0]),
		kept:    func(line string) { s.wrote(io.WriteString(gc, line+"\n")) },
		errs:    tail,
		outs:    outs,
		limit:   s.For,
		started: func(proc *os.Process) {
			s.say("recording")
			s.zero = time.Now()
			if gocmd.Is(p.Args[0]) {
				s.note("garbage collections are not traced: %v", ErrGoCommand)
			}
			switch {
			case !inside:
				outside.start(ctx, proc.Pid)
			case asksPS:
				beside.start(ctx, proc.Pid)
			}
		},
	}
	var whileErr error
	if s.While != nil {
		w.while = func(over context.Context) { s.load, whileErr = s.While(over) }
	}
	oom := NewOOM()
	alive, gone := context.WithCancel(ctx)
	defer gone()
	var following sync.WaitGroup
	if inside && len(s.When) > 0 && s.Trouble != nil {
		following.Go(func() { s.follow(alive) })
	}
	end, err := run(ctx, p, w)
	gone()
	following.Wait()
	outside.stop()
	s.beside = beside.stop()
	if end == nil {
		return nil, err
	}
	err = errors.Join(whileErr, err)
	if !inside {
		s.finishLookout(&outside.lookout)
	}
	if !p.joint() { // else it has the output of the program, too, which may be anything
		s.wrote(0, writeNonEmpty(filepath.Join(s.folder, recording.OutputFile), tail.bytes()))
	}
	s.manifest.Ended = end.start.Add(end.real)
	s.manifest.Usage = &recording.Usage{User: end.state.UserTime(), System: end.state.SystemTime(), Real: end.real, MaxRSS: end.peak}
	outside.noteOthers(s.manifest.Usage)
	s.manifest.Exit = &recording.Exit{Code: codeOf(end.state), Signal: signalName(end.state), Asked: end.asked && signalName(end.state) == "SIGTERM"}
	s.manifest.Exit.Cause = s.cause(end, tail.bytes(), oom)
	return end, err
}

// wrote remembers that something could not be written.
func (s *session) wrote(_ int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil && s.writeErr == nil {
		s.writeErr = err
	}
}

// write writes a file of the recording, whole or not at all.
func (s *session) write(name string, text []byte) error {
	dir := filepath.Dir(name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	tmp := filepath.Join(dir, "."+filepath.Base(name))
	err := os.WriteFile(tmp, text, 0o644)
	if err == nil {
		err = os.Rename(tmp, name)
	}
	if err != nil {
		os.Remove(tmp)
	}
	return err
}

// maxBenchLines is how much of what a test binary writes is kept.
const maxBenchLines = 16 << 20

// A head is the beginning of a text. What cannot be written does not trouble the one who writes.
type head struct {
	w       io.Writer
	rest    int
	session *session
}

func (h *head) Write(b []byte) (int, error) {
	n := min(len(b), h.rest)
	h.rest -= n
	if n > 0 {
		h.session.wrote(h.w.Write(b[:n]))
	}
	return len(b), nil
}

func writeNonEmpty(name string, text []byte) error {
	if len(text) == 0 {
		return nil
	}
	return os.WriteFile(name, text, 0o644)
}

// A tail is the end of a text.
type tail struct{ buf []byte }

const tailSize = 64 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.buf = append(t.buf, b...)
	if len(t.buf) > 4*tailSize {
		t.buf = append(t.buf[:0], t.bytes()...)
	}
	return len(b), nil
}

func (t *tail) bytes() []byte { return t.buf[max(0, len(t.buf)-tailSize):] }

// An agentStatus is what the recorder inside says about itself.
type agentStatus struct {
	CPU      time.Duration `json:"cpu_ns"`
	Pauses   time.Duration `json:"pauses_ns"`
	Bytes    int64         `json:"bytes"`
	MaxProcs int           `json:"gomaxprocs"`
	Peak     int64         `json:"peak"`
	Cycle    int           `json:"cycle"` // of the collector, as of which there may be the one that it asked for
	Ended    bool          `json:"ended"`
	Start    int64         `json:"start"` // of its clock, nanoseconds since 1970
	Failed   int           `json:"failed"`
	Error    string        `json:"error"`
	Denied   bool          `json:"denied"` // for want of rights
	Since    time.Duration `json:"since"`  // when that began
	Missed   int           `json:"missed"`
	Blind    []int         `json:"blind"`
	Troubles []agent.Trouble
	Notes    []string `json:"notes"`
}

// finish adds to the recording what can only be known now.
func (s *session) finish(end *ending, of *built) {
	s.say("reading what was recorded")
	if of != nil {
		s.readStatus(end)
	}
	s.completeHeap()
	s.keepLoad()
	removeEmpty(filepath.Join(s.folder, recording.CrashFile))
	removeEmpty(filepath.Join(s.folder, recording.GCFile))
	removeEmpty(filepath.Join(s.folder, recording.BenchFile))
	if end.stopped.Load() {
		s.note("the program was asked to end after %s", s.For)
	}
	rec, err := recording.Open(s.folder)
	if s.cut {
		s.note("the program ended without warning, %s", missing(rec, end.start.Add(end.real).Sub(s.zero)))
	}
	if err == nil {
		defer rec.Close()
		if len(rec.Parts) == 0 && of != nil && s.lost == 0 {
			s.note("the program ended after %s, before anything could be recorded", unit.Time(end.real))
		}
		s.keepSources(rec, of)
		s.keepCode(rec, codeOpener{open: objfile.Open, own: of != nil})
	}
}

// readStatus takes over what the recorder inside says.
func (s *session) readStatus(end *ending) {
	text, err := os.ReadFile(filepath.Join(s.folder, agent.Status))
	os.Remove(filepath.Join(s.folder, agent.Status)) // which makes room for the manifest
	var status agentStatus
	if err != nil || json.Unmarshal(text, &status) != nil {
		return
	}
	if status.Start != 0 {
		s.zero = time.Unix(0, status.Start)
	}
	s.wrote(0, s.beside.add(s.folder, s.zero))
	m := s.manifest
	m.Recorder = &recording.Cost{CPU: status.CPU, Pauses: status.Pauses, Bytes: status.Bytes, Cycle: status.Cycle}
	m.Program.MaxProcs = status.MaxProcs
	if end.peak == 0 || status.Ended && status.Peak > 0 {
		m.Usage.MaxRSS = status.Peak // the system counts what hone had when it started the program, too
	}
	m.Notes = append(m.Notes, status.Notes...)
	if len(s.When) > 0 {
		s.troubles(status.Troubles, status.Missed, status.Blind)
	}
	switch {
	case status.Failed > 0:
		s.lost = status.Failed
		next := ""
		if status.Denied {
			next = "; if the program becomes another user, record it as that user"
		}
		s.note("%s of the recording could not be written, the first %s after the start: %s%s", parts(status.Failed), unit.Time(status.Since), status.Error, next)
	case !status.Ended && s.full() != nil:
		s.note("the recording ends before the program did: %s", s.full())
	case !status.Ended:
		s.cut = true
	}
}

// tick is how often the recorder writes.
const tick = time.Second

// missing says how much of a run its recording lacks at the end. The recorder writes each second, but not in a program that gets no time or no memory.
func missing(rec *recording.Recording, run time.Duration) string {
	last := time.Duration(0)
	if rec != nil {
		for _, parts := range rec.Parts {
			for _, p := range parts {
				last = max(last, p.To)
			}
		}
		if s := recording.Metrics.In(rec); s != nil {
			last = max(last, s.Times[len(s.Times)-1])
		}
	}
	if run-last <= tick*3/2 {
		return "so up to a second of it is missing at the end"
	}
	return fmt.Sprintf("and the last %s of its %s are missing: it kept its recorder from writing, as programs do that get no memory or no CPU time", unit.Time(run-last), unit.Time(run))
}

func parts(n int) string {
	if n == 1 {
		return "1 part"
	}
	return strconv.Itoa(n) + " parts"
}

// full tries whether a part of the usual size can be written, and returns why not.
func (s *session) full() error {
	f, err := os.CreateTemp(s.folder, ".room-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(make([]byte, 64<<10))
	return errors.Join(err, f.Close())
}

// keepLoad writes what came of a load run beside what the server left.
func (s *session) keepLoad() {
	if s.load == nil {
		return
	}
	s.load.Offset = s.load.Began.Sub(s.zero)
	s.wrote(0, recording.WriteLoad(s.folder, s.load))
}

func removeEmpty(name string) {
	if st, err := os.Stat(name); err == nil && st.Size() == 0 {
		os.Remove(name)
	}
}

func (s *session) writeManifest() error { return recording.WriteManifest(s.folder, s.manifest) }

// pack makes one file of the recording. When that is not possible, the folder stays.
func (s *session) pack() (*Recorded, error) {
	s.say("packing")
	out := &Recorded{File: s.shown(s.folder), Manifest: s.manifest}
	var err error
	if out.Hidden, err = recording.Pack(s.folder, s.Out, s.manifest); err != nil {
		return out, fmt.Errorf("packing the recording into one file: %w; its data is in the folder %s, which hone also reads", err, out.File)
	}
	out.File = s.shown(s.Out)
	if st, err := os.Stat(s.Out); err == nil {
		out.Bytes = st.Size()
	}
	if err := os.RemoveAll(s.folder); err != nil {
		return out, err
	}
	if s.writeErr != nil {
		return out, fmt.Errorf("writing a part of the recording: %w", s.writeErr)
	}
	return out, nil
}

// discard removes what there is of a recording of nothing.
func (s *session) discard() { os.RemoveAll(s.folder) }
