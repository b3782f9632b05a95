package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/hone-perf/hone/internal/profile/profiletest"
)

// A work is something that hone does, mostly something that pprof does too.
type work struct {
	name   string
	inputs []input // made before
	duels  []duel  // costs are summed up over these; memory is that of the largest
	target target
	grows  int // samples, if the work is to show how the cost of hone grows with them

	// mayRefuse leaves out duels whose input pprof refuses, instead of failing.
	mayRefuse bool
}

// A duel is two commands that do the same.
type duel struct {
	name  string
	pprof []string // arguments; none where hone runs alone
	hone  []string
	out   string // file that hone writes; "" means standard output
}

// A target is what a work has to keep to. What is 0 is not asked for.
type target struct {
	cpu   float64       // hone takes so many times less CPU than pprof, over all duels
	rss   float64       // and so many times less memory
	each  time.Duration // the most CPU that hone takes in any duel
	never bool          // hone is slower than pprof in no duel
}

// largest returns the number of samples in the largest profile made for w.
func (w work) largest() int {
	n := 0
	for _, in := range w.inputs {
		n = max(n, in.config.Samples)
	}
	return n
}

// chosen returns the works that opt asks for.
func chosen(works []work, opt options) ([]work, error) {
	var out []work
	for _, w := range works {
		if opt.only.MatchString(w.name) && (opt.max == 0 || w.largest() <= opt.max) {
			out = append(out, w)
		}
	}
	if len(out) == 0 {
		return nil, errors.New("no work is called like that and small enough")
	}
	return out, nil
}

// allWorks returns the works in the order of the table. Profiles come from opt.dir and corpus, a folder that may be
// missing; output goes to tmp.
func allWorks(opt options, tmp, corpus string) ([]work, error) {
	const k, m = 1000, 1000_000
	cpu := func(n int) input { return newInput(opt.dir, profiletest.Config{Samples: n}) }
	last := func(kind profiletest.Kind, n int) input {
		return newInput(opt.dir, profiletest.Config{Kind: kind, Samples: n, TablesLast: true})
	}
	heap := newInput(opt.dir, profiletest.Config{Kind: profiletest.Heap, Samples: 500 * k})
	base := func(n int) input { return newInput(opt.dir, profiletest.Config{Samples: n, Run: 1}) }

	top := func(in input, t target) work {
		return work{name: "top " + label(in), inputs: []input{in}, target: t, duels: []duel{{
			pprof: []string{"-top", in.path},
			hone:  []string{"top", in.path},
		}}}
	}
	// same is a command line of pprof, which hone must understand as well.
	same := func(name string, t target, in []input, args ...string) work {
		for _, in := range in {
			args = append(args, in.path)
		}
		return work{name: "pprof " + name, inputs: in, target: t, duels: []duel{{
			pprof: args,
			hone:  append([]string{"pprof"}, args...),
		}}}
	}
	diff := func(n int, t target) work {
		was, is := base(n), cpu(n)
		return work{name: "diff " + label(is), inputs: []input{was, is}, target: t, duels: []duel{{
			pprof: []string{"-top", "-diff_base", was.path, is.path},
			hone:  []string{"diff", was.path, is.path},
		}}}
	}
	small, large, huge := target{cpu: 15}, target{cpu: 30, rss: 8}, target{cpu: 40, rss: 8}

	works := []work{
		top(cpu(50*k), small),
		top(cpu(500*k), large),
		top(last(profiletest.CPU, 500*k), large),
		top(heap, large),
		top(last(profiletest.Heap, 500*k), large),
		top(cpu(2*m), huge),
		diff(50*k, small),
		diff(500*k, small),
		same("-top cpu 50k", small, []input{cpu(50 * k)}, "-top"),
		same("-top cpu 500k", large, []input{cpu(500 * k)}, "-top"),
		same("-tree cpu 50k", small, []input{cpu(50 * k)}, "-tree"),
		same("-tree cpu 500k", small, []input{cpu(500 * k)}, "-tree"),
		same("-peek cpu 50k", small, []input{cpu(50 * k)}, "-peek", `runtime\.mallocgc$`),
		same("-peek cpu 500k", small, []input{cpu(500 * k)}, "-peek", `runtime\.mallocgc$`),
		same("-top -diff_base cpu 50k", small, []input{base(50 * k), cpu(50 * k)}, "-top", "-diff_base"),
		same("-top -diff_base cpu 500k", small, []input{base(500 * k), cpu(500 * k)}, "-top", "-diff_base"),
		same("-traces cpu 50k", target{rss: 10}, []input{cpu(50 * k)}, "-traces"),
		merge(opt.dir, tmp, 100, 4*k),
	}
	real, err := realProfiles(corpus)
	if err != nil {
		return nil, err
	}
	if len(real.duels) > 0 {
		works = append(works, real)
	}
	works = append(works, work{
		name:   "version",
		target: target{each: 15 * time.Millisecond},
		duels:  []duel{{hone: []string{"version"}}},
	})
	for _, n := range opt.sizes {
		in := cpu(n)
		works = append(works, work{name: "linear " + formatSize(n), inputs: []input{in}, grows: n, duels: []duel{{
			hone: []string{"top", in.path},
		}}})
	}
	return works, nil
}

// label names an input in a table.
func label(in input) string {
	s := in.config.Kind.String() + " " + formatSize(in.config.Samples)
	if in.config.TablesLast {
		s += " tables last"
	}
	return s
}

// merge merges the profiles of several runs of one program. It is a smaller program than that of the other works,
// since short profiles do not see much of a large one.
func merge(dir, tmp string, runs, samples int) work {
	w := work{name: fmt.Sprintf("merge %d × %s", runs, formatSize(samples)), target: target{cpu: 6, rss: 5}}
	d := duel{out: filepath.Join(tmp, "merged-hone.pb.gz")}
	d.pprof = []string{"-proto", "-output", filepath.Join(tmp, "merged-pprof.pb.gz")}
	d.hone = []string{"merge", "-o", d.out}
	for run := range runs {
		in := newInput(dir, profiletest.Config{Samples: samples, Functions: 7000, Run: uint64(run)})
		w.inputs = append(w.inputs, in)
		d.pprof = append(d.pprof, in.path)
		d.hone = append(d.hone, in.path)
	}
	w.duels = []duel{d}
	return w
}

// realProfiles is about starting up: the profiles that people have are mostly small.
func realProfiles(corpus string) (work, error) {
	const largest = 1 << 20
	w := work{name: "top small real profiles", target: target{never: true, each: 25 * time.Millisecond}, mayRefuse: true}
	entries, err := os.ReadDir(corpus)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return w, err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return w, err
		}
		if !info.Mode().IsRegular() || info.Size() > largest || e.Name() == "INDEX.tsv" {
			continue
		}
		path := filepath.Join(corpus, e.Name())
		w.duels = append(w.duels, duel{name: e.Name(), pprof: []string{"-top", path}, hone: []string{"top", path}})
	}
	return w, nil
}
