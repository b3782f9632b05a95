package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/maxrss"
)

// A cost is what a process took.
type cost struct {
	cpu time.Duration // user and system
	rss int64         // peak of resident memory in bytes; 0 means not measured
}

// A runner runs hone and pprof.
type runner struct {
	hone, self string // programs
	pprof      []string
	rounds     int
	log        io.Writer
}

// A result is what the duels of a work cost: medians over the rounds.
type result struct {
	work  work
	duels []duel // those that were measured
	pprof []cost // of each duel; nil where hone ran alone
	hone  []cost
	notes []string
	err   error // why there are no costs
}

// measure makes the inputs of w and runs its duels.
func (r *runner) measure(ctx context.Context, w work) result {
	res := result{work: w}
	for _, in := range w.inputs {
		if res.err = in.make(ctx, r.self); res.err != nil {
			return res
		}
	}
	for _, d := range w.duels {
		if w.mayRefuse {
			if _, err := spend(ctx, r.pprof[0], slices.Concat(r.pprof[1:], d.pprof), nil); err != nil && ctx.Err() == nil {
				res.notes = append(res.notes, fmt.Sprintf("%s is left out: pprof does not read it", d.name))
				continue
			}
		}
		pprof, hone, err := r.fight(ctx, d)
		if err != nil {
			res.err = err
			return res
		}
		res.duels = append(res.duels, d)
		res.hone = append(res.hone, hone)
		if d.pprof != nil {
			res.pprof = append(res.pprof, pprof)
		}
	}
	if len(res.duels) == 0 {
		res.err = fmt.Errorf("%s: nothing to measure", w.name)
	}
	return res
}

// fight runs both sides of a duel in turn.
func (r *runner) fight(ctx context.Context, d duel) (pprof, hone cost, err error) {
	if err := r.checkOutput(ctx, d); err != nil {
		return pprof, hone, err
	}
	type side struct {
		program string
		args    []string
		costs   []cost
	}
	h := &side{program: r.hone, args: d.hone}
	p := &side{program: r.pprof[0], args: slices.Concat(r.pprof[1:], d.pprof)}
	sides := []*side{p, h}
	if d.pprof == nil {
		sides = sides[1:]
	}
	for range r.rounds {
		for _, s := range sides {
			c, err := spend(ctx, s.program, s.args, nil)
			if err != nil {
				return pprof, hone, err
			}
			s.costs = append(s.costs, c)
		}
		slices.Reverse(sides) // neither always goes first
	}
	if d.pprof != nil {
		pprof = median(p.costs)
	}
	return pprof, median(h.costs), nil
}

// checkOutput runs hone without measuring and makes sure that it has something to say.
func (r *runner) checkOutput(ctx context.Context, d duel) error {
	var printed counter
	if _, err := spend(ctx, r.hone, d.hone, &printed); err != nil {
		return err
	}
	if d.out != "" {
		info, err := os.Stat(d.out)
		if err != nil {
			return fmt.Errorf("hone %s: %w", short(d.hone), err)
		}
		printed = counter(info.Size())
	}
	if printed == 0 {
		return fmt.Errorf("hone %s: no output", short(d.hone))
	}
	return nil
}

// spend runs a program and returns what it cost. Its output goes to out; nil means nowhere.
func spend(ctx context.Context, program string, args []string, out io.Writer) (cost, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdout = out
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return cost{}, fmt.Errorf("%s %s: %w: %s", program, short(args), cmp.Or(ctx.Err(), err), lastLine(stderr.String()))
	}
	s := cmd.ProcessState
	return cost{cpu: s.UserTime() + s.SystemTime(), rss: maxrss.Of(s)}, nil
}

// short returns arguments as text, without most of them if they are many.
func short(args []string) string {
	if len(args) > 8 {
		return strings.Join(args[:8], " ") + " …"
	}
	return strings.Join(args, " ")
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndexByte(s, '\n')+1:]
}

// median returns the middle of CPU and of memory, each on its own.
func median(costs []cost) cost {
	var cpu []time.Duration
	var rss []int64
	for _, c := range costs {
		cpu = append(cpu, c.cpu)
		rss = append(rss, c.rss)
	}
	slices.Sort(cpu)
	slices.Sort(rss)
	return cost{cpu[len(cpu)/2], rss[len(rss)/2]}
}

// total returns the CPU that all costs take and the memory that the largest needs.
func total(costs []cost) cost {
	var t cost
	for _, c := range costs {
		t.cpu += c.cpu
		t.rss = max(t.rss, c.rss)
	}
	return t
}

// A counter counts the bytes written to it.
type counter int64

func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}
