package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/load/loadtest"
	"github.com/hone-perf/hone/internal/maxrss"
)

// A generator is a program that loads.
type generator struct {
	name  string
	args  func(url string, conns int, length time.Duration) []string // the first is the program
	count *regexp.Regexp                                             // finds how many requests there were
}

func (b *bench) generators() []generator {
	hone := func(engine string) func(string, int, time.Duration) []string {
		return func(url string, conns int, length time.Duration) []string {
			return []string{b.hone, "load", "--engine", engine, "--threads", "1", "--warmup", "0", "-c", strconv.Itoa(conns), "-t", length.String(), "--json", url}
		}
	}
	answered := regexp.MustCompile(`"answered": ([0-9]+),\n  "good"`)
	seconds := func(d time.Duration) string { return strconv.Itoa(int(max(d.Seconds(), 1))) }
	return []generator{
		{"wrk", func(url string, conns int, length time.Duration) []string {
			return []string{"wrk", "-t", "1", "-c", strconv.Itoa(conns), "-d", seconds(length), url}
		}, regexp.MustCompile(`([0-9]+) requests in`)},
		{"hone epoll", hone("epoll"), answered},
		{"hone portable", hone("portable"), answered},
		{"ab", func(url string, conns int, length time.Duration) []string {
			return []string{"ab", "-q", "-k", "-t", seconds(length), "-n", "10000000", "-c", strconv.Itoa(conns), url}
		}, regexp.MustCompile(`Complete requests: +([0-9]+)`)},
		{"hone net/http", hone("net/http"), answered},
		{"hey", func(url string, conns int, length time.Duration) []string {
			return []string{"hey", "-z", length.String(), "-c", strconv.Itoa(conns), url}
		}, regexp.MustCompile(`\[200\]\s+([0-9]+) responses`)},
	}
}

// limits are the most that a generator may take, as a ratio to wrk, by connections. Of the others none is set.
var limits = map[string]map[int]float64{
	"hone epoll":    {100: 1.0, 32: 1.1},
	"hone portable": {100: 1.25, 32: 1.25},
}

// cpu compares generators.
func (b *bench) cpu() error {
	servers, err := b.servers()
	for _, s := range servers {
		defer s.stop()
	}
	if err != nil {
		return err
	}
	if _, err := exec.LookPath("wrk"); err != nil {
		return errors.New("wrk is what others are compared with, and is not installed: apt-get install wrk")
	}
	fmt.Fprintf(b.out, "| server | connections | generator | CPU µs/request, median of %d | ratio to wrk in a round: median | least | most | target |\n|---|--:|---|--:|--:|--:|--:|---|\n", b.rounds)
	for _, s := range servers {
		for _, conns := range []int{100, 32} {
			if err := b.compare(s, conns); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *bench) compare(s server, conns int) error {
	costs, ratios := map[string][]float64{}, map[string][]float64{}
	for round := range b.rounds {
		fmt.Fprintf(b.log, "loadbench: %s, %d connections, round %d of %d\n", s.name, conns, round+1, b.rounds)
		reference := 0.0
		for _, g := range b.generators() {
			args := g.args(s.url, conns, b.length)
			if _, err := exec.LookPath(args[0]); err != nil {
				if round == 0 {
					fmt.Fprintf(b.log, "loadbench: %s is not installed and left out\n", g.name)
				}
				continue
			}
			cost, err := b.cost(g, args)
			if err != nil {
				return err
			}
			if g.name == "wrk" {
				reference = cost
			}
			costs[g.name] = append(costs[g.name], cost)
			ratios[g.name] = append(ratios[g.name], cost/reference)
		}
	}
	for _, g := range b.generators() {
		c, r := costs[g.name], ratios[g.name]
		if len(c) == 0 {
			continue
		}
		slices.Sort(c)
		slices.Sort(r)
		target := ""
		if limit, ok := limits[g.name][conns]; ok && s.name == "nginx" {
			target = fmt.Sprintf("at most %.2f: %s", limit, b.target(r[len(r)/2] <= limit))
		}
		fmt.Fprintf(b.out, "| %s | %d | %s | %.2f | %.2f | %.2f | %.2f | %s |\n", s.name, conns, g.name, c[len(c)/2], r[len(r)/2], r[0], r[len(r)-1], target)
	}
	return nil
}

// cost runs a generator and returns its CPU time for each request, in microseconds.
func (b *bench) cost(g generator, args []string) (float64, error) {
	cmd := b.pinned("1", args[0], args[1:]...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
	}
	m := g.count.FindSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("%s does not say how many requests there were:\n%s", strings.Join(args, " "), out)
	}
	n, err := strconv.ParseFloat(string(m[1]), 64)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%s did %s requests", strings.Join(args, " "), m[1])
	}
	used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return float64(used.Microseconds()) / n, nil
}

