package duel

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/recording"
)

// prepare builds both sides and lists their benchmarks.
func (d *duel) prepare(ctx context.Context, work string) error {
	if d.opt.Commands != nil {
		return d.prepareCommands(ctx, work)
	}
	first, _, _ := strings.Cut(d.opt.Bench, "/")
	pattern, err := regexp.Compile(first)
	if err != nil {
		return fmt.Errorf("-bench: %w", err)
	}
	if d.opt.Old.File != "" {
		return d.programs(ctx)
	}
	builders, err := d.builders(ctx, work)
	if err != nil {
		return err
	}
	var pkgs [2][]*pkg
	for i, b := range builders {
		if i == 1 && d.out.BuiltOnce {
			pkgs[1] = pkgs[0]
			break
		}
		if pkgs[i], err = b.side.packages(ctx, d.opt.Packages, d.opt.Flags, pattern); err != nil {
			return err
		}
	}
	byKey := make(map[string]*pkg)
	for _, p := range pkgs[1] {
		byKey[p.key] = p
	}
	for _, old := range pkgs[0] {
		new := byKey[old.key]
		delete(byKey, old.key)
		if new == nil {
			d.only(old.key, "old")
			continue
		}
		if err := d.buildBoth(ctx, builders, old, new); err != nil {
			return err
		}
	}
	for _, p := range pkgs[1] {
		if byKey[p.key] == nil {
			continue
		}
		if d.opt.NewTests {
			if old, err := d.opt.Old.untested(ctx, p, d.opt.Flags); err == nil {
				if err := d.buildBoth(ctx, builders, old, p); err != nil {
					return err
				}
				continue
			}
		}
		d.only(p.key, "new")
	}
	return nil
}

// only notes a package that has benchmarks on one side.
func (d *duel) only(key, side string) {
	d.rows = append(d.rows, &row{DuelBenchmark: recording.DuelBenchmark{Pkg: key, Name: "*", Only: side}})
}

// builders makes ready to build both sides: one builder, twice, where they are one program.
func (d *duel) builders(ctx context.Context, work string) (builders [2]*builder, err error) {
	d.out.BuiltOnce = d.opt.Old.BuiltAs(&d.opt.New)
	for i, s := range []*Side{&d.opt.Old, &d.opt.New} {
		if i == 1 && d.out.BuiltOnce {
			builders[1] = builders[0]
			break
		}
		dir := filepath.Join(work, []string{"old", "new"}[i])
		if err := os.Mkdir(dir, 0o700); err != nil {
			return builders, err
		}
		if builders[i], err = newBuilder(ctx, s, dir, d.opt.Flags); err != nil {
			return builders, err
		}
	}
	for _, b := range builders {
		if !b.clocked && d.opt.Commands == nil {
			d.note("CPU time is that of the whole process minus its start: %s has a testing package that hone does not know", versionOf(b.about))
		}
	}
	alike(builders[0], builders[1])
	old, new := versionOf(builders[0].about), versionOf(builders[1].about)
	d.out.Old.Go, d.out.New.Go = old, new
	if old != new && !strings.Contains(d.out.Old.Name, old) {
		d.out.Notes = append(d.out.Notes, fmt.Sprintf("the old side is built with %s and the new one with %s", old, new))
	}
	return builders, nil
}

// buildBoth builds a package on both sides and lists its benchmarks.
func (d *duel) buildBoth(ctx context.Context, builders [2]*builder, old, new *pkg) error {
	sides := [2]*Side{&d.opt.Old, &d.opt.New}
	how := &built{builders: builders, pkgs: [2]*pkg{old, new}}
	var progs [2][]*program
	for i, p := range []*pkg{old, new} {
		if i == 1 && d.out.BuiltOnce {
			for _, prog := range progs[0] {
				progs[1] = append(progs[1], prog.with(sides[1].Env))
			}
			break
		}
		var tests *pkg
		if i == 0 && d.opt.NewTests && !d.out.BuiltOnce {
			tests = new
			how.tests = new
		}
		for layout := range max(d.opt.Layouts, 1) {
			d.say("building %s, %s", p.key, sides[i].Name)
			seed := 0
			if d.opt.Layouts > 1 {
				seed = layout + 1
			}
			prog, err := builders[i].build(ctx, p, tests, seed)
			if err != nil {
				return err
			}
			progs[i] = append(progs[i], prog.with(sides[i].Env))
		}
	}
	if slices.EqualFunc(progs[0], progs[1], (*program).same) {
		d.out.Same = append(d.out.Same, new.ImportPath)
		return nil
	}
	first := len(d.rows)
	err := d.list(ctx, new.ImportPath, progs[0], progs[1])
	for _, r := range d.rows[first:] {
		r.built = how
		if old.ImportPath != new.ImportPath {
			r.was = old.ImportPath
		}
	}
	return err
}

// programs compares test programs that were built before.
func (d *duel) programs(ctx context.Context) error {
	var progs [2]*program
	for i, s := range []*Side{&d.opt.Old, &d.opt.New} {
		progs[i] = &program{file: s.File, dir: s.Dir, env: s.Env}
		if err := progs[i].hash(); err != nil {
			return err
		}
	}
	d.out.BuiltOnce = d.opt.Old.BuiltAs(&d.opt.New)
	if progs[0].same(progs[1]) {
		d.out.Same = append(d.out.Same, d.opt.New.Name)
		return nil
	}
	d.note("hone timed whole processes, minus their start, because it did not build these programs: comparing revisions or folders finds smaller changes")
	return d.list(ctx, "", progs[:1], progs[1:])
}
