// Tracebench measures what answers about an execution trace cost, next to go tool trace and to golang.org/x/exp/trace.
//
//	go run ./tools/tracebench [-n rounds] [-requests number] [-trace file]
//
// Without -trace, it records examples/shop while that answers -requests requests of its own. All programs run in turn, on the same file, and what counts is
// the median of their CPU time, user and system, and of the most memory that they had. The first page of go tool trace is asked for once alone: that takes minutes. The answer is a Markdown table on standard output.
// The exit code is 0 if all goals are met, 1 if one is missed or could not be measured, and 2 for a wrong command line.
//
// It is run at the root of the repository.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/exp/trace"

	"github.com/hone-perf/hone/internal/maxrss"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop() // explicitly: os.Exit skips deferred calls
	os.Exit(code)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	fs := flag.NewFlagSet("tracebench", flag.ContinueOnError)
	fs.SetOutput(stderr)
	rounds := fs.Int("n", 3, "run each program so `often`, and take medians")
	requests := fs.Int("requests", 200_000, "record a service that answers so `many`")
	file := fs.String("trace", "", "measure with this `file`")
	library := fs.String("library", "", "read this `file` with golang.org/x/exp/trace, and do nothing else")
	err := fs.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil || fs.NArg() > 0 || *rounds < 1:
		return 2
	case *library != "":
		err = readAll(*library)
	default:
		var met bool
		if met, err = bench(ctx, *rounds, *requests, *file, stdout, stderr); err == nil && !met {
			return 1
		}
	}
	if err != nil {
		fmt.Fprintln(stderr, "tracebench:", err)
		return 1
	}
	return 0
}

