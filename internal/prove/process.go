package prove

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hone-perf/hone/internal/prove/worker"
	"github.com/hone-perf/hone/internal/scratch"
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
	cmd     *exec.Cmd
	in      *os.File      // requests go there
	answers *os.File      // come from there
	out     *bufio.Reader // reads answers
	dir     string
	warned  string // the file that it writes standard error to
	dead    bool
}

// start runs a worker, in an empty folder of its own.
func start(ctx context.Context, file string, config *worker.Config) (p *process, err error) {
	dir, err := scratch.Dir("prove-run-")
	if err != nil {
		return nil, err
	}
	p = &process{cmd: exec.CommandContext(ctx, file), dir: dir, warned: filepath.Join(dir, "warned")}
	p.cmd.Dir = dir
	var theirs []*os.File // the worker has them after it was started
	defer func() {
		for _, f := range theirs {
			f.Close()
		}
		if err != nil {
			err = fmt.Errorf("starting a worker: %w: %s", err, p.warnings())
			p.stop()
			p = nil
		}
	}()
	for name, to := range map[string]*io.Writer{"printed": &p.cmd.Stdout, "warned": &p.cmd.Stderr} {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return p, err
		}
		theirs = append(theirs, f)
		*to = f
	}
	requests, in, err := os.Pipe()
	if err != nil {
		return p, err
	}
	theirs, p.in = append(theirs, requests), in
	out, answers, err := os.Pipe()
	if err != nil {
		return p, err
	}
	theirs, p.answers, p.out = append(theirs, answers), out, bufio.NewReaderSize(out, 1<<16)
	handles, err := inherit(p.cmd, requests, answers)
	if err != nil {
		return p, err
	}
	p.cmd.Env = append(os.Environ(), worker.Mark+"="+handles, "PWD="+dir, "HOME="+dir, "TMPDIR="+dir, "GODEBUG=", "GOTRACEBACK=single")
	if err := p.cmd.Start(); err != nil {
		return p, err
	}
	text, err := json.Marshal(config)
	if err != nil {
		return p, err
	}
	return p, worker.WriteFrame(p.in, append([]byte{worker.OpConfig}, text...))
}

// warnings returns the end of what the worker wrote to standard error since it was last looked at.
func (p *process) warnings() string {
	f, err := os.Open(p.warned)
	if err != nil {
		return ""
	}
	defer f.Close()
	const most = 64 << 10
	if st, err := f.Stat(); err == nil && st.Size() > most {
		f.Seek(-most, io.SeekEnd)
	}
	text, _ := io.ReadAll(io.LimitReader(f, most))
	return string(bytes.TrimSpace(text))
}

// stop ends the worker.
func (p *process) stop() {
	if p.in != nil {
		p.in.Close()
	}
	if p.cmd.Process != nil {
		p.cmd.Process.Kill()
		p.wait()
	}
	if p.answers != nil {
		p.answers.Close()
	}
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
	said := p.warnings()
	short := func(text string) bool { return strings.Contains(said, text) }
	if slices.ContainsFunc([]string{"fatal error: out of memory", "runtime: out of memory", "runtime: cannot allocate memory"}, short) {
		return worker.Large // it asked for more than there is at once, and nobody could look in between
	}
	return died
}

// forget has counters count as new again.
func (p *process) forget(list []worker.Count) {
	frame := []byte{worker.OpForget}
	for _, c := range list {
		frame = binary.AppendUvarint(frame, uint64(c.Counter))
	}
	worker.WriteFrame(p.in, frame) // a worker that is gone has nothing to forget
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
