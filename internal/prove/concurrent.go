package prove

import (
	"context"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/gotypes/writes"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/scratch"
	"github.com/hone-perf/hone/internal/unit"
)

// parallelCheck names what goroutines that call the new version show.
const parallelCheck = "calls from several goroutines"

const (
	parallelRuns  = 3 // with another order of calls each
	parallelShare = 8 // the part of Options.Time in which calls are made up
)

// checkShared has several goroutines call packages in which functions newly write to package variables, with the race detector.
func (r *run) checkShared(ctx context.Context, pairs []*pair) error {
	for _, p := range pairs {
		writes := p.newWrites()
		if len(writes) == 0 {
			continue
		}
		r.checked = time.Now()
		left, err := r.raceCalls(ctx, p)
		if err != nil {
			return err
		}
		if left != "" {
			r.check(parallelCheck, report.Skipped, left)
			r.doubt(report.DoubtRaces, "%s, and hone could not look for data races: %s", strings.Join(writes, ", "), left)
		}
		if r.stops() {
			return nil
		}
	}
	return nil
}

// raceCalls looks for data races in calls of a package, or returns why it could not.
func (r *run) raceCalls(ctx context.Context, p *pair) (left string, err error) {
	if race, why := hasRace(ctx, r.goNew()); !race {
		return why, nil
	}
	work, err := scratch.Dir("prove-race-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	now, made, left, err := r.callsInParallel(ctx, r.change.New, p.new, filepath.Join(work, "new"))
	if err != nil || left != "" {
		return left, err
	}
	racy := now.racy()
	if len(racy) == 0 {
		r.check(parallelCheck, report.Passed, fmt.Sprintf("%s, with -race", unit.Counted(made, "call")))
		return "", nil
	}
	// Races that were there before are not the change's.
	old, _, left, err := r.callsInParallel(ctx, r.change.Old, p.old, filepath.Join(work, "old"))
	if err != nil {
		return "", err
	}
	if left == "" && len(old.racy()) > 0 {
		r.check(parallelCheck, report.Passed, "data races as before")
		r.doubt(report.DoubtRacesBefore, "both versions have data races")
		return "", nil
	}
	r.check(parallelCheck, report.Failed, "data race\n"+firstRace(now.tests[racy[0]].text))
	return "", nil
}

// firstRace cuts what the race detector writes behind its first report: others often are of the same variable.
func firstRace(text string) string {
	const frame = "==================\n"
	if _, rest, ok := strings.Cut(text, frame); ok {
		if one, _, ok := strings.Cut(rest, frame); ok {
			return one
		}
	}
	return text
}

// callsInParallel makes up calls of a package and has several goroutines make them, or returns why it could not.
func (r *run) callsInParallel(ctx context.Context, v Version, s *side, work string) (all *suite, made int, left string, err error) {
	if err := os.MkdirAll(work, 0o700); err != nil {
		return nil, 0, "", err
	}
	each := max(r.opt.Time/parallelShare, leastShare)
	found, err := ParallelCalls(ctx, v, []string{s.rel}, work, r.opt.Seed, each, r.opt.Say)
	if err != nil {
		return nil, 0, "", err
	}
	if len(found) == 0 || len(found[0].Calls) == 0 {
		left := "no call was found that can be made at the same time as others"
		if len(found) > 0 && found[0].Left != "" {
			left = found[0].Left
		}
		return nil, 0, left, nil
	}
	overlay := gocmd.Overlay{}
	for _, f := range found[0].Files {
		file := filepath.Join(work, f.Name)
		if err := os.WriteFile(file, []byte(f.Source), 0o600); err != nil {
			return nil, 0, "", err
		}
		overlay[filepath.Join(s.dir, f.Name)] = file
	}
	file := filepath.Join(work, "overlay.json")
	if err := overlay.Write(file); err != nil {
		return nil, 0, "", err
	}
	r.opt.Say("calling " + s.pkg.PkgPath + " from several goroutines, with the race detector")
	all = &suite{tests: make(map[string]outcome)}
	for order := range parallelRuns {
		in := v.goIn(v.Dir)
		in.Env = append(slices.Clone(in.Environ()), ParallelOrder+"="+strconv.Itoa(order+1))
		one, err := runTests(ctx, in, []string{"./" + s.rel}, true, file, "-run=^("+ParallelTest+")$")
		if err != nil {
			return nil, 0, "", err
		}
		if one.broken != "" {
			return nil, 0, "calls from several goroutines do not build", nil
		}
		for name, o := range one.tests {
			if o.racy || all.tests[name].text == "" {
				all.tests[name] = o
			}
		}
		if len(all.racy()) > 0 {
			break
		}
	}
	if len(all.tests) == 0 {
		return nil, 0, "the calls did not run", nil
	}
	return all, len(found[0].Calls), "", nil
}

// newWrites says which functions, of those that exported ones call, write to package variables that they did not write to before. Those that
// take a lock are left to the tests, and so are those that change settings of the package.
func (p *pair) newWrites() []string {
	if p.new.pkg.Types.Name() == "main" {
		return nil
	}
	var out []string
	reach := p.new.fromExported()
	g := p.new.guards()
	for _, key := range sortedKeys(p.new.decls) {
		d := p.new.decls[key]
		if d.test || !d.isFunc() || !reach[key] || g.settings(key) || p.new.takesLock(d) {
			continue
		}
		var before map[string]bool
		if was := p.old.decls[key]; was != nil && was.text == d.text {
			continue
		} else if was != nil {
			before = p.old.writes(was)
		}
		for _, name := range sortedKeys(p.new.writes(d)) {
			if !before[name] {
				out = append(out, key+" writes to the package variable "+name)
			}
		}
	}
	return out
}

// fromExported returns the keys of functions that exported ones use.
func (s *side) fromExported() map[string]bool {
	seen := make(map[string]bool)
	var add func(key string)
	add = func(key string) {
		if d := s.decls[key]; d != nil && !d.test && !seen[key] {
			seen[key] = true
			for _, u := range d.uses {
				add(u)
			}
		}
	}
	for key, d := range s.decls {
		if token.IsExported(key[strings.LastIndexByte(key, '.')+1:]) && d.isFunc() {
			add(key)
		}
	}
	return seen
}

// takesLock reports whether a function locks something, or does something once.
func (s *side) takesLock(d *decl) bool {
	found := false
	ast.Inspect(d.node, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if fn, ok := callee(s.pkg.TypesInfo, call).(*types.Func); ok && fn.Pkg() != nil && fn.Pkg().Path() == "sync" {
				found = found || slices.Contains([]string{"Lock", "RLock", "TryLock", "Do"}, fn.Name())
			}
		}
		return true
	})
	return found
}

