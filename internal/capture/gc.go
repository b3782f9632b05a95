// Package capture runs programs and keeps what they leave behind.
package capture

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/hone-perf/hone/internal/gclog"
)

// A Program is what to run and what it is connected to.
type Program struct {
	Args     []string
	Env      []string // nil is that of this process
	Dir      string   // "" is the current folder
	In       io.Reader
	Out, Err io.Writer
}

// GC runs a program with GODEBUG=gctrace=1 and returns what its garbage collector, and those of programs that it runs,
// said. The program keeps its input and output; only lines that gctrace asks for are taken out of its standard error.
// code is its exit code; err is about running it.
func GC(ctx context.Context, p Program) (log *gclog.Log, code int, err error) {
	// An interrupt from the terminal reaches the program by itself, and it may take its time to end.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), p.Args[0], p.Args[1:]...)
	cmd.Env = p.Env
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Env = withGCTrace(cmd.Env)
	cmd.Dir, cmd.Stdin, cmd.Stdout = p.Dir, p.In, p.Out
	errs, err := cmd.StderrPipe()
	if err != nil {
		return nil, 0, err
	}
	if err := cmd.Start(); err != nil {
		return nil, 0, fmt.Errorf("running %s: %w", p.Args[0], err)
	}
	var parser gclog.Parser
	passErr := pass(&parser, errs, p.Err)
	waitErr := cmd.Wait()
	log = parser.Log()
	var exit *exec.ExitError
	switch {
	case errors.As(waitErr, &exit):
		return log, codeOf(exit), passErr
	case waitErr != nil:
		return log, 1, waitErr
	}
	return log, 0, passErr
}

// codeOf returns the exit code of a program as a shell does: 128 and the signal, when one ended it.
func codeOf(exit *exec.ExitError) int {
	if s, ok := exit.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		return 128 + int(s.Signal())
	}
	return exit.ExitCode()
}

// withGCTrace adds gctrace=1 to what GODEBUG is set to, unless that has it.
func withGCTrace(env []string) []string {
	const name = "GODEBUG="
	value := ""
	out := make([]string, 0, len(env)+1)
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, name); ok {
			value = v // the last one counts
			continue
		}
		out = append(out, e)
	}
	for setting := range strings.SplitSeq(value, ",") {
		if v, ok := strings.CutPrefix(setting, "gctrace="); ok && v != "0" {
			return append(out, name+value)
		}
	}
	if value != "" {
		value += ","
	}
	return append(out, name+value+"gctrace=1")
}

// pass writes the lines of r that are not about garbage collection to w. What is not a whole line yet, such as a
// question, is passed on after a moment, unless it may become one about garbage collection.
func pass(parser *gclog.Parser, r io.Reader, w io.Writer) error {
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
	write := func(s string) {
		if writeErr == nil && s != "" {
			_, writeErr = io.WriteString(w, s)
		}
	}
	pending := ""
	timer := time.NewTimer(moment)
	defer timer.Stop()
	for {
		select {
		case text, ok := <-chunks:
			if !ok {
				if pending != "" {
					if rest, own := parser.Line(pending); !own {
						write(rest)
					}
				}
				return writeErr
			}
			pending += text
			for {
				line, rest, ok := strings.Cut(pending, "\n")
				if !ok && len(pending) < longest {
					break
				}
				pending = rest
				if left, own := parser.Line(line); !own {
					if ok {
						left += "\n"
					}
					write(left)
				}
			}
			timer.Reset(moment)
		case <-timer.C:
			if pending != "" && !maybeGC(pending) {
				write(pending)
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
