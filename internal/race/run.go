package race

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/prove"
	"github.com/hone-perf/hone/internal/racelog"
	"github.com/hone-perf/hone/internal/report"
)

const (
	maxOutput   = 8 << 20
	maxLogs     = 64 << 20
	leastTime   = 5 * time.Second // that tests have; what still does something then gets twice as much the next time
	graceToEnd  = 10 * time.Second
	raceExit    = 66 // of a program in which races were found
	endingDelay = 50 // milliseconds that a program waits for reports that are being written
)

// A result is what one run left behind.
type result struct {
	log    racelog.Log // races from the log of the detector, crashes from what was printed
	output []byte
	code   int
	late   bool // it was ended
	took   time.Duration
}

// run runs a subject once, and returns how much of what it showed is new. Of a run that was interrupted, only what it showed counts.
func (s *Search) run(ctx context.Context, how How, left time.Duration) (fresh int, err error) {
	sub := s.subject[how.Subject]
	res, err := s.execute(ctx, sub, how, left)
	if res == nil || err != nil && len(res.log.Races)+len(res.log.Crashes) == 0 {
		return 0, err
	}
	s.out.Tried.Runs++
	s.how = append(s.how, how)
	number := len(s.how) - 1
	for _, r := range res.log.Races {
		if how.Calls && ofTests(&r, sub.dir) {
			continue
		}
		if s.groups.Add(r, number) {
			fresh++
		}
	}
	for i := range res.log.Crashes {
		if s.crashed(ctx, &res.log.Crashes[i], how) {
			fresh++
		}
	}
	for _, n := range res.log.Notes {
		s.note("%s", n)
	}
	if !slices.Contains(s.out.Tried.CPUs, how.CPU) {
		s.out.Tried.CPUs = append(s.out.Tried.CPUs, how.CPU)
	}
	if err != nil {
		if sub.program {
			s.out.Tried.Programs++
		}
		return fresh, err
	}
	switch {
	case how.Calls:
		err = s.goOn(ctx, sub)
	case how.Replay:
		s.counted(sub, res)
	case sub.program:
		s.out.Tried.Programs++
		s.ended(sub, res)
	default:
		s.out.Tried.Tests += sub.tests
		s.tested(sub, res)
	}
	if !slices.ContainsFunc(res.log.Crashes, func(c racelog.Crash) bool { return c.Kind == racelog.Timeout }) {
		sub.slow = max(sub.slow, res.took)
	}
	return fresh, err
}

// mostRebuilt is how often calls that do not return are left out, before all calls are.
const mostRebuilt = 4

// goOn builds a subject anew without the calls that did not return, so that the others have their turn.
func (s *Search) goOn(ctx context.Context, sub *subject) error {
	gone := make(map[string][]int)
	for i := range sub.calls.Calls {
		c := &sub.calls.Calls[i]
		if slices.ContainsFunc(sub.stuck, func(o *prove.ParallelCall) bool { return o.Name == c.Name && o.Of == c.Of }) {
			gone[c.File] = append(gone[c.File], c.First)
		}
	}
	sub.stuck = nil
	for file, lines := range gone {
		if sub.calls != nil {
			sub.calls = sub.calls.Without(file, lines)
		}
	}
	if len(gone) == 0 || sub.calls == nil || sub.rebuilt == mostRebuilt {
		return nil
	}
	sub.rebuilt++
	s.opt.Say("building the tests of " + sub.importPath + " without the calls that did not return")
	return sub.build(ctx)
}

