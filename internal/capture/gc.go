// Package capture records: it builds programs with a recorder inside and runs them, watches other programs, and fetches profiles from
// servers.
//
// Record builds or runs a program as its Options say, and returns what was Recorded. A Server is a running program that serves profiles;
// Benchmarks runs benchmarks in rounds. The recorder that is built into programs is in package agent; overlay.go adds it to a build without
// a change to the program.
package capture

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/hone-perf/hone/internal/gclog"
	"github.com/hone-perf/hone/internal/gocmd"
)

// A Program is what to run and what it is connected to.
type Program struct {
	Args     []string
	Words    string   // behind a program that is built: arguments as a shell has them
	Env      []string // nil is that of this process
	Dir      string   // "" is the current folder
	In       io.Reader
	Out, Err io.Writer
}

// ErrGoCommand says why the garbage collections of the go command are not traced. It hands GODEBUG on to compilers, and keeps what they
// print: lines about their garbage collections would come up in every later build of the same packages.
var ErrGoCommand = errors.New("the go command would keep what compilers say of their garbage collections in its build cache, and print it in later builds")

// GC runs a program with GODEBUG=gctrace=1 and returns what its garbage collector, and those of programs that it runs,
// said. The program keeps its input and output; only lines that gctrace asks for are taken out of its standard error, unless its environment
// asks for them anyway.
// code is its exit code; err is about running it.
func GC(ctx context.Context, p Program) (log *gclog.Log, code int, err error) {
	if gocmd.Is(p.Args[0]) {
		return nil, 0, ErrGoCommand
	}
	end, err := run(ctx, p, watch{gctrace: true})
	if end == nil {
		return nil, 0, err
	}
	if s, ok := end.state.Sys().(syscall.WaitStatus); ok && s.Signaled() && s.Signal() == syscall.SIGKILL && end.log.Ending == nil {
		end.log.Ending = &gclog.Ending{How: gclog.Killed, Text: "signal: killed"}
	}
	return end.log, codeOf(end.state), err
}

// codeOf returns the exit code of a program as a shell does: 128 and the signal, when one ended it.
func codeOf(state *os.ProcessState) int {
	if s, ok := state.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		return 128 + int(s.Signal())
	}
	return state.ExitCode()
}

// withGCTrace adds gctrace=1 to what GODEBUG is set to, unless that has it.
func withGCTrace(env []string) []string {
	const name = "GODEBUG="
	value := ""
	if tracesGC(env) {
		return env
	}
	out := make([]string, 0, len(env)+1)
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, name); ok {
			value = v // the last one counts
			continue
		}
		out = append(out, e)
	}
	if value != "" {
		value += ","
	}
	return append(out, name+value+"gctrace=1")
}

// tracesGC reports whether an environment asks for lines about garbage collection.
func tracesGC(env []string) (asked bool) {
	for _, e := range env {
		value, ok := strings.CutPrefix(e, "GODEBUG=")
		if !ok {
			continue
		}
		asked = false // the last one counts
		for setting := range strings.SplitSeq(value, ",") {
			if v, ok := strings.CutPrefix(setting, "gctrace="); ok {
				asked = v != "0"
			}
		}
	}
	return asked
}

// pass writes to w what take leaves of the lines of r, unless they are its own: about garbage collection. What is not a whole line yet, such as a
// question, is passed on after a moment, unless it may become one about garbage collection.
func pass(take func(line string) (rest string, own bool), r io.Reader, w io.Writer) error {
	const (
		moment  = 100 * time.Millisecond
		longest = 64 << 10
	)
	chunks := make(chan string)
	go func() {
		defer close(chunks)
		buf := make([]byte, longest)
		for {
			n, err := r.Read(buf)
			if n > 0 {
				chunks <- string(buf[:n])
			}
			if err != nil {
				return // the program closed it, or ended
			}
		}
	}()
	var writeErr error
	var ready []byte // the lines that came at once are written at once
	write := func(s string) { ready = append(ready, s...) }
	flush := func() {
		if writeErr == nil && len(ready) > 0 {
			_, writeErr = w.Write(ready)
		}
		ready = ready[:0]
	}
	pending := ""
	timer := time.NewTimer(moment)
	defer timer.Stop()
	for {
		select {
		case text, ok := <-chunks:
			if !ok {
				if pending != "" && !gclog.Begins(pending) { // the beginning of a gctrace line is not shown
					if rest, own := take(pending); !own {
						write(rest)
					}
				}
				flush()
				return writeErr
			}
			pending += text
			for {
				line, rest, ok := strings.Cut(pending, "\n")
				if !ok && len(pending) < longest {
					break
				}
				pending = rest
				if left, own := take(line); !own {
					// When the end of the line was taken, so was the end of what the program has yet to end.
					if taken := len(left) < len(line) && strings.HasPrefix(line, left); ok && !taken {
						left += "\n"
					}
					write(left)
				}
			}
			flush()
			timer.Reset(moment)
		case <-timer.C:
			if pending != "" && !maybeGC(pending) {
				write(pending)
				flush()
				pending = ""
			}
		}
	}
}

// maybeGC reports whether s has what may be the beginning of a line about garbage collection.
func maybeGC(s string) bool {
	return strings.Contains(s, "gc") || strings.Contains(s, "scvg") || strings.Contains(s, "GC f") ||
		strings.HasSuffix(s, "g") || strings.HasSuffix(s, "s")
}
