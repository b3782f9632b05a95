package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hone-perf/hone/internal/gclog"
	"github.com/hone-perf/hone/internal/recording"
)

// A runner runs programs with and without hone.
type runner struct {
	hone   string // program
	dir    string // for what is made
	rounds int
	both   bool // at the same time
	log    io.Writer
}

// A result is what a work cost: medians over the rounds.
type result struct {
	work
	plain, recorded time.Duration // CPU of the program
	ratio           float64       // of the two in the same round
	low, high       float64       // the least and the largest of them
	own             time.Duration // what the recorder says of itself
	gcs, gcsPlain   int
}

// measure runs a work with and without hone: in turn, each first as often as the other, or both at the same time. What else the
// machine does then hits both alike, where two runs of the same program one after the other differ by 15 % and more; but what
// a collector does on a core that is idle is not seen.
func (r *runner) measure(ctx context.Context, w work) (result, error) {
	res := result{work: w}
	file, recorded := filepath.Join(r.dir, "program"), filepath.Join(r.dir, "recorded.hone")
	how, plain, record := w.commands(file, recorded)
	if err := build(ctx, w.dir, how...); err != nil {
		return res, err
	}
	// How often it collects is counted in a run of its own, since to say so takes time.
	out, err := r.run(ctx, w, []string{"GODEBUG=gctrace=1"}, plain)
	if err != nil {
		return res, err
	}
	res.gcsPlain = collections(out.stderr)

	var plains, records, owns []time.Duration
	var ratios []float64
	var gcs []int
	for round := range r.rounds {
		var a, b time.Duration
		without := func() error {
			out, err := r.run(ctx, w, nil, plain)
			a = out.cpu
			return err
		}
		with := func() error {
			defer os.Remove(recorded)
			if _, err := r.run(ctx, w, nil, append([]string{r.hone}, record...)); err != nil {
				return err
			}
			rec, err := recording.Open(recorded)
			if err != nil {
				return err
			}
			defer rec.Close()
			b = rec.Manifest.Usage.User + rec.Manifest.Usage.System
			owns = append(owns, rec.Manifest.Recorder.CPU)
			log, err := recording.GC.Read(rec)
			if err != nil {
				return err
			}
			if log != nil {
				gcs = append(gcs, len(log.Cycles))
			} else {
				gcs = append(gcs, 0)
			}
			return nil
		}
		var errs [2]error
		switch {
		case r.both:
			over := make(chan struct{})
			go func() {
				defer close(over)
				errs[0] = with()
			}()
			if started(recorded+".part", over) {
				errs[1] = without()
			}
			<-over
		case round%2 == 0:
			errs = [2]error{with(), without()}
		default:
			errs = [2]error{without(), with()}
		}
		if err := errors.Join(errs[:]...); err != nil {
			return res, err
		}
		plains, records, ratios = append(plains, a), append(records, b), append(ratios, b.Seconds()/a.Seconds())
		fmt.Fprintf(r.log, "%s: %.2f s, recorded %.2f s, %.3f\n", w.name, a.Seconds(), b.Seconds(), b.Seconds()/a.Seconds())
	}
	res.plain, res.recorded, res.ratio, res.own = median(plains), median(records), median(ratios), median(owns)
	res.low, res.high, res.gcs = slices.Min(ratios), slices.Max(ratios), median(gcs)
	return res, nil
}

// started waits until there is the folder of a recording: hone builds the program first. It reports false when it was over
// before.
func started(folder string, over <-chan struct{}) bool {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := os.Stat(folder); err == nil {
			return true
		}
		select {
		case <-over:
			return false
		case <-tick.C:
		}
	}
}

// An output is what came of a run.
type output struct {
	cpu    time.Duration // user and system
	stderr []byte
}

// run runs a program in the folder of a work. A server gets its requests and is interrupted then.
func (r *runner) run(ctx context.Context, w work, env, args []string) (output, error) {
	if w.requests == 0 {
		return r.start(ctx, w.dir, env, args, nil)
	}
	return r.start(ctx, w.dir, env, args, func(url string) error { return send(ctx, url, w.requests, 0) })
}

var listening = regexp.MustCompile(`listening on (http://\S+)`)

// start runs a program to its end. A server is used when it says where it listens, and then interrupted.
func (r *runner) start(ctx context.Context, dir string, env, args []string, use func(url string) error) (output, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return output{}, err
	}
	if err := cmd.Start(); err != nil {
		return output{}, err
	}
	var said bytes.Buffer
	var used chan error // nil until somebody uses the server
	for in := bufio.NewReader(stderr); err == nil; {
		var line string
		line, err = in.ReadString('\n')
		said.WriteString(line)
		if m := listening.FindStringSubmatch(line); m != nil && use != nil && used == nil {
			used = make(chan error, 1)
			go func() {
				err := use(m[1])
				used <- errors.Join(err, cmd.Process.Signal(os.Interrupt))
			}()
		}
	}
	err = cmd.Wait()
	s := cmd.ProcessState
	out := output{s.UserTime() + s.SystemTime(), said.Bytes()}
	what := strings.Join(args, " ")
	switch {
	case used != nil:
		return out, <-used // which ended it, so what Wait says is no news
	case err != nil:
		return out, fmt.Errorf("%s: %w: %s", what, cmp.Or(ctx.Err(), err), strings.TrimSpace(said.String()))
	case use != nil:
		return out, fmt.Errorf("%s does not say where it listens: %s", what, strings.TrimSpace(said.String()))
	}
	return out, nil
}

// send asks a server from several clients, each of which waits for the answer before it asks again, until there were so
// many requests, or the time is over where n is 0.
func send(ctx context.Context, url string, n int, limit time.Duration) error {
	const clients = 4
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	defer client.CloseIdleConnections()
	end := time.Now().Add(limit)
	var sent atomic.Int64
	var wg sync.WaitGroup
	failed := make(chan error, clients)
	for range clients {
		wg.Go(func() {
			for n > 0 && sent.Add(1) <= int64(n) || n == 0 && time.Now().Before(end) {
				if err := ask(ctx, client, url); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(failed)
	return <-failed
}

func ask(ctx context.Context, client *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, res.Status)
	}
	return nil
}

// collections counts what GODEBUG=gctrace=1 printed.
func collections(stderr []byte) int {
	log, err := gclog.Parse(bytes.NewReader(stderr))
	if err != nil {
		return 0
	}
	return len(log.Cycles)
}

// median returns the middle of xs, or what is between the two in the middle.
func median[T ~int | ~int64 | ~float64](xs []T) T {
	xs = slices.Sorted(slices.Values(xs))
	return (xs[(len(xs)-1)/2] + xs[len(xs)/2]) / 2
}
