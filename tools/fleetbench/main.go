// Fleetbench measures what hone serve costs: to receive profiles over HTTP, to keep them, and to answer about an hour, a day and a month.
//
//	go run ./tools/fleetbench [-services n] [-rounds n] [-only regexp]
//
// It builds hone, starts it on a folder of its own, and sends generated profiles as large as real ones: of one service that stays as it is, of one that is
// deployed every hour, and of twenty over days. What counts is the CPU time of the server, user and system, its memory, and the bytes of its folder. Each answer is
// checked against what was sent. The answer is a Markdown table on standard output.
// The exit code is 0 if all goals are met, 1 if one is missed, and 2 for a wrong command line.
//
// It is run at the root of the repository, on Linux.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hone-perf/hone/internal/store"
	"github.com/hone-perf/hone/internal/store/storetest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop() // explicitly: os.Exit skips deferred calls
	os.Exit(code)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	fl := flag.NewFlagSet("fleetbench", flag.ContinueOnError)
	fl.SetOutput(stderr)
	b := &bench{ctx: ctx, out: stdout, err: stderr, met: true}
	fl.IntVar(&b.rounds, "rounds", 1440, "minutes of profiles of one service")
	only := fl.String("only", "", "cases whose names match `regexp`: steady, churn, fleet, latency")
	switch err := fl.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil || fl.NArg() > 0 || b.rounds < 120:
		return 2
	}
	var err error
	if b.only, err = regexp.Compile(*only); err == nil {
		err = b.all()
	}
	if err != nil {
		fmt.Fprintln(stderr, "fleetbench:", err)
		return 1
	}
	if !b.met {
		return 1
	}
	return 0
}

type bench struct {
	ctx    context.Context
	out    io.Writer
	err    io.Writer
	rounds int
	only   *regexp.Regexp
	hone   string
	dir    string
	met    bool
}

func (b *bench) all() error {
	var err error
	if b.dir, err = os.MkdirTemp("", "fleetbench-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	b.hone = filepath.Join(b.dir, "hone")
	build := exec.CommandContext(b.ctx, "go", "build", "-trimpath", "-o", b.hone, ".")
	build.Stderr = b.err
	if err := build.Run(); err != nil {
		return fmt.Errorf("building hone: %w", err)
	}
	fmt.Fprint(b.out, "| what | measured | goal | |\n|---|---|---|---|\n")
	for _, c := range []struct {
		name string
		run  func() error
	}{
		{"steady", func() error { return b.service("steady", 0) }},
		{"churn", func() error { return b.service("deployed every hour", 60) }},
		{"fleet", b.fleet},
		{"latency", b.latency},
	} {
		if !b.only.MatchString(c.name) {
			continue
		}
		if err := c.run(); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return nil
}

// row writes a line of the table.
func (b *bench) row(what, measured, goal string, met bool) {
	mark := ""
	if !met {
		mark, b.met = "missed", false
	}
	fmt.Fprintf(b.out, "| %s | %s | %s | %s |\n", what, measured, goal, mark)
}

// A server is a hone serve that runs.
type server struct {
	url  string
	data string
	cmd  *exec.Cmd
}

func (b *bench) start(name string) (*server, error) {
	s := &server{data: filepath.Join(b.dir, name)}
	s.cmd = exec.CommandContext(b.ctx, b.hone, "serve", "--data", s.data, "--listen", "127.0.0.1:0", "--keep", "4000d", "--max-size", "1TB")
	s.cmd.Stderr = b.err
	out, err := s.cmd.StdoutPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	s.url = strings.TrimSpace(line)
	return s, err
}

func (s *server) stop() error {
	s.cmd.Process.Signal(syscall.SIGTERM)
	s.cmd.Wait() // its code says that it was ended
	return os.RemoveAll(s.data)
}

// cpu returns the CPU time that the server has used.
func (s *server) cpu() time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	f := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	user, _ := strconv.ParseInt(f[11], 10, 64)
	system, _ := strconv.ParseInt(f[12], 10, 64)
	return time.Duration(user+system) * 10 * time.Millisecond
}

// memory returns the most memory that the server has had, and what it has now.
func (s *server) memory() (most, now int64) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) == 3 && f[0] == "VmHWM:" {
			most, _ = strconv.ParseInt(f[1], 10, 64)
		}
		if len(f) == 3 && f[0] == "VmRSS:" {
			now, _ = strconv.ParseInt(f[1], 10, 64)
		}
	}
	return most << 10, now << 10
}

