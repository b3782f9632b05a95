package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/git"
	"github.com/hone-perf/hone/tools/study"
)

// checkKept looks at what hone fix keeps, with nothing of hone: git applies the patches one after the other, and the go command
// runs the tests of all packages that see the change, and the benchmarks.
func (s *advising) checkKept(ctx context.Context, c caseOf, t *trees, r *result, fixes []fixed) error {
	if len(fixes) == 0 {
		return nil
	}
	before, after := filepath.Join(t.dir, "check", "0", "m"), filepath.Join(t.dir, "check", "1", "m")
	for _, to := range []string{before, after} {
		if err := study.CopyTree(to, t.before); err != nil {
			return err
		}
	}
	without := map[string]map[string]bool{} // tests of the packages looked at, without the patch: whether they pass
	for i := range fixes {
		x, k := &fixes[i], &r.Kept[i]
		if err := apply(ctx, after, x.Patch); err != nil {
			k.Wrong = "it does not apply: " + err.Error()
			return nil // and nothing that comes on top of it
		}
		if !slices.ContainsFunc(x.Speed, func(row speedRow) bool { return row.Verdict == "better" }) {
			k.Wrong = "it is kept with no comparison that says it wins something"
		}
		packages, err := affected(ctx, after, path.Dir(x.Where.File))
		if err != nil {
			return err
		}
		tests := 0
		for _, pkg := range packages {
			if without[pkg] == nil {
				if without[pkg], err = test(ctx, before, pkg); err != nil {
					return err
				}
			}
			now, err := test(ctx, after, pkg)
			if err != nil {
				return err
			}
			tests += len(now) - 1
			// A test that waits for something also fails where other work takes the processor. What a patch breaks fails again.
			for range 2 {
				if _, is := broken(without[pkg], now); !is {
					break
				}
				again, err := test(ctx, after, pkg)
				if err != nil {
					return err
				}
				for name, passes := range again {
					now[name] = now[name] || passes
				}
			}
			if name, is := broken(without[pkg], now); is {
				k.Wrong = fmt.Sprintf("%s of %s fails with it", cmp.Or(name, "the test program"), pkg)
			}
		}
		won, err := s.won(ctx, c, t, [2]string{before, after}, x)
		if err != nil {
			return err
		}
		k.Check = fmt.Sprintf("%d tests of %d packages; %s", tests, len(packages), won.text)
		if !won.ok && k.Wrong == "" {
			k.Wrong = "benchmarks of the go command show no gain: " + won.text
		}
		if err := apply(ctx, before, x.Patch); err != nil {
			return err
		}
	}
	return nil
}

// apply has git put a patch into a tree.
func apply(ctx context.Context, dir, diff string) error {
	// It shall not look for a repository above.
	in := git.Command{Dir: dir, Env: []string{"GIT_CEILING_DIRECTORIES=" + filepath.Dir(dir), "PWD=" + dir}, Input: []byte(diff)}
	_, err := in.Run(ctx, "apply", "--unsafe-paths", "--whitespace=nowarn", "-p1", "-")
	return err
}

// affected returns the package in a folder, and all of its module that use it, in their tests as well.
func affected(ctx context.Context, dir, folder string) ([]string, error) {
	out, err := study.Command(ctx, dir, "go", "list", "-e", "-test", "-json=ImportPath,ForTest,Deps,Dir", "./...")
	if err != nil {
		return nil, err
	}
	type pkg struct {
		ImportPath, ForTest, Dir string
		Deps                     []string
	}
	var all []pkg
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var p pkg
		if err := d.Decode(&p); err != nil {
			return nil, fmt.Errorf("what go list says: %w", err)
		}
		all = append(all, p)
	}
	real, err := filepath.EvalSymlinks(filepath.Join(dir, filepath.FromSlash(folder)))
	if err != nil {
		return nil, err
	}
	target := ""
	for _, p := range all {
		if is, err := filepath.EvalSymlinks(p.Dir); err == nil && is == real && p.ForTest == "" && !strings.HasSuffix(p.ImportPath, ".test") {
			target = p.ImportPath
		}
	}
	if target == "" {
		return nil, fmt.Errorf("there is no package in %s", folder)
	}
	found := map[string]bool{target: true}
	for _, p := range all {
		for _, dep := range p.Deps {
			if name, _, _ := strings.Cut(dep, " ["); name == target { // as it is built for some test
				name, _, _ := strings.Cut(p.ImportPath, " [")
				found[strings.TrimSuffix(strings.TrimSuffix(name, ".test"), "_test")] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// broken returns a test that passes without a patch and fails with it. Where a package needs a server that is not there, it is chance
// how many of its tests run before it ends, so a test that did not run without the patch says nothing.
func broken(without, with map[string]bool) (name string, is bool) {
	for _, name := range slices.Sorted(maps.Keys(with)) {
		if !with[name] && without[name] {
			return name, true
		}
	}
	return "", false
}

// test runs the tests of a package, and returns whether they pass; "" is the package as a whole, which also fails if it does not build.
func test(ctx context.Context, dir, pkg string) (passes map[string]bool, err error) {
	passes = map[string]bool{}
	out, wrong := study.Command(ctx, dir, "go", "test", "-vet=off", "-count=1", "-timeout=5m", "-json", pkg)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	for line := range bytes.Lines(out) {
		var e struct{ Action, Test string }
		if json.Unmarshal(line, &e) == nil && (e.Action == "pass" || e.Action == "fail") {
			passes[e.Test] = e.Action == "pass"
		}
	}
	passes[""] = wrong == nil
	return passes, nil
}

type won struct {
	ok   bool
	text string
}

// won says whether a patch wins something in the benchmarks: in those of the case, or in the ones that hone compared, which
// other packages may have.
func (s *advising) won(ctx context.Context, c caseOf, t *trees, dirs [2]string, x *fixed) (won, error) {
	gains, err := race(ctx, t.dir, dirs, c.Package, c.Bench, 5)
	if err != nil {
		return won{}, err
	}
	var best, worst *gain
	for i := range gains {
		g := &gains[i]
		if g.better() && (best == nil || g.Time[1]/g.Time[0] < best.Time[1]/best.Time[0]) {
			best = g
		}
		if g.worse() {
			worst = g
		}
	}
	switch {
	case worst != nil && best == nil:
		return won{false, worst.String()}, nil
	case best != nil:
		return won{true, best.String()}, nil
	}
	return won{false, gains[0].String()}, nil
}

func (g *gain) String() string {
	return fmt.Sprintf("%s: %.4g → %.4g allocs/op, %.4g → %.4g B/op, %.4g → %.4g ns/op", g.Name, g.Allocs[0], g.Allocs[1], g.Bytes[0], g.Bytes[1], g.Time[0], g.Time[1])
}
