// Fleetsim measures what hone serve notices: it simulates services whose truth is known, and prints how many changes are found, how
// soon and for what reason, and how many alarms are false.
//
//	go run ./tools/fleetsim --trials 100 --days 360 --seed 1
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hone-perf/hone/internal/fleet/event"
	"github.com/hone-perf/hone/internal/fleet/notice"
	"github.com/hone-perf/hone/internal/fleet/notice/noticetest"
)

var (
	verbose  = flag.Bool("v", false, "print each event")
	requests = flag.Bool("requests", false, "services count their requests by handler")
	others   = flag.Bool("others", true, "also change one process of ten, and whole handlers")
	large    = flag.Bool("large", false, "change only functions that could also cost less by as much")
)

func main() {
	sizes := flag.String("sizes", "0.005,0.0075,0.01,0.02,0.05,0.1,-0.01,-0.02", "changes to make, of what the service costs")
	trials := flag.Int("trials", 40, "changes of each size")
	days := flag.Int("days", 60, "days of services without changes of code")
	seed := flag.Uint64("seed", 1, "first seed")
	flag.Parse()
	if err := run(*sizes, *trials, *days, *seed); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(sizes string, trials, days int, seed uint64) error {
	fmt.Println("| change of the service's CPU | found within an hour | median time | named the function | or one next to it | version | more events |")
	fmt.Println("|---:|---:|---:|---:|---:|---:|---:|")
	for _, text := range strings.FieldsFunc(sizes, func(r rune) bool { return r == ',' }) {
		size, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return err
		}
		if trials == 0 {
			break
		}
		all := make([]trial, trials)
		err = each(trials, func(i int) (err error) {
			all[i], err = change(seed+uint64(i), size)
			return err
		})
		if err != nil {
			return err
		}
		print(fmt.Sprintf("%.2f %%", 100*size), all)
	}
	if trials > 0 && *others {
		for _, size := range []float64{0.02, 0.05} {
			all := make([]trial, trials)
			err := each(trials, func(i int) (err error) {
				all[i], err = canary(seed+uint64(i), size)
				return err
			})
			if err != nil {
				return err
			}
			print(fmt.Sprintf("%.0f %% in one process of ten", 100*size), all)
		}
		all := make([]trial, trials)
		err := each(trials, func(i int) (err error) {
			all[i], err = kind(seed+uint64(i), wholeSize, noticetest.Whole)
			return err
		})
		if err != nil {
			return err
		}
		print(fmt.Sprintf("%.0f %%, in all that a handler does", 100*wholeSize), all)
	}
	if days == 0 {
		return nil
	}
	const length = 10
	var code, work, wrong, shifts int
	var mu sync.Mutex
	err := each((days+length-1)/length, func(i int) error {
		c, w, f, s, err := quiet(seed+uint64(i), length)
		mu.Lock()
		defer mu.Unlock()
		code, work, wrong, shifts = code+c, work+w, wrong+f, shifts+s
		return err
	})
	if err != nil {
		return err
	}
	months := float64((days+length-1)/length*length) / 30
	fmt.Printf("\n%.1f service-months: %d false alarms of code (%.2f a month), %d events of traffic and mix, %d of them false; %d shifts\n", months, code, float64(code)/months, work, wrong, shifts)
	return nil
}

