package prove

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hone-perf/hone/internal/prove/worker"
)

// Statuses of programs that the worker says nothing about.
const (
	died   byte = 255 // it did not survive it
	killed byte = 254 // somebody else ended it, such as a system that is out of memory: that says nothing
)

// stuckAfter is how long a worker may say nothing. It ends by itself long before that, unless it is not able to.
const stuckAfter = 5 * time.Minute

// A process is a worker that runs.
type process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr *tail
	dir    string
	dead   bool
}

// A tail keeps the end of what is written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if len(t.buf) > 1<<16 {
		t.buf = append([]byte(nil), t.buf[len(t.buf)-1<<14:]...)
	}
	return len(p), nil
}

func (t *tail) has(text string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Contains(t.buf, []byte(text))
}

// start runs a worker, in an empty folder of its own.
func start(ctx context.Context, file string, config *worker.Config) (*process, error) {
	dir, err := os.MkdirTemp("", "hone-prove-run-")
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.CommandContext(ctx, file), stderr: &tail{}, dir: dir}
	p.cmd.Dir = dir
	p.cmd.Env = append(os.Environ(), worker.Mark+"=1", "PWD="+dir, "HOME="+dir, "TMPDIR="+dir, "GODEBUG=", "GOTRACEBACK=single")
	p.cmd.Stderr = p.stderr
	p.cmd.WaitDelay = time.Second
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.in, p.out = in, bufio.NewReaderSize(out, 1<<16)
	if err := p.cmd.Start(); err != nil {
		os.RemoveAll(dir)
		return nil, fmt.Errorf("starting a worker: %w", err)
	}
	text, err := json.Marshal(config)
	if err == nil {
		err = worker.WriteFrame(p.in, append([]byte{worker.OpConfig}, text...))
	}
	if err != nil {
		p.stop()
		return nil, fmt.Errorf("starting a worker: %w: %s", err, bytes.TrimSpace(p.stderr.buf))
	}
	return p, nil
}

// stop ends the worker.
func (p *process) stop() {
	p.in.Close()
	p.cmd.Process.Kill()
	p.wait()
	os.RemoveAll(p.dir)
}

// wait waits once for the worker to end.
func (p *process) wait() {
	if p.cmd.ProcessState == nil {
		p.cmd.Wait()
	}
}

// death says whether a worker that does not answer any more ended by itself, and whether that was for want of memory.
func (p *process) death(stuck bool) byte {
	p.in.Close()
	hangs := time.AfterFunc(10*time.Second, func() { p.cmd.Process.Kill() })
	p.wait()
	if stuck || !hangs.Stop() {
		return worker.Late
	}
	if st := p.cmd.ProcessState; st != nil && st.ExitCode() < 0 && strings.Contains(st.String(), "killed") {
		return killed
	}
	if p.stderr.has("fatal error: out of memory") || p.stderr.has("runtime: out of memory") || p.stderr.has("runtime: cannot allocate memory") {
		return worker.Large // it asked for more than there is at once, and nobody could look in between
	}
	return died
}

// run has the worker run programs, and returns what became of each. After one that it did not survive there are no more.
func (p *process) run(list []*worker.Program, how byte) []*worker.Seen {
	frame := []byte{worker.OpBatch, how}
	for _, prog := range list {
		frame = prog.Append(frame)
	}
	sent := make(chan error, 1)
	go func() { sent <- worker.WriteFrame(p.in, frame) }()
	var isStuck atomic.Bool
	stuck := time.AfterFunc(stuckAfter, func() {
		isStuck.Store(true)
		p.cmd.Process.Kill()
	})
	defer stuck.Stop()
	var out []*worker.Seen
	for range list {
		b, err := worker.ReadFrame(p.out)
		stuck.Reset(stuckAfter)
		var seen *worker.Seen
		if err == nil {
			seen, err = worker.DecodeSeen(b)
		}
		if err != nil {
			p.dead = true
			out = append(out, &worker.Seen{Status: p.death(isStuck.Load())})
			break
		}
		out = append(out, seen)
		if seen.Status == worker.Late || seen.Status == worker.Large {
			p.dead = true
			break
		}
	}
	if p.dead {
		p.in.Close() // ends the goroutine above
	}
	<-sent
	return out
}
