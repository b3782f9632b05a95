package capture

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/hone-perf/hone/internal/capture/agent"
	"github.com/hone-perf/hone/internal/recording"
)

// A watcher watches a program from outside.
type watcher struct {
	*session
	cancel context.CancelFunc
	done   chan struct{}
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

// measure writes a line every second.
func (w *watcher) measure(ctx context.Context, pid int, start time.Time) {
	f, err := os.Create(filepath.Join(w.folder, recording.MetricsFile))
	if err != nil {
		w.wrote(0, err)
		return
	}
	defer f.Close()
	p := agent.Of(strconv.Itoa(pid))
	var line []byte
	for next := start.Add(50 * time.Millisecond); ; next = next.Add(time.Second) {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Until(next)):
		}
		line = append(line[:0], `{"t":`...)
		line = strconv.AppendInt(line, time.Since(start).Milliseconds(), 10)
		empty := len(line)
		if line = p.Append(line); len(line) > empty {
			w.wrote(f.Write(append(line, "}\n"...)))
		}
	}
}

// sample takes CPU profiles, where that can be done.
func (w *watcher) sample(ctx context.Context, pid int, start time.Time) {
	if w.Sample == nil {
		w.note("the program was not built with the recorder inside, so there are no profiles of it; hone record PACKAGE builds it so, and hone record URL asks a program that serves /debug/pprof")
		return
	}
	err := w.Sample(ctx, pid, start, func(from, to time.Duration, profile []byte) error {
		err := w.write(filepath.Join(w.folder, filepath.FromSlash(recording.PartFile(recording.CPU, from, to))), profile)
		w.wrote(0, err)
		return err
	})
	if err != nil && ctx.Err() == nil {
		w.note("there are no CPU profiles: %v", err)
		return
	}
	w.note("the program was watched from outside, so there is no heap profile of it; if it serves /debug/pprof, hone record URL gets more")
}