// execute runs a subject, and reads what the race detector says. When it is interrupted, there is a result beside the error, since reports
// are written as soon as a race shows.
func (s *Search) execute(ctx context.Context, sub *subject, how How, left time.Duration) (*result, error) {
	logs, err := os.MkdirTemp(s.work, "log-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(logs)
	args := s.opt.Args
	// A program that would go on for ever runs with each GOMAXPROCS.
	limit := min(left, max(2*time.Second, s.opt.Time/time.Duration(len(s.opt.CPUs))))
	if !sub.program {
		// Tests that took a second do not take ten times as long, but on a machine that has much else to do.
		limit = max(leastTime, 10*sub.slow, sub.patience).Round(time.Second)
		args = []string{"-test.paniconexit0", "-test.count=1", "-test.cpu=" + strconv.Itoa(how.CPU), "-test.timeout=" + limit.String()}
		switch {
		case how.Replay:
			args = append(args, "-test.run=^"+replayTest+"$")
		case how.Calls:
			args = append(args, "-test.run=^("+prove.ParallelTest+")$")
		default:
			args = append(args, "-test.shuffle="+strconv.FormatUint(max(1, how.Seed+1), 10))
			if s.opt.Run != "" {
				args = append(args, "-test.run="+s.opt.Run)
			}
		}
		limit += graceToEnd
	}
	cmd := exec.CommandContext(ctx, sub.file, args...)
	cmd.Dir = sub.dir
	if sub.program {
		cmd.Dir = s.opt.Dir
	}
	cmd.Env = append(os.Environ(), "PWD="+cmd.Dir, "GOMAXPROCS="+strconv.Itoa(how.CPU),
		gorace(filepath.Join(logs, "race")))
	if how.Replay {
		cmd.Env = append(cmd.Env, requestsEnv+"="+sub.requests)
	}
	if how.Calls {
		cmd.Env = append(cmd.Env, prove.ParallelOrder+"="+strconv.FormatUint(how.Seed%1000, 10))
	}
	out := &bounded{most: maxOutput}
	cmd.Stdout, cmd.Stderr = out, out
	var ask *asker
	if sub.program && sub.serving != nil && len(sub.serving.Left) == 0 {
		ask = &asker{next: out, list: sub.made(s.opt.Requests)}
		if len(ask.list) > 0 {
			cmd.Stdout, cmd.Stderr = ask, ask
		}
	}
	cmd.WaitDelay = time.Second
	cmd.Cancel = func() error { return askToEnd(cmd.Process) }
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("running %s: %w", sub.importPath, err)
	}
	res := &result{}
	over := time.AfterFunc(limit, func() { askToEnd(cmd.Process) })
	kill := time.AfterFunc(limit+graceToEnd, func() { cmd.Process.Kill() })
	err = cmd.Wait()
	res.late = !over.Stop()
	kill.Stop()
	if ask != nil {
		s.out.Tried.Requests += ask.stop()
	}
	res.took = time.Since(began)
	var exit *exec.ExitError
	var interrupted error
	switch {
	case ctx.Err() != nil:
		interrupted = ctx.Err()
	case errors.As(err, &exit):
		res.code = exit.ExitCode()
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return nil, fmt.Errorf("running %s: %w", sub.importPath, err)
	}
	res.output = out.buf.Bytes()
	said, err := racelog.Read(bytes.NewReader(res.output))
	if err != nil {
		return nil, err
	}
	res.log.Crashes, res.log.Notes = said.Crashes, said.Notes
	files, err := os.ReadDir(logs) // by name
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		f, err := os.Open(filepath.Join(logs, file.Name()))
		if err != nil {
			return nil, err
		}
		found, err := racelog.Read(io.LimitReader(f, maxLogs))
		f.Close()
		if err != nil {
			return nil, err
		}
		res.log.Races = append(res.log.Races, found.Races...)
		res.log.Notes = append(res.log.Notes, found.Notes...)
	}
	if interrupted != nil {
		return res, interrupted
	}
	if res.code == raceExit && len(res.log.Races)+len(res.log.Crashes) == 0 {
		// Never may that be taken for no race.
		return nil, fmt.Errorf("%s ended with exit code %d, as after a race, but without a race report: %s; a program that uses this exit code cannot be checked",
			sub.importPath, raceExit, cmp.Or(shortened(lastLine(string(res.output))), "it printed nothing"))
	}
	return res, nil
}

// gorace tells the race detector where to write its reports. Names of folders may have blanks in them.
func gorace(file string) string {
	quote := "'"
	if strings.Contains(file, quote) {
		quote = `"`
	}
	return fmt.Sprintf("GORACE=%s log_path=%s halt_on_error=0 history_size=3 exitcode=%d atexit_sleep_ms=%d", os.Getenv("GORACE"), quote+file+quote, raceExit, endingDelay)
}

// A bounded keeps the last part of what is written.
type bounded struct {
	buf  bytes.Buffer
	most int
}