// readAll reads a trace with the library, as the least that a program built on it does.
func readAll(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	r, err := trace.NewReader(f)
	if err != nil {
		return err
	}
	for {
		if _, err := r.ReadEvent(); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// A program is one that is measured.
type program struct {
	name string
	args []string
	page string // the page that it serves, which is asked for once; "" ends by itself
	cpu  []time.Duration
	mem  []int64
}

func (p *program) median() (time.Duration, int64) {
	slices.Sort(p.cpu)
	slices.Sort(p.mem)
	return p.cpu[len(p.cpu)/2], p.mem[len(p.mem)/2]
}

// The goals, as times less CPU time and less memory than go tool trace takes for its scheduler profile, and less CPU time than the library.
const (
	lessCPU     = 15
	lessMemory  = 50
	lessLibrary = 2
	lessPage    = 50 // than go tool trace takes until it has answered with its first page
)

func bench(ctx context.Context, rounds, requests int, file string, stdout, stderr io.Writer) (bool, error) {
	dir, err := os.MkdirTemp("", "tracebench-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	hone, shop := filepath.Join(dir, "hone"), filepath.Join(dir, "shop")
	fmt.Fprintln(stderr, "tracebench: building")
	if err := command(ctx, "go", "build", "-o", hone, "."); err != nil {
		return false, err
	}
	if file == "" {
		if err := command(ctx, "go", "build", "-C", "examples/shop", "-o", shop, "."); err != nil {
			return false, err
		}
		file = filepath.Join(dir, "shop.trace")
		fmt.Fprintln(stderr, "tracebench: recording")
		if err := command(ctx, shop, "-n", strconv.Itoa(requests), "-clients", "32", "-trace", file); err != nil {
			return false, err
		}
	}
	st, err := os.Stat(file)
	if err != nil {
		return false, err
	}
	tool, err := exec.CommandContext(ctx, "go", "tool", "-n", "trace").Output()
	if err != nil {
		return false, fmt.Errorf("finding go tool trace: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return false, err
	}
	address, err := freeAddress()
	if err != nil {
		return false, err
	}
	all := []*program{
		{name: "go tool trace -pprof=sched", args: []string{strings.TrimSpace(string(tool)), "-pprof=sched", file}},
		{name: "go tool trace, its first page", args: []string{strings.TrimSpace(string(tool)), "-http=" + address, file}, page: "http://" + address + "/"},
		{name: "x/exp/trace, all events", args: []string{self, "-library", file}},
		{name: "hone top --metric ready", args: []string{hone, "top", "--metric", "ready", file}},
		{name: "hone waits", args: []string{hone, "waits", file}},
		{name: "hone trace", args: []string{hone, "trace", file}},
		{name: "hone requests", args: []string{hone, "requests", file}},
		{name: "hone request slowest", args: []string{hone, "request", "slowest", file}},
		{name: "hone lanes", args: []string{hone, "lanes", file}},
	}
	for i := range rounds {
		for _, p := range all {
			if p.page != "" && i > 0 {
				continue // it takes minutes
			}
			fmt.Fprintf(stderr, "tracebench: round %d of %d, %s\n", i+1, rounds, p.name)
			if err := p.measure(ctx); err != nil {
				return false, err
			}
		}
	}
	fmt.Fprintf(stdout, "A trace of %.1f MB, medians of %d.\n\n", float64(st.Size())/1e6, rounds)
	fmt.Fprintln(stdout, "| program | CPU time | memory | beside go tool trace | beside x/exp/trace |\n|---|---:|---:|---:|---:|")
	cpu, mem := all[0].median()
	page, _ := all[1].median()
	lib, _ := all[2].median()
	met := true
	for i, p := range all {
		c, m := p.median()
		beside, library := "", ""
		if i > 1 {
			beside = fmt.Sprintf("1/%.1f of the CPU, 1/%.0f of the memory", float64(cpu)/float64(c), float64(mem)/float64(m))
		}
		if i > 2 {
			library = fmt.Sprintf("1/%.1f", float64(lib)/float64(c))
		}
		switch p.name {
		case "hone top --metric ready":
			met = met && float64(cpu)/float64(c) >= lessCPU && float64(mem)/float64(m) >= lessMemory && float64(lib)/float64(c) >= lessLibrary
		case "hone trace":
			met = met && float64(page)/float64(c) >= lessPage
			beside += fmt.Sprintf("; 1/%.0f of the CPU of its first page", float64(page)/float64(c))
		}
		fmt.Fprintf(stdout, "| `%s` | %.2f s | %.0f MB | %s | %s |\n", p.name, c.Seconds(), float64(m)/1e6, beside, library)
	}
	fmt.Fprintf(stdout, "\nGoals, for the profile: 1/%d of the CPU and 1/%d of the memory of go tool trace, 1/%d of the CPU of x/exp/trace; for the overview, 1/%d of the CPU of its first page: %s.\n",
		lessCPU, lessMemory, lessLibrary, lessPage, map[bool]string{true: "met", false: "missed"}[met])
	return met, nil
}

func command(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %w\n%s", cmd, err, out)
	}
	return nil
}

func (p *program) measure(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, p.args[0], p.args[1:]...)
	var said bytes.Buffer
	cmd.Stderr = &said
	run := cmd.Run
	if p.page != "" {
		cmd.Env = append(os.Environ(), "BROWSER=true") // or it opens one
		run = func() error { return p.serve(ctx, cmd) }
	}
	if err := run(); err != nil {
		return fmt.Errorf("%v: %w\n%s", cmd, err, &said)
	}
	p.cpu = append(p.cpu, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
	p.mem = append(p.mem, maxrss.Of(cmd.ProcessState))
	return nil
}

// serve runs a program until it has answered with its page.
func (p *program) serve(ctx context.Context, cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.page, nil)
		if err != nil {
			return err
		}
		if resp, err := http.DefaultClient.Do(req); err == nil {
			_, err = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			cmd.Process.Kill()
			<-ended // with the signal
			return err
		}
		select {
		case err := <-ended:
			return fmt.Errorf("it ended without an answer: %w", err)
		case <-time.After(50 * time.Millisecond): // it does not listen yet
		}
	}
}

// freeAddress is one that nobody listens at.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}
