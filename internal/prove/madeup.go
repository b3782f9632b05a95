package prove

import (
	"context"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"time"
)

// Limits of the calls that are made up of a package without benchmarks.
const (
	madeUpTime      = 6 * time.Second // for a package, once its worker is built
	madeUpTries     = 200             // of each function: more show little that is new
	madeUpFunctions = 64              // of a package
)

// makeUp makes up calls of what other packages can call of a package, and writes benchmarks of those that give the same each time. In a
// program, where nothing is exported, that is any function. It returns nil, and why, where there are none.
func (s *side) makeUp(ctx context.Context, work string, opt Options) (made *benchmarks, why string, err error) {
	d, err := findDanger(ctx, s)
	if err != nil {
		return nil, "", err
	}
	of := newSurface(&pair{rel: s.rel, old: s, new: s}, d)
	if why = of.aim(); len(of.targets) == 0 {
		return nil, why, nil
	}
	worker, left, err := of.build(ctx, s, work, layoutHere)
	if err != nil {
		return nil, "", err
	}
	for _, t := range of.targets {
		if slices.Contains(left, t.id) {
			t.entry = nil
		}
	}
	f := newSearch(of, opt, [2]*built{worker, worker})
	if err := within(ctx, time.Now().Add(2*opt.Time), f.run); err != nil {
		return nil, "", err
	}
	made, err = f.generate(ctx, madeUpFunctions)
	if made == nil && err == nil {
		why = "no call was found that behaves the same each time"
	}
	return made, why, err
}

// seldom reports whether a function is one that programs seldom call as often as others, such as one that words an error or makes an option:
// all are called as often as each other here, so what they cost would come first.
func (s *side) seldom(key string) bool {
	fn, ok := s.decls[key].obj.(*types.Func)
	if !ok {
		return false
	}
	sig := fn.Signature()
	if sig.Recv() != nil && (fn.Name() == "Error" || fn.Name() == "GoString" || fn.Name() == "Unwrap") && sig.Params().Len() == 0 {
		return true
	}
	if sig.Recv() != nil || sig.Results().Len() != 1 {
		return false
	}
	result, ok := types.Unalias(sig.Results().At(0).Type()).(*types.Named)
	if !ok || result.Obj().Pkg() != s.pkg.Types {
		return false
	}
	if strings.HasSuffix(result.Obj().Name(), "Option") {
		return true
	}
	option, ok := result.Underlying().(*types.Signature)
	return ok && option.Params().Len() == 1 && (option.Results().Len() == 0 || isErrorType(option.Results().At(0).Type()))
}

// aim makes targets of the functions that other packages can call, but for those that they seldom do; in a program, of all. Where there are none, it says why the first one
// of them cannot be called.
func (s *surface) aim() (why string) {
	program := s.new.pkg.Types.Name() == "main"
	inUse := func(key string) bool {
		for part := range strings.SplitSeq(key, ".") {
			if !token.IsExported(part) && !program {
				return false
			}
		}
		return true
	}
	s.targets = nil
	for _, e := range s.entries {
		if d := s.new.decls[e.key]; d != nil && inUse(e.key) {
			t := &target{entry: e, key: e.key}
			t.file, t.line = s.new.place(d.node.Pos())
			s.targets = append(s.targets, t)
		}
	}
	if len(s.targets) > 0 {
		if work := slices.DeleteFunc(slices.Clone(s.targets), func(t *target) bool { return s.new.seldom(t.key) }); len(work) > 0 {
			s.targets = work
		}
		return ""
	}
	for _, key := range sortedKeys(s.new.decls) {
		d := s.new.decls[key]
		fn, ok := d.obj.(*types.Func)
		if !ok || d.test || !inUse(key) || key == "main" {
			continue
		}
		if _, why := s.entryOf(key, fn); why != "" {
			return key + ": " + why
		}
	}
	if program {
		return "it has no function besides main"
	}
	return "it exports no function"
}