// each runs trials on two processors.
func each(n int, do func(i int) error) error {
	var wg sync.WaitGroup
	next := make(chan int)
	errs := make(chan error, n)
	for range 2 {
		wg.Go(func() {
			for i := range next {
				errs <- do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
	for range n {
		if err := <-errs; err != nil {
			return err
		}
	}
	return nil
}

func print(what string, all []trial) {
	var took []time.Duration
	var found, named, near, version, more int
	for _, t := range all {
		more += max(0, t.events-1)
		if t.found {
			found++
			took = append(took, t.took)
		}
		if t.named {
			named++
		}
		if t.near {
			near++
		}
		if t.version {
			version++
		}
	}
	mid := "–"
	if len(took) > 0 {
		slices.Sort(took)
		mid = fmt.Sprintf("%.0f min", took[len(took)/2].Minutes())
	}
	share := func(n int) string { return fmt.Sprintf("%.0f %%", 100*float64(n)/float64(max(1, found))) }
	fmt.Printf("| %s | %.0f %% | %s | %s | %s | %s | %d |\n", what, 100*float64(found)/float64(len(all)), mid, share(named), share(near), share(version), more)
}

// A trial says what came of one change.
type trial struct {
	found, named, near, version bool
	took                        time.Duration
	events                      int // of code, at that time: there is one cause
}

// A watch is a fleet that is watched.
type watch struct {
	*noticetest.Fleet
	notice *notice.Noticer
	events *event.Log
	close  func()
}

func begin(seed uint64) (*watch, error) {
	dir, err := os.MkdirTemp("", "fleetsim-")
	if err != nil {
		return nil, err
	}
	events, err := event.Open(filepath.Join(dir, "events.jsonl"))
	if err != nil {
		return nil, err
	}
	f := noticetest.New(seed, time.Date(2026, 9, 1, int(seed%24), 0, 0, 0, time.UTC))
	f.Requests = *requests
	w := &watch{Fleet: f, events: events, close: func() { events.Close(); os.RemoveAll(dir) }}
	w.notice = notice.New(notice.Options{Store: f, Events: events, Now: func() time.Time { return f.Now.Add(3 * time.Minute) }})
	return w, nil
}

func (w *watch) step() error {
	w.Advance()
	return w.notice.Look(context.Background())
}

// wholeSize is how much a service costs more because a whole handler does.
const wholeSize = 0.05

func change(seed uint64, size float64) (trial, error) {
	return kind(seed, size, noticetest.Kind(seed%uint64(noticetest.Kinds-b2i(size < 0 || *large))))
}

// kind plans a change some hours after the start, and looks for an hour and a quarter.
func kind(seed uint64, size float64, kind noticetest.Kind) (trial, error) {
	w, err := begin(seed)
	if err != nil {
		return trial{}, err
	}
	defer w.close()
	for range 45 + int(seed%17) {
		w.Live()
		if err := w.step(); err != nil {
			return trial{}, err
		}
	}
	at := w.Now.Add(time.Duration(seed%5) * time.Minute)
	name := w.Regress(noticetest.Regression{At: at, Size: size, Kind: kind, Large: *large && kind != noticetest.Whole})
	for range 13 {
		w.Live()
		if err := w.step(); err != nil {
			return trial{}, err
		}
	}
	return w.judge(seed, at, size, name), nil
}

func b2i(b bool) noticetest.Kind {
	if b {
		return 1
	}
	return 0
}

// canary deploys a version that costs more to one process of ten.
func canary(seed uint64, size float64) (trial, error) {
	w, err := begin(seed)
	if err != nil {
		return trial{}, err
	}
	defer w.close()
	for range 45 + int(seed%17) {
		if err := w.step(); err != nil {
			return trial{}, err
		}
	}
	w.Canary = 1
	w.Fleet.Deploy()
	at := w.Now
	name := w.Regress(noticetest.Regression{At: at, Size: size, Kind: noticetest.Kind(seed % uint64(noticetest.Kinds))})
	for range 14 {
		if err := w.step(); err != nil {
			return trial{}, err
		}
	}
	return w.judge(seed, at, size, name), nil
}

func (w *watch) judge(seed uint64, at time.Time, size float64, name string) (t trial) {
	events, _ := w.events.List(event.Filter{Tenant: noticetest.Tenant, Kinds: []event.Kind{event.Changed}})
	for _, e := range events {
		c := e.Change
		if *verbose {
			fmt.Printf("  seed %d true %s %.3f at %s: %s %s %.4f at %s with %v\n", seed, name, size, at.Format("15:04"), c.Source, c.Function, c.Share, e.Time.Format("15:04"), c.With)
		}
		if c.Source == event.Code && e.Time.Sub(at).Abs() <= 40*time.Minute {
			t.events++
		}
		if c.Source != event.Code || e.Time.Sub(at).Abs() > 25*time.Minute || c.Share*size < 0 || e.Noticed.Sub(at) > time.Hour || t.found && t.near {
			continue
		}
		t.found, t.took = true, e.Noticed.Sub(at)
		t.named = c.Function == name
		t.near = w.Near(c.Function)
		t.version = c.Version != ""
	}
	if *verbose && !t.found {
		fmt.Printf("  seed %d true %s %.3f at %s: not found\n", seed, name, size, at.Format("15:04"))
	}
	return t
}

// quiet watches a service for some days whose code does not change.
func quiet(seed uint64, days int) (code, work, wrong, shifts int, err error) {
	w, err := begin(seed)
	if err != nil {
		return 0, 0, 0, 0, err
	}
	defer w.close()
	for range days * int(24*time.Hour/noticetest.Step) {
		w.Live()
		if err := w.step(); err != nil {
			return 0, 0, 0, 0, err
		}
	}
	events, _ := w.events.List(event.Filter{Tenant: noticetest.Tenant, Kinds: []event.Kind{event.Changed}})
	for _, e := range events {
		real := slices.ContainsFunc(w.Shifts, func(t time.Time) bool { return t.Sub(e.Time).Abs() <= 35*time.Minute })
		if *verbose && (e.Change.Source == event.Code || !real) {
			fmt.Printf("  seed %d false: %s %s %.4f at %s with %v version %s\n", seed, e.Change.Source, e.Change.Function, e.Change.Share, e.Time.Format("02 15:04"), e.Change.With, e.Change.Version)
		}
		if e.Change.Source == event.Code {
			code++
		} else if work++; !real {
			wrong++
		}
	}
	return code, work, wrong, len(w.Shifts), nil
}
