// Fleetbench measures what hone serve costs: to receive profiles over HTTP, to keep them, and to answer about an hour, a day and a month.
//
//	go run ./tools/fleetbench [-rounds n] [-days n] [-hone program] [-only regexp]
//
// It builds hone, or takes a program, starts it on a folder of its own, and sends generated profiles as large as real ones: of one service that stays as it is, of one that is
// deployed every hour, and of twenty over 30 days; and of one with ClickHouse in place of the folder, which tools/chdb runs. What counts is the CPU time of the
// server, user and system, its memory, and the bytes of its folder. Each answer is checked against what was sent. The answer is a Markdown table on standard
// output. Of the 30 days, all but the last week are written once, to the folder of the user for caches, which takes some minutes.
// The exit code is 0 if all goals are met, 1 if one is missed, and 2 for a wrong command line.
//
// It is run at the root of the repository, on Linux.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"

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
	fl.IntVar(&b.days, "days", 30, "days of profiles of twenty services")
	fl.StringVar(&b.hone, "hone", "", "the hone to measure; none is that of this folder")
	only := fl.String("only", "", "cases whose names match `regexp`: steady, churn, fleet, clickhouse, latency")
	switch err := fl.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil || fl.NArg() > 0 || b.rounds < 120 || b.days < 2:
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
	days   int
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
	if b.hone == "" {
		b.hone = filepath.Join(b.dir, "hone")
		build := exec.CommandContext(b.ctx, "go", "build", "-trimpath", "-o", b.hone, ".")
		build.Stderr = b.err
		if err := build.Run(); err != nil {
			return fmt.Errorf("building hone: %w", err)
		}
	}
	fmt.Fprint(b.out, "| what | measured | goal | |\n|---|---|---|---|\n")
	for _, c := range []struct {
		name string
		run  func() error
	}{
		{"steady", func() error { return b.service("steady", 0) }},
		{"churn", func() error { return b.service("deployed every hour", 60) }},
		{"fleet", b.fleet},
		{"clickhouse", b.clickhouse},
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

// service measures a day of one service.
func (b *bench) service(what string, deploy int) error {
	s, err := b.start("one", allKept...)
	if err != nil {
		return err
	}
	defer s.stop()
	f := storetest.Like117kB()
	f.Rounds, f.Deploy = b.rounds, deploy
	before := s.cpu()
	profiles, size, err := b.send(s, f.Uploads, 16)
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
		if _, _, _, err := s.merged("service-0", ask.kind, ask.from, ask.to, 2); err != nil {
			return err
		}
		cpu, took, total, err := s.merged("service-0", ask.kind, ask.from, ask.to, 40)
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
	if err := b.tables(s, what, f.Start.Add(-time.Minute), end); err != nil {
		return err
	}
	return b.page(s, what+", all", "service-0", f.Start.Add(-time.Minute), end)
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

// latency measures how long senders wait at a hundred profiles a second.
func (b *bench) latency() error {
	s, err := b.start("latency", allKept...)
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