// calls counts system calls.
func (b *bench) calls() error {
	if _, err := exec.LookPath("strace"); err != nil {
		return errors.New("strace counts them, and is not installed: apt-get install strace")
	}
	servers, err := b.servers()
	for _, s := range servers {
		defer s.stop()
	}
	if err != nil {
		return err
	}
	const requests, conns = 50_000, 100
	fmt.Fprintf(b.out, "\n| engine | system calls for each of %d requests | of these on sockets and epoll | target |\n|---|--:|--:|---|\n", requests)
	for _, e := range []struct {
		name string
		most float64
	}{{"epoll", 2.1}, {"portable", 3.1}} {
		file := filepath.Join(b.dir, "strace")
		out, err := b.pinned("1", "strace", "-f", "-c", "-o", file, b.hone, "load", "--engine", e.name, "--threads", "1", "-n", strconv.Itoa(requests), "-c", strconv.Itoa(conns), servers[0].url).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
		all, ours, err := callsIn(file)
		if err != nil {
			return err
		}
		per := float64(ours) / requests
		fmt.Fprintf(b.out, "| %s | %.2f | %.2f | at most %.1f on sockets and epoll: %s |\n", e.name, float64(all)/requests, per, e.most, b.target(per <= e.most))
	}
	return nil
}

// memory looks how much a long run has.
func (b *bench) memory() error {
	servers, err := b.servers()
	for _, s := range servers {
		defer s.stop()
	}
	if err != nil {
		return err
	}
	const most = 30 << 20
	cmd := b.pinned("1", b.hone, "load", "-n", strconv.FormatInt(b.requests, 10), "-c", "100", servers[0].url)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	rss := maxrss.Of(cmd.ProcessState)
	if rss == 0 {
		return errors.New("this system does not say how much memory a program had")
	}
	fmt.Fprintf(b.out, "\nResident memory in a run of %d requests on 100 connections: %.1f MB at most; at most 30: %s.\n", b.requests, float64(rss)/(1<<20), b.target(rss <= most))
	return nil
}

// stall looks what becomes of times when a server stalls.
func (b *bench) stall() error {
	s, err := loadtest.Listen(loadtest.Options{Every: 5 * time.Second, Stall: time.Second})
	if err != nil {
		return err
	}
	defer s.Close()
	out, err := exec.CommandContext(b.ctx, b.hone, "load", "--rate", "200", "-c", "10", "-t", "30s", "--warmup", "0", "--json", s.URL+"/200").Output()
	if err != nil {
		return err
	}
	var got struct {
		Sent        int64
		Percentiles []struct {
			Percent    float64
			ServiceNS  int64 `json:"service_ns"`
			ResponseNS int64 `json:"response_ns"`
		}
	}
	if err := json.NewDecoder(bytes.NewReader(out)).Decode(&got); err != nil {
		return err
	}
	fmt.Fprint(b.out, "\n| stall | truth | response | service | target |\n|---|--:|--:|--:|---|\n")
	for _, want := range []struct{ percent, ms, within float64 }{{90, 500, 30}, {99, 950, 20}, {99.9, 995, 20}} {
		for _, p := range got.Percentiles {
			if p.Percent == want.percent {
				ms := float64(p.ResponseNS) / 1e6
				fmt.Fprintf(b.out, "| %v%% | %v ms | %.1f ms | %.1f ms | within %v ms: %s |\n", p.Percent, want.ms, ms, float64(p.ServiceNS)/1e6, want.within, b.target(math.Abs(ms-want.ms) <= want.within))
			}
		}
	}
	fmt.Fprintf(b.out, "| sent | 6000 | %d | | within 0.5 %%: %s |\n", got.Sent, b.target(math.Abs(float64(got.Sent)-6000) <= 30))
	return nil
}