func callee(info *types.Info, call *ast.CallExpr) types.Object {
	switch f := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		return info.Uses[f]
	case *ast.SelectorExpr:
		return info.Uses[f.Sel]
	}
	return nil
}

// writes returns the variables of the package that a function may write to: what it assigns to, takes the address of, or calls methods of
// a pointer on. Those made to be shared are left out.
func (s *side) writes(d *decl) map[string]bool {
	out := make(map[string]bool)
	for w := range writes.In(s.pkg.TypesInfo, d.node) {
		v, ok := s.pkg.TypesInfo.Uses[w.Root].(*types.Var)
		if ok && v.Parent() == s.pkg.Types.Scope() && !madeToShare(v.Type()) && needsLock(w) {
			out[v.Name()] = true
		}
	}
	return out
}

// needsLock reports whether goroutines that all do the same to a variable need a lock for that: they change it, or hand out its memory, and
// that is not made to be shared.
func needsLock(w writes.Write) bool {
	return w.How.Sets() || w.How.HandsOut() && !madeToShare(w.Type)
}

// madeToShare reports whether goroutines may use a value of a type without a lock.
func madeToShare(t types.Type) bool {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	if n, ok := types.Unalias(t).(*types.Named); ok && n.Obj().Pkg() != nil {
		return slices.Contains([]string{"sync", "sync/atomic"}, n.Obj().Pkg().Path())
	}
	return false
}
