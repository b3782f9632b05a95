package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"time"

	"github.com/hone-perf/hone/internal/store"
	"github.com/hone-perf/hone/internal/store/disk"
	"github.com/hone-perf/hone/internal/store/storetest"
)

const hours = 24

// prepared is how many of the days of a month are written once and not sent to the server: all but a week, and of few, half.
func (b *bench) prepared() int { return max(b.days-7, b.days/2) }

// allKept has the server keep the profiles one by one, whenever they are from. That takes more memory and time than sums.
var allKept = []string{"--keep", "4000d", "--max-size", "1TB"}

// allKinds are the kinds of profiles that each process of the fleet sends, once an hour.
var allKinds = []string{"cpu", "heap", "goroutine", "mutex", "block"}

func fleetOf(services, rounds int) storetest.Fleet {
	f := storetest.Like117kB()
	f.Services, f.Kinds, f.Every, f.Rounds, f.Deploy = services, allKinds, time.Hour, rounds, hours
	f.Stacks, f.Ticks = 2000, 700
	return f
}

// month returns the profiles of twenty services over days, from one up to before another. Service-0 is deployed each day, and all its profiles differ. Those of
// the others are the same each day, at other times and of other versions, because to make them takes longer than to keep them: names belong to a day, so the
// store has as much work with them, and as much to remember. Small ones of the others are for days that nobody asks about.
func month(from, to int, small bool) iter.Seq[*store.Upload] {
	return func(yield func(*store.Upload) bool) {
		var day []*store.Upload
		all := fleetOf(20, hours)
		if small {
			all.Stacks, all.Ticks = 300, 150
		}
		for u := range all.Uploads {
			if u.Service != "service-0" {
				day = append(day, u)
			}
		}
		round := 0
		for u := range fleetOf(1, to*hours).Uploads {
			if u.Kind == allKinds[0] && round/hours >= from {
				at := round / hours
				for _, other := range day[round%hours*len(day)/hours : (round%hours+1)*len(day)/hours] {
					later := *other
					later.Start, later.End = other.Start.AddDate(0, 0, at), other.End.AddDate(0, 0, at)
					later.Labels = store.NewLabels(store.Label{Name: "version", Value: fmt.Sprintf("v%d", at)})
					if !yield(&later) {
						return
					}
				}
			}
			if round/hours >= from && !yield(u) {
				return
			}
			if u.Kind == allKinds[len(allKinds)-1] {
				round++
			}
		}
	}
}

// prepare returns a folder with the first days of the month, which it writes when it is not there.
func (b *bench) prepare() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "hone-fleetbench", fmt.Sprintf("month-1-%d", b.prepared())) // another number when the profiles or the format change
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	fmt.Fprintln(b.err, "fleetbench: writing the first days of the month to", dir)
	tmp := dir + ".new"
	if err := errors.Join(os.RemoveAll(tmp), os.MkdirAll(tmp, 0o700)); err != nil {
		return "", err
	}
	o := disk.Defaults
	o.Bytes, o.Detail, o.Hours, o.Days = 0, 0, 0, 0
	s, err := disk.Open(tmp, o)
	if err != nil {
		return "", err
	}
	ctx, stop := context.WithCancel(b.ctx)
	maintained := make(chan struct{})
	go func() {
		defer close(maintained)
		s.Run(ctx, func(err error) { fmt.Fprintln(b.err, "fleetbench:", err) })
	}()
	var batch []*store.Upload
	for u := range month(0, b.prepared(), true) {
		if batch = append(batch, u); len(batch) == 100 {
			if _, err = s.Add(ctx, "default", batch); err != nil {
				break
			}
			batch = nil
		}
	}
	if err == nil {
		_, err = s.Add(ctx, "default", batch)
	}
	stop()
	<-maintained
	if err := errors.Join(err, b.ctx.Err(), s.Close()); err != nil {
		return "", err
	}
	return dir, os.Rename(tmp, dir)
}

