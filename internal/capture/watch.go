package capture

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/hone-perf/hone/internal/capture/agent"
	"github.com/hone-perf/hone/internal/capture/perf"
	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/unit"
)

// A watcher watches a program from outside.
type watcher struct {
	*session
	lookout
	cancel context.CancelFunc
	done   chan struct{}

	sampled time.Duration // CPU time that CPU profiles were taken of; 0 without
}

// start begins to write what the system says about a process, and to sample it.
func (w *watcher) start(ctx context.Context, pid int) {
	ctx, w.cancel = context.WithCancel(context.WithoutCancel(ctx))
	w.done = make(chan struct{}, 2)
	start := time.Now()
	go func() {
		w.measure(ctx, pid, start)
		w.done <- struct{}{}
	}()
	go func() {
		w.sample(ctx, pid, start)
		w.done <- struct{}{}
	}()
}

func (w *watcher) stop() {
	if w.cancel == nil {
		return
	}
	w.cancel()
	<-w.done
	<-w.done
}

// measure writes a line every second, and one when ctx ends if the process still runs.
func (w *watcher) measure(ctx context.Context, pid int, start time.Time) {
	f, err := os.Create(filepath.Join(w.folder, recording.MetricsFile))
	if err != nil {
		w.wrote(0, err)
		return
	}
	defer f.Close()
	p := processOf(pid)
	defer p.Close()
	value := w.watchProcess(p)
	var line []byte
	var written time.Time
	write := func() {
		line = append(line[:0], `{"t":`...)
		line = strconv.AppendInt(line, time.Since(start).Milliseconds(), 10)
		empty := len(line)
		if line = p.Append(line); w.While != nil {
			line = p.AppendDelay(line)
		}
		if len(line) > empty {
			w.wrote(f.Write(append(line, "}\n"...)))
			written = time.Now()
		}
	}
	var before float64 // CPU time
	last := start
	next := start.Add(50 * time.Millisecond)
	for {
		wait := time.Until(next)
		if len(w.When) > 0 {
			wait = min(wait, glance)
		}
		select {
		case <-ctx.Done():
			// The system counts CPU time in ticks, which say nothing about a moment.
			if time.Since(written) >= glance && p.RSS() > 0 {
				write()
			}
			return
		case <-time.After(wait):
		}
		due := !time.Now().Before(next)
		if now := time.Now(); due {
			next = next.Add(time.Second)
			if cpu, ok := p.CPU(); ok && now.Sub(last) > glance {
				if before > 0 {
					w.tell(agent.CPU, 100*(cpu-before)/now.Sub(last).Seconds())
				}
				before, last = cpu, now
			}
		}
		trouble := len(w.When) > 0 && w.trouble(time.Since(start), value)
		if due || trouble {
			write()
		}
	}
}

// glance is how often it is looked whether there is trouble, and the shortest time of which CPU time is measured.
const glance = 100 * time.Millisecond

// took keeps a CPU profile.
func (w *watcher) took(from, to time.Duration, p *profile.Profile) error {
	if w.looks(agent.GC) {
		w.tellGC(p)
	}
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		return err
	}
	name := filepath.Join(w.folder, filepath.FromSlash(recording.PartFile(recording.CPU, from, to)))
	err := w.write(name, b.Bytes())
	if err == nil {
		w.add(name, from, to)
	}
	return err
}

// noteOthers says how much of the CPU time of a run is not in its CPU profiles because other processes took it, which the program started and waited
// for: the go command, a script and make leave the work to others.
func (w *watcher) noteOthers(u *recording.Usage) {
	const little = 200 * time.Millisecond
	// Where the kernel keeps its time to itself, the profiles have none of that.
	if all := u.User + u.System; w.sampled > 0 && u.User-w.sampled > max(all/4, little) {
		w.note("the CPU profile covers %s of the run's %s of CPU time; the rest was used by processes that the program started", unit.Time(w.sampled), unit.Time(all))
	}
}

// sample takes CPU profiles, where that can be done.
func (w *watcher) sample(ctx context.Context, pid int, start time.Time) {
	offset := time.Since(start)
	out, err := perf.Record(ctx, pid, perf.Options{Emit: func(p *profile.Profile, from, to time.Duration) error {
		err := w.took(from+offset, to+offset, p)
		w.wrote(0, err)
		return err
	}})
	for _, n := range out.Notes {
		w.note("%s", n)
	}
	switch {
	case errors.Is(err, perf.ErrUnsupported):
		w.note("the program was not built with the recorder, so there are no profiles; record its package, or the URL where it serves /debug/pprof")
	case err != nil && ctx.Err() == nil:
		w.note("there are no CPU profiles: %v", hint.With(err))
	default:
		w.sampled = out.CPU
		w.note("the program was watched from outside, so there is no heap profile; if it serves /debug/pprof, record its URL to get more")
	}
}
