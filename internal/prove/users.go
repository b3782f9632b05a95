package prove

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/unit"
)

// usersOf returns the folders of the packages of pairs, and of those that use them or what differs in a neighbor, and which of them hold more than tests.
func (r *run) usersOf(ctx context.Context, pairs []*pair) (dirs, code []string, err error) {
	patterns, err := r.change.New.patterns()
	if err != nil {
		return nil, nil, err
	}
	out, err := r.goNew().Run(ctx, append([]string{"list", "-e", "-json=Dir,ImportPath,GoFiles,CgoFiles,Imports,Deps,TestImports,XTestImports"}, patterns...)...)
	if err != nil {
		return nil, nil, err
	}
	changed := make(map[string]bool)
	for _, p := range pairs {
		changed[p.new.pkg.PkgPath] = true
	}
	for _, n := range r.neighbors {
		for _, path := range n.packages {
			changed[path] = true
		}
	}
	var far []string // they use it through others
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		var p struct {
			Dir, ImportPath                                             string
			GoFiles, CgoFiles, Imports, Deps, TestImports, XTestImports []string
		}
		if err := dec.Decode(&p); err != nil {
			return nil, nil, fmt.Errorf("reading the output of go list: %w", err)
		}
		uses := slices.ContainsFunc(slices.Concat(p.Deps, p.TestImports, p.XTestImports), func(d string) bool { return changed[d] })
		if !uses && !changed[p.ImportPath] {
			continue
		}
		rel, err := filepath.Rel(r.change.New.Dir, p.Dir)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		if hasGoFiles(filepath.Join(r.change.Old.Dir, rel)) {
			dir := "./" + filepath.ToSlash(rel)
			if changed[p.ImportPath] || slices.ContainsFunc(slices.Concat(p.Imports, p.TestImports, p.XTestImports), func(d string) bool { return changed[d] }) {
				dirs = append(dirs, dir)
			} else {
				far = append(far, dir)
			}
			if len(p.GoFiles)+len(p.CgoFiles) > 0 {
				code = append(code, dir)
			}
		}
	}
	return append(dirs, far...), code, nil
}

// Limits of the tests of packages that only use what changed.
const (
	usersShare   = 2 // times Options.Time is what they get
	usersAtATime = 8
)

// testUsers runs the tests of the packages that only use what changed, the nearest first, as long as there is time for them. The old version's
// run only where some fail: nearly always, none does. The race detector is for changes that have goroutines share something, since to build
// with it takes half as long again, and the tests of what changed ran with it.
func (r *run) testUsers(ctx context.Context) error {
	if len(r.users) == 0 {
		return nil
	}
	r.checked = time.Now()
	const what = "tests of packages that use it"
	race := false
	if r.opt.Shared {
		race, _ = hasRace(ctx, r.goNew())
	}
	limited, cancel := context.WithTimeout(ctx, usersShare*r.opt.Time)
	defer cancel()
	all := &suite{tests: make(map[string]outcome)}
	done := 0
	for batch := range slices.Chunk(r.users, usersAtATime) {
		r.opt.Say(fmt.Sprintf("running the tests of packages that use it%s, %d of %d", withRace(race), done+len(batch), len(r.users)))
		now, err := runTests(limited, r.goNew(), batch, race, "")
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if limited.Err() != nil {
			break
		}
		if err != nil {
			return err
		}
		if now.fails() {
			old, err := runTests(ctx, r.goOld(), batch, race, "")
			if err != nil {
				return err
			}
			said, since := len(r.proof.Checks), r.checked
			if err := r.judge(ctx, what, old, now, batch, race, ""); err != nil || r.stops() {
				return err
			}
			r.proof.Checks, r.checked = r.proof.Checks[:said], since // it is said once, in the end
		}
		maps.Copy(all.tests, now.tests)
		done += len(batch)
	}
	switch detail := unit.Counted(len(all.tests), "test") + " of " + unit.Counted(done, "package"); {
	case done == len(r.users) && len(all.tests) == 0:
	case done == len(r.users):
		r.check(what, report.Passed, detail)
	default:
		outcome := report.Passed
		if done == 0 {
			outcome = report.Skipped
		}
		r.check(what, outcome, fmt.Sprintf("%s; there was no time for those of %d more", detail, len(r.users)-done))
		r.doubt(report.DoubtTests, "there was no time for the tests of %d of %s that use it", len(r.users)-done, unit.Counted(len(r.users), "package"))
	}
	return nil
}