func (b *bounded) Write(p []byte) (int, error) {
	b.buf.Write(p)
	if b.buf.Len() > b.most {
		rest := b.buf.Bytes()
		b.buf = *bytes.NewBuffer(slices.Clone(rest[len(rest)-b.most/2:]))
	}
	return len(p), nil
}

var replayed = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^hone-replay (\d+) (\d+) (\d+) (".*")$`) })

// counted adds up the requests of a replay.
func (s *Search) counted(sub *subject, res *result) {
	asked, panics := make(map[int]int), make(map[int]int)
	what := make(map[int]string)
	lines := replayed().FindAllSubmatch(res.output, -1)
	if len(lines) == 0 && len(res.log.Crashes) == 0 {
		s.note("the handlers of %s did not get all requests: the test program ended with exit code %d: %s", sub.importPath, res.code, shortened(lastLine(string(res.output))))
	}
	for _, m := range lines {
		i, _ := strconv.Atoi(string(m[1]))
		n, _ := strconv.Atoi(string(m[2]))
		bad, _ := strconv.Atoi(string(m[3]))
		s.out.Tried.Requests += n
		asked[i] += n
		panics[i] += bad
		if text, err := strconv.Unquote(string(m[4])); err == nil && text != "" {
			what[i] = text
		}
	}
	for i, n := range panics {
		if n == 0 || i >= len(sub.serving.Handlers) {
			continue
		}
		share := "some requests"
		if n == asked[i] {
			share = "every request"
		}
		s.note("%s panics at %s: %s", sub.serving.Handlers[i].Name, share, firstLine(what[i]))
	}
}

var failedTest = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^--- FAIL: (\S+) `) })

// tested notes the tests that fail, when it is not for a race.
func (s *Search) tested(sub *subject, res *result) {
	if res.code == 0 {
		return
	}
	text := string(res.output)
	marks := failedTest().FindAllStringSubmatchIndex(text, -1)
	for i, m := range marks {
		end := len(text)
		if i+1 < len(marks) {
			end = marks[i+1][0]
		}
		body := text[m[1]:end]
		if j := strings.Index(body, "\nFAIL"); j >= 0 {
			body = body[:j]
		}
		why, own := "", false
		for line := range strings.Lines(body) {
			line = strings.TrimSpace(line)
			if _, said, ok := strings.Cut(line, ".go:"); ok {
				_, said, _ = strings.Cut(said, ": ")
				if strings.Contains(said, "race detected during execution of test") {
					continue
				}
				own = true
				why = cmp.Or(why, said)
			}
		}
		racy := strings.Contains(body, "race detected during execution of test")
		if name := text[m[2]:m[3]]; own || !racy && !strings.Contains(body, "--- FAIL") {
			if len(res.log.Crashes) == 0 {
				s.failing[name] = shortened(why)
			}
		}
	}
	if len(marks) == 0 && len(res.log.Races) == 0 && len(res.log.Crashes) == 0 {
		s.failing[sub.importPath] = shortened(lastLine(text))
	}
}

// ended says how a program ended, when that is worth a word.
func (s *Search) ended(sub *subject, res *result) {
	switch {
	case res.late:
		s.out.Tried.Stopped = true
	case res.code != 0 && res.code != raceExit && len(res.log.Crashes) == 0:
		s.out.Tried.Failed++
		s.note("%s ended with exit code %d: %s", sub.importPath, res.code, shortened(lastLine(string(res.output))))
	}
}