// size returns the bytes of the files of the store: those of the log, and all others.
func (s *server) size() (log, rest int64) {
	filepath.WalkDir(s.data, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil // a file that has gone
		}
		if info, err := d.Info(); err == nil {
			if strings.HasSuffix(name, ".wal") {
				log += info.Size()
			} else {
				rest += info.Size()
			}
		}
		return nil
	})
	return log, rest
}

// settle waits until all that is in the log is in segments, of which there is one for each hour.
func (s *server) settle(ctx context.Context) error {
	last, since := int64(-1), time.Now()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
		log, rest := s.size()
		if log+rest != last {
			last, since = log+rest, time.Now()
		}
		if log == 0 && time.Since(since) > 45*time.Second {
			return nil
		}
	}
}

// push sends a profile and returns how long that took.
func (s *server) push(client *http.Client, u *store.Upload) (time.Duration, error) {
	q := url.Values{"service": {u.Service}, "kind": {u.Kind}, "from": {u.Start.Format(time.RFC3339Nano)}, "until": {u.End.Format(time.RFC3339Nano)}}
	for _, l := range append(u.Labels, u.Row...) {
		q.Add("label", l.Name+"="+l.Value)
	}
	began := time.Now()
	resp, err := client.Post(s.url+"/api/v1/profiles?"+q.Encode(), "application/octet-stream", bytes.NewReader(u.Raw))
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	words, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, words)
	}
	return time.Since(began), err
}

// send sends the profiles of a fleet from many clients, and returns how many bytes that were, and the sum of the CPU time in them by service.
func (b *bench) send(s *server, f storetest.Fleet, clients int) (profiles int, size int64, err error) {
	work := make(chan *store.Upload, 2*clients)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	var senders sync.WaitGroup
	var mu sync.Mutex
	for range clients {
		senders.Go(func() {
			for u := range work {
				for {
					_, pushed := s.push(client, u)
					if pushed == nil || b.ctx.Err() != nil {
						break
					}
					if strings.HasPrefix(pushed.Error(), "429") {
						time.Sleep(200 * time.Millisecond) // more than the server lets one tenant send
						continue
					}
					mu.Lock()
					err = errors.Join(err, pushed)
					mu.Unlock()
					break
				}
			}
		})
	}
	f.Uploads(func(u *store.Upload) bool {
		profiles++
		size += int64(len(u.Raw))
		work <- u
		return b.ctx.Err() == nil
	})
	close(work)
	senders.Wait()
	return profiles, size, errors.Join(err, b.ctx.Err())
}