// fleet measures what twenty services with five kinds take over a month: memory while the last week comes, and questions about all of it.
func (b *bench) fleet() error {
	what := fmt.Sprintf("20 services × 5 kinds, %d days", b.days)
	dir, err := b.prepare()
	if err != nil {
		return err
	}
	if err := os.CopyFS(filepath.Join(b.dir, "fleet"), os.DirFS(dir)); err != nil {
		return err
	}
	s, err := b.start("fleet", allKept...)
	if err != nil {
		return err
	}
	defer func() { s.stop() }()
	var resting []int64
	most, next := int64(0), fleetOf(1, 1).Start.AddDate(0, 0, b.prepared())
	before, began, profiles, size := s.cpu(), time.Now(), 0, int64(0)
	day := make([]*store.Upload, 0, 20*len(allKinds)*hours)
	send := func() error {
		n, bytes, err := b.send(s, func(yield func(*store.Upload) bool) {
			for _, u := range day {
				if !yield(u) {
					return
				}
			}
		}, 8)
		if err != nil {
			return err
		}
		profiles, size, day = profiles+n, size+bytes, day[:0]
		next = next.AddDate(0, 0, 1)
		now := int64(0)
		most, now = s.memory()
		resting = append(resting, now)
		return nil
	}
	for u := range month(b.prepared(), b.days, false) {
		if u.Start.Sub(next) >= 24*time.Hour-time.Minute {
			if err := send(); err != nil {
				return err
			}
		}
		day = append(day, u)
	}
	if err := send(); err != nil {
		return err
	}
	cpu := s.cpu() - before
	b.row(what+": receive the last week", fmt.Sprintf("%d profiles of %.0f kB, %.2f ms of CPU each, %.0f s", profiles, float64(size)/1e3/float64(profiles), cpu.Seconds()*1e3/float64(profiles), time.Since(began).Seconds()), "", true)
	b.row(what+": most memory meanwhile", megabytes(most), "256 MB", most <= 256e6)
	flat := float64(resting[len(resting)-1]) <= 1.2*float64(resting[0])
	text := ""
	for _, n := range resting {
		text += fmt.Sprintf(" %.0f", float64(n)/1e6)
	}
	b.row(what+": memory after each of these days, MB", text[1:], "the last at most 1.2 of the first", flat)
	s.end()
	_, rest := s.size()
	b.row(what+": bytes of the folder", megabytes(rest), "", true)
	began = time.Now()
	if s, err = b.start("fleet", allKept...); err != nil {
		return err
	}
	b.row(what+": start", fmt.Sprintf("%.0f ms", time.Since(began).Seconds()*1e3), "1 s", time.Since(began) <= time.Second)
	from, to := fleetOf(1, 1).Start.Add(-time.Minute), fleetOf(1, 1).Start.AddDate(0, 0, b.days)
	if err := b.first(s, what, from, to, time.Second); err != nil {
		return err
	}
	if err := b.tables(s, what, from, to); err != nil {
		return err
	}
	most, _ = s.memory()
	b.row(what+": most memory after these questions", megabytes(most), "256 MB", most <= 256e6)
	return nil
}

// first measures the first flame graphs of service-0 over a time that nobody asked about before, and the next ones.
func (b *bench) first(s *server, what string, from, to time.Time, goal time.Duration) error {
	for _, kind := range []string{"cpu", "heap"} {
		cpu, took, total, err := s.merged("service-0", kind, from, to, 1)
		if err != nil {
			return err
		}
		if want := int64(fleetOf(1, 1).Ticks) * 10_000_000 * int64(b.days) * hours; kind == "cpu" && total != want {
			return fmt.Errorf("the total of the month is %d, want %d", total, want)
		}
		b.row(what+": first flame graph of "+kind, fmt.Sprintf("%.0f ms of CPU, %.0f ms", cpu.Seconds()*1e3, took.Seconds()*1e3), fmt.Sprintf("%.0f s", goal.Seconds()), goal == 0 || took <= goal)
		if cpu, took, _, err = s.merged("service-0", kind, from, to, 3); err != nil {
			return err
		}
		b.row(what+": the same again", fmt.Sprintf("%.0f ms of CPU, %.0f ms", cpu.Seconds()*1e3, took.Seconds()*1e3), "", true)
	}
	return nil
}
