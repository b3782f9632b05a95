package capture

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hone-perf/hone/internal/capture/agent"
	"github.com/hone-perf/hone/internal/gclog"
)

// Pair is how soon after a signal another one of its kind is the same: timeout(1) signals its child, and then all of the child's group.
const Pair = 100 * time.Millisecond

// waitDelay is how long to wait for what others still have to say on the standard error of a program that ended.
const waitDelay = time.Second

// A watch says what to look at while a program runs. The zero watch only waits for its end.
type watch struct {
	gctrace bool                // have it trace garbage collections, and take that out of its standard error, unless its environment asks for it
	plain   bool                // but do not ask it to trace them
	kept    func(line string)   // is told each line about garbage collection; may be nil
	errs    io.Writer           // gets a copy of the rest of standard error, and of standard output where both are one; may be nil
	outs    io.Writer           // gets a copy of standard output; may be nil
	limit   time.Duration       // after which it is asked to end; 0 is never
	started func(p *os.Process) // is called when it runs; may be nil

	// while is done while it runs, and it is asked to end when that returns; nil lets it run. The context ends when it does.
	while func(ctx context.Context)
}

// An ending is how a program ended and what it took.
type ending struct {
	state   *os.ProcessState
	log     *gclog.Log // nil when garbage collections were not traced
	start   time.Time
	real    time.Duration
	peak    int64       // of memory, in bytes; 0 when it is not known
	below   int64       // what the peak is less than; 0 when it is known, or nothing is
	stopped atomic.Bool // since the limit was over
	asked   bool        // it was asked to end, since what was done while it ran is over
}

// run runs a program to its end. Signals to hone are signals to the program. When the program ran, there is an ending,
// whatever err says about the rest.
func run(ctx context.Context, p Program, w watch) (*ending, error) {
	// An interrupt from the terminal reaches the program by itself, and it may take its time to end.
	cmd := exec.Command(p.Args[0], p.Args[1:]...)
	cmd.Env = p.Env
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = p.Dir, p.In, p.Out, p.Err
	if w.outs != nil {
		cmd.Stdout = also(p.Out, w.outs)
	}
	var errs *pipe
	joint := false
	asked := tracesGC(cmd.Env) // the user wants to see these lines
	if w.gctrace {
		if !w.plain {
			cmd.Env = withGCTrace(cmd.Env)
		}
		var err error
		if errs, err = stderrOf(p); err != nil {
			return nil, err
		}
		defer errs.Close()
		cmd.Stderr = errs.in
		if joint = p.joint(); joint {
			cmd.Stdout = errs.in
		}
	}
	signals := catch(cmd)
	defer signals.release()
	end := &ending{start: time.Now()}
	err := cmd.Start()
	if errs != nil {
		errs.in.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("running %s: %w", p.Args[0], err)
	}
	process := agent.Of(strconv.Itoa(cmd.Process.Pid)) // while it is certain that the number is that of the program
	defer process.Close()
	if w.started != nil {
		w.started(cmd.Process)
	}
	signals.forward(cmd.Process)
	if errs != nil {
		defer errs.follow(cmd.Process)()
	}
	over := make(chan struct{})
	peak := make(chan int64)
	meanwhile := make(chan struct{})
	if w.while != nil {
		alive, gone := context.WithCancel(ctx)
		go func() {
			<-over
			gone()
		}()
		go func() {
			defer close(meanwhile)
			w.while(alive)
			select {
			case <-over:
			default:
				end.asked = true
				askToEnd(cmd.Process, over)
			}
		}()
	} else {
		close(meanwhile)
	}
	go func() { peak <- watchPeak(process, over) }()
	if w.limit > 0 {
		limit := time.AfterFunc(w.limit, func() { end.stopped.Store(true); askToEnd(cmd.Process, over) })
		defer limit.Stop()
	}

	var parser gclog.Parser
	passed := make(chan error, 1)
	if errs != nil {
		out := also(p.Err, w.errs)
		if joint {
			out = also(out, w.outs)
		}
		take := func(line string) (string, bool) {
			rest, own := parser.Line(line)
			if w.kept != nil && (own || rest != line) {
				w.kept(line)
			}
			if asked {
				return line, false
			}
			return rest, own
		}
		out = valve{out, errs}
		broken := make(chan os.Signal, 1)
		signal.Notify(broken, syscall.SIGPIPE) // else one that is due to the output of the program would end hone
		defer signal.Stop(broken)
		go func() {
			err := pass(take, errs, out)
			if errors.Is(err, syscall.EPIPE) {
				errs.Close()
				err = nil
			}
			passed <- err
		}()
	} else {
		passed <- nil
	}

	waitErr := cmd.Wait()
	end.real = time.Since(end.start)
	end.state = cmd.ProcessState
	close(over)
	<-meanwhile
	end.peak, end.below = peakOf(end.state, process, <-peak)
	if errs != nil {
		// A program that it started may have its standard error, and go on.
		errs.endAt(time.Now().Add(waitDelay))
	}
	passErr := <-passed
	if errs != nil {
		end.log = parser.Log()
	}
	var exit *exec.ExitError
	if waitErr != nil && !errors.As(waitErr, &exit) {
		return end, waitErr
	}
	return end, passErr
}

