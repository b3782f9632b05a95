// Loadbench measures what hone load costs, next to wrk, ab and hey, and whether its times are right when a server stalls.
//
//	go run ./tools/loadbench [-only cpu,calls,memory,stall] [-rounds n] [-for time] [-requests n]
//
// cpu: all generators load nginx and a Go server in turn, round by round. What counts is the CPU time, user and system,
// of the generator for each request, and its ratio to that of wrk in the same round: a busy machine disturbs that less than
// requests a second. The server is on one core and the generator on another.
//
// calls: system calls for each request, counted by strace. memory: the most memory in a run of 10 million requests.
// stall: a server that stalls for the last second of every five, at 200 requests a second on 10 connections for 30 seconds;
// for an independent user, the 90th percentile is 500 ms, the 99th 950 ms, the 99.9th 995 ms.
//
// What is not installed is left out, and said. The answer is Markdown on standard output. The exit code is 0 if all
// targets are met, 1 if one is missed or could not be measured, and 2 for a wrong command line. It is run at the root of the
// repository.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == serveArg {
		serve()
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop() // explicitly: os.Exit skips deferred calls
	os.Exit(code)
}

// options are the command line.
type options struct {
	only     string
	rounds   int
	length   time.Duration
	requests int64
}

// parts are what can be measured, in order.
var parts = []struct {
	name    string
	measure func(*bench) error
}{
	{"cpu", (*bench).cpu},
	{"calls", (*bench).calls},
	{"memory", (*bench).memory},
	{"stall", (*bench).stall},
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var o options
	fs := flag.NewFlagSet("loadbench", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.StringVar(&o.only, "only", "", "what to measure, with commas between: cpu, calls, memory, stall; all when empty")
	fs.IntVar(&o.rounds, "rounds", 7, "rounds of cpu")
	fs.DurationVar(&o.length, "for", 2*time.Second, "how long each generator runs in a round")
	fs.Int64Var(&o.requests, "requests", 10_000_000, "requests of memory")
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	var chosen []string
	for _, p := range parts {
		chosen = append(chosen, p.name)
	}
	if o.only != "" {
		known := chosen
		chosen = strings.Split(o.only, ",")
		for _, name := range chosen {
			if !slices.Contains(known, name) {
				fmt.Fprintf(stderr, "loadbench: -only %s: there are %s\n", name, strings.Join(known, ", "))
				return 2
			}
		}
	}
	dir, err := os.MkdirTemp("", "loadbench")
	if err != nil {
		fmt.Fprintln(stderr, "loadbench:", err)
		return 1
	}
	defer os.RemoveAll(dir)
	b := &bench{ctx: ctx, options: o, dir: dir, hone: filepath.Join(dir, "hone"), out: stdout, log: stderr}
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", b.hone, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(stderr, "loadbench: building hone: %v\n%s", err, out)
		return 1
	}
	for _, p := range parts {
		if !slices.Contains(chosen, p.name) {
			continue
		}
		if err := p.measure(b); err != nil {
			fmt.Fprintf(stderr, "loadbench: %s: %v\n", p.name, err)
			b.missed = true
		}
		if ctx.Err() != nil {
			return 1
		}
	}
	if b.missed {
		return 1
	}
	return 0
}

// A bench is the measuring and its answer.
type bench struct {
	ctx context.Context
	options
	dir, hone string
	out, log  io.Writer
	missed    bool
}

// target says whether a figure is as it should be.
func (b *bench) target(ok bool) string {
	if ok {
		return "met"
	}
	b.missed = true
	return "**missed**"
}

// pinned returns a command that runs on one core, where that can be had.
func (b *bench) pinned(cpu string, name string, args ...string) *exec.Cmd {
	if path, err := exec.LookPath("taskset"); err == nil {
		name, args = path, append([]string{"-c", cpu, name}, args...)
	}
	return exec.CommandContext(b.ctx, name, args...)
}