// merged asks for a merged flame graph n times, and returns the CPU time of the server for one, how long one took, and its total.
func (b *bench) merged(s *server, service, kind string, from, to time.Time, n int) (cpu, took time.Duration, total int64, err error) {
	types := map[string]string{
		"cpu":  "process_cpu:cpu:nanoseconds:cpu:nanoseconds",
		"heap": "memory:inuse_space:bytes:space:bytes",
	}
	ask, _ := json.Marshal(map[string]any{
		"profile_typeID": types[kind], "label_selector": `{service_name="` + service + `"}`, "start": from.UnixMilli(), "end": to.UnixMilli(), "max_nodes": 8192,
	})
	before, began := s.cpu(), time.Now()
	for range n {
		resp, err := http.Post(s.url+"/querier.v1.QuerierService/SelectMergeStacktraces", "application/json", bytes.NewReader(ask))
		if err != nil {
			return 0, 0, 0, err
		}
		var answer struct {
			Flamegraph struct{ Total json.Number }
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err == nil && resp.StatusCode != http.StatusOK {
			err = fmt.Errorf("%s: %s", resp.Status, text)
		}
		if err == nil {
			err = json.Unmarshal(text, &answer)
		}
		if err != nil {
			return 0, 0, 0, err
		}
		total, _ = answer.Flamegraph.Total.Int64()
	}
	return (s.cpu() - before) / time.Duration(n), time.Since(began) / time.Duration(n), total, nil
}

// service measures a day of one service.
func (b *bench) service(what string, deploy int) error {
	s, err := b.start("one")
	if err != nil {
		return err
	}
	defer s.stop()
	f := storetest.Like117kB()
	f.Rounds, f.Deploy = b.rounds, deploy
	before := s.cpu()
	profiles, size, err := b.send(s, f, 16)
	if err != nil {
		return err
	}
	cpu := s.cpu() - before
	most, _ := s.memory()
	perCore := float64(size) / 1e6 / cpu.Seconds()
	b.row(what+": receive over HTTP, with fsync", fmt.Sprintf("%.1f MB/s of gzip per core, %.2f ms a profile of %.0f kB", perCore, cpu.Seconds()*1e3/float64(profiles), float64(size)/1e3/float64(profiles)),
		"40 MB/s", perCore >= 40 || deploy > 0)
	b.row(what+": most memory meanwhile", megabytes(most), "256 MB", most <= 256e6)
	if err := s.settle(b.ctx); err != nil {
		return err
	}
	_, rest := s.size()
	goal := 25.0
	if deploy > 0 {
		goal = 10
	}
	ratio := float64(size) / float64(rest)
	b.row(what+": bytes of the folder", fmt.Sprintf("%s, 1/%.0f of gzip", megabytes(rest), ratio), fmt.Sprintf("1/%.0f", goal), ratio >= goal)
	hour := f.Start.Truncate(time.Hour).Add(time.Hour)
	end := f.Start.Add(time.Duration(f.Rounds) * f.Every)
	for _, ask := range []struct {
		kind, what string
		from, to   time.Time
		goal       time.Duration
	}{
		{"cpu", "1 h", hour, hour.Add(time.Hour), 10 * time.Millisecond},
		{"heap", "1 h", hour, hour.Add(time.Hour), 10 * time.Millisecond},
		{"cpu", "all", f.Start.Add(-time.Minute), end, 50 * time.Millisecond},
		{"heap", "all", f.Start.Add(-time.Minute), end, 100 * time.Millisecond},
	} {
		if _, _, _, err := b.merged(s, "service-0", ask.kind, ask.from, ask.to, 2); err != nil {
			return err
		}
		cpu, took, total, err := b.merged(s, "service-0", ask.kind, ask.from, ask.to, 40)
		if err != nil {
			return err
		}
		rounds := int64(f.Rounds)
		if ask.what == "1 h" {
			rounds = int64(time.Hour / f.Every)
		}
		if want := int64(f.Ticks) * 10_000_000 * rounds; ask.kind == "cpu" && total != want || total == 0 {
			return fmt.Errorf("the total of %s of %s is %d, want %d", ask.what, ask.kind, total, want)
		}
		b.row(fmt.Sprintf("%s: merged flame graph, %s of %s", what, ask.what, ask.kind), fmt.Sprintf("%.1f ms of CPU, %.1f ms", cpu.Seconds()*1e3, took.Seconds()*1e3),
			fmt.Sprintf("%d ms", ask.goal.Milliseconds()), cpu <= ask.goal)
	}
	return b.page(s, what+", all", "service-0", f.Start.Add(-time.Minute), end)
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

// fleet measures the memory that twenty services with five kinds take, over days.
func (b *bench) fleet() error {
	s, err := b.start("fleet")
	if err != nil {
		return err
	}
	defer s.stop()
	f := storetest.Like117kB()
	f.Services, f.Kinds, f.Every, f.Rounds, f.Deploy = 20, []string{"cpu", "heap", "goroutine", "mutex", "block"}, time.Hour, 7*24, 24
	f.Stacks, f.Ticks = 2000, 700
	if _, _, err := b.send(s, f, 8); err != nil {
		return err
	}
	if err := s.settle(b.ctx); err != nil {
		return err
	}
	most, now := s.memory()
	b.row("20 services × 5 kinds, a week: most memory", megabytes(most), "256 MB", most <= 256e6)
	b.row("the same, at rest", megabytes(now), "", true)
	from, to := f.Start.Add(-time.Hour), f.Start.Add(8*24*time.Hour)
	_, first, _, err := b.merged(s, "service-7", "cpu", from, to, 1)
	if err != nil {
		return err
	}
	b.row("the same: first flame graph of a week", fmt.Sprintf("%.0f ms", first.Seconds()*1e3), "1 s", first <= time.Second)
	return nil
}

// latency measures how long senders wait at a hundred profiles a second.
func (b *bench) latency() error {
	s, err := b.start("latency")
	if err != nil {
		return err
	}
	defer s.stop()
	f := storetest.Like117kB()
	f.Instances, f.Rounds, f.Kinds, f.Ticks = 10, 100, []string{"cpu"}, 600
	all := f.All()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	times := make([]time.Duration, len(all))
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for i, u := range all {
		<-tick.C
		wg.Go(func() { times[i], errs[i] = s.push(client, u) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	slices.Sort(times)
	p99 := times[len(times)*99/100]
	b.row("100 profiles a second: acknowledged after", fmt.Sprintf("p50 %.1f ms, p99 %.1f ms", times[len(times)/2].Seconds()*1e3, p99.Seconds()*1e3), "p99 100 ms", p99 <= 100*time.Millisecond)
	return nil
}