// made returns the requests that a program is asked: those that are given, or those made up for its handlers.
func (sub *subject) made(given []prove.MadeRequest) []prove.MadeRequest {
	if len(given) > 0 {
		return given
	}
	var out []prove.MadeRequest
	for _, h := range sub.serving.Handlers {
		out = append(out, h.Requests...)
	}
	return out
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

func shortened(s string) string {
	const most = 200
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// crashed notes what ended a run, and reports whether that is new.
func (s *Search) crashed(ctx context.Context, c *racelog.Crash, how How) bool {
	sub := s.subject[how.Subject]
	text, by := c.Text, s.by(how, c.Running)
	if how.Calls && c.Kind != racelog.Map {
		both, locks := s.crossed(ctx, sub, c.Goroutines)
		switch {
		case both != nil:
			sub.stuck = sub.calledBy(both)
		case c.Kind == racelog.Timeout || c.Kind == racelog.Deadlock:
			sub.stuck = sub.calledBy(c.Goroutines)
		default:
			s.note("calls of the functions of %s ended early: %s", sub.importPath, shortened(c.Text))
		}
		if len(sub.stuck) == 0 || sub.rebuilt == mostRebuilt {
			sub.hung[2]++
		}
		if both == nil {
			return false // calls that wait for others are no deadlock where nobody would make them like that
		}
		c.Goroutines = both
		text = "goroutines take " + locks[0].name + " and " + locks[1].name + " in different orders, and each waits for the lock of the other"
		by, _ = s.calledBy(sub, both[0].Stack, both[1].Stack)
	}
	var waiting []report.Waiting
	locked, unsure := false, false
	for i := range c.Goroutines {
		g := &c.Goroutines[i]
		at := s.ownFrame(sub, g.Stack)
		if at == nil {
			continue
		}
		if !g.Waits() && c.Kind == racelog.Timeout {
			return s.slowTests(sub, c) // something still goes on
		}
		if c.Kind == racelog.Map && len(waiting) > 0 || !g.Waits() && c.Kind == racelog.Deadlock {
			continue
		}
		locked = locked || strings.HasPrefix(g.State, "sync.") || strings.HasPrefix(g.State, "semacquire")
		unsure = unsure || strings.HasPrefix(g.State, "select") && !strings.HasPrefix(g.State, "select (no cases)")
		stack := g.Stack
		for &stack[0] != at {
			stack = stack[1:]
		}
		waiting = append(waiting, report.Waiting{
			State: g.State, RaceFrame: s.frame(*at), Stack: s.frames(s.own(stack)), Text: s.code.line(at.File, at.Line),
		})
	}
	switch c.Kind {
	case racelog.Timeout:
		if len(waiting) == 0 || unsure && !locked { // a select may wait for the time
			return s.slowTests(sub, c)
		}
	case racelog.Deadlock, racelog.Map, racelog.Misuse:
	default:
		if how.Replay || sub.program {
			s.note("%s ends with %s", sub.importPath, shortened(c.Text))
			return false
		}
		for _, name := range c.Running {
			s.failing[name] = shortened(c.Text)
		}
		if len(c.Running) == 0 {
			s.note("the tests of %s end with %s", sub.importPath, shortened(c.Text))
		}
		return false
	}
	kind := string(c.Kind)
	if c.Kind == racelog.Timeout {
		kind = string(racelog.Deadlock)
	}
	h := report.Hang{Kind: kind, Text: text, Count: 1, By: by, CPU: how.CPU, Seed: how.Seed}
	// Many goroutines wait at the same line.
	seen := make(map[string]int)
	for _, w := range waiting {
		key := w.File + ":" + strconv.Itoa(w.Line)
		if i, ok := seen[key]; ok {
			h.Waiting[i].Count++
			continue
		}
		seen[key] = len(h.Waiting)
		w.Count = 1
		h.Waiting = append(h.Waiting, w)
	}
	order.Stable(h.Waiting, func(a, b report.Waiting) int { return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line)) })
	switch {
	case how.Calls:
	case how.Replay:
		sub.hung[1]++
	default:
		sub.hung[0]++
	}
	for _, old := range s.hangs {
		if old.Kind == h.Kind && sameWaiting(old.Waiting, h.Waiting) {
			old.Count++
			return false
		}
	}
	s.hangs = append(s.hangs, &h)
	return true
}

// slowTests notes tests that were not done in time though something went on.
func (s *Search) slowTests(sub *subject, c *racelog.Crash) bool {
	if was := max(leastTime, sub.patience); was < s.opt.Time {
		sub.patience = 2 * was
		return false
	}
	names := strings.Join(c.Running, ", ")
	s.out.Notes.AddNew(hint.Text{cmp.Or(names, "the tests"), " of ", sub.importPath, " did not end in time and was still running; ", hint.Option{Name: "for"}, " gives more"})
	return false
}

func sameWaiting(a, b []report.Waiting) bool {
	// The same places, however many goroutines were at each, and at some of them.
	for _, w := range a {
		if slices.ContainsFunc(b, func(o report.Waiting) bool { return o.File == w.File && o.Line == w.Line }) {
			return true
		}
	}
	return len(a) == len(b) && len(a) == 0
}