// also returns a writer to two places, either of which may be nil.
func also(to, copy io.Writer) io.Writer {
	switch {
	case to == nil && copy == nil:
		return io.Discard
	case to == nil:
		return copy
	case copy == nil:
		return to
	}
	return io.MultiWriter(to, copy)
}

// A valve ends a program's output when nobody reads it any more, as happens without hone: `hone record ./app 2>&1 | head`.
type valve struct {
	io.Writer
	errs *pipe
}

func (v valve) Write(b []byte) (int, error) {
	n, err := v.Writer.Write(b)
	if errors.Is(err, syscall.EPIPE) {
		v.errs.hangUp()
	}
	return n, err
}

// joint reports whether the standard output and the standard error of a program go to the same file or pipe. They then go through one pipe, so
// that what the program writes stays in order. On a terminal they do not: a program may set the modes of the one that it writes to.
func (p *Program) joint() bool {
	out, isFile := p.Out.(*os.File)
	errs, isFileToo := p.Err.(*os.File)
	if !isFile || !isFileToo {
		return false
	}
	a, errA := out.Stat()
	b, errB := errs.Stat()
	return errA == nil && errB == nil && a.Mode()&os.ModeCharDevice == 0 && os.SameFile(a, b)
}

// stderrOf returns what a program writes its standard error to: a terminal if it is one without hone, where that can be done, and a pipe otherwise.
func stderrOf(p Program) (*pipe, error) {
	if f, ok := p.Err.(*os.File); ok {
		if t := newTerminal(f); t != nil {
			return t, nil
		}
	}
	return newPipe()
}

// loading is how long it takes until a program has more than a few pages. What was seen before that says nothing about it.
const loading = 2 * time.Millisecond

// watchPeak returns the most memory that a process had, as far as that was seen. The last look comes after two thirds of its time, or 200 ms
// before its end.
func watchPeak(p *agent.Process, over <-chan struct{}) (peak int64) {
	const often, seldom = 100 * time.Microsecond, 200 * time.Millisecond
	start := time.Now()
	for wait := often; ; wait = min(wait*3/2, seldom) {
		select {
		case <-over:
			return peak
		case <-time.After(wait):
			if now := p.Peak(); time.Since(start) > loading {
				peak = max(peak, now)
			}
		}
	}
}

// patience is how long a program has to end once it was asked to.
const patience = 10 * time.Second

// askToEnd asks a program to end, and insists.
func askToEnd(p *os.Process, over <-chan struct{}) {
	terminate(p)
	select {
	case <-over:
	case <-time.After(patience):
		p.Kill()
	}
}
