// Package advise finds what a program does without need, where that costs something.
//
// It begins with profiles, not with code: Run looks up the lines that cost at least Options.Least of anything, loads the
// packages that own them, and shows each function with such lines to the Rules. A rule knows one way in which programs do
// too much, and how a profile shows it: what lies between the line and the leaf of the stack is the best sign of a cause. A
// finding says what mending it could save at most, and has a patch where types, or who owns a value, show that the program
// then does the same. Every patch is compiled before it is offered.
//
// One file has one rule, or rules that share their syntax; rules.go is the list. CONTRIBUTING.md says how to add one.
package advise

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"math"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
)

// Options tune Run. The zero Options look at the module of the current folder.
type Options struct {
	Dir   string   // in the module that the profiles are of
	Flags []string // for the go command, behind those in GOFLAGS
	Least float64  // share below which nothing is said; 0 is a hundredth
	Rules []*Rule  // nil is all of them

	Debug func(format string, args ...any) // is told why patches were given up; may be nil
}

// A NoModuleError says that no package can be loaded, for want of a module in a folder.
type NoModuleError struct {
	Dir    string
	Likely string // folder of sources that were recorded
}

func (e *NoModuleError) Error() string {
	return "nothing can be looked at, since there is no go.mod in " + e.Dir + " or above it"
}

// Hint says what to do about it.
func (e *NoModuleError) Hint() hint.Text {
	return hint.Text{hint.Option{Name: "source", Value: "DIR"}, " says where the module is, such as ", hint.Option{Name: "source", Value: e.Likely}}
}

// ErrNothing says that profiles hold nothing that findings could be about.
var ErrNothing = errors.New("there is nothing in it that costs CPU, memory or waiting")

// Run looks for what the program of some recordings does without need.
func Run(ctx context.Context, in []*recording.Recording, opt Options) (*report.Advice, error) {
	opt.Least = cmp.Or(opt.Least, 0.01)
	if opt.Rules == nil {
		opt.Rules = Rules
	}
	inputs, damaged := inputsOf(in)
	t, err := openTree(ctx, cmp.Or(opt.Dir, "."), opt.Flags, in)
	if err != nil {
		return nil, err
	}
	c := collect(ctx, inputs, t.class, opt.Least, func(l *Line) bool { return t.place(l.fn, l.key.file, l.key.line) != "" })
	t.sayMissing()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if c.total == (cost{}) {
		return nil, errors.Join(append([]error{ErrNothing}, asErrors(damaged)...)...)
	}
	t.notes.Texts = append(t.notes.Texts, hint.Said(damaged...)...)
	fns, err := t.functions(c)
	if err != nil {
		return nil, err
	}
	a := &adviser{costs: c, least: opt.Least}
	type turn struct {
		r *Rule
		f *costly
	}
	var turns, last []turn
	for _, f := range fns {
		for _, r := range opt.Rules {
			if r.Last {
				last = append(last, turn{r, f})
			} else {
				turns = append(turns, turn{r, f})
			}
		}
	}
	for _, now := range append(turns, last...) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r, f := now.r, now.f
		if err := look(r, &Pass{
			costly: f, Rule: r, costs: c, all: fns, least: opt.Least, tree: t, said: a, debug: opt.Debug,
		}); err != nil {
			t.notes.add("%v", err)
		}
	}
	out := a.ranked()
	t.explain(out, opt.Rules)
	out.Functions, out.Least, out.Root = len(fns), opt.Least, t.dir
	for _, r := range in {
		out.Refs = append(out.Refs, r.Ref)
	}
	for _, m := range []metric{cpu, bytesMade} {
		if share := c.part(&c.tests, m); share > 0.5 && (m == cpu || c.total[cpu] == 0) {
			t.notes.add("%.0f%% of %s is in tests and benchmarks themselves, which are not looked at", share*100, metricInfo[m].short)
		}
	}
	out.Notes = append(append(out.Notes, hint.Said(c.notes...)...), t.notes.Texts...)
	return out, nil
}

// look lets a rule look at a function. One that fails on code that nobody thought of is no reason to keep what others find.
func look(r *Rule, p *Pass) (err error) {
	defer func() {
		if x := recover(); x != nil {
			err = fmt.Errorf("rule %s failed on %s, which is a mistake in hone: %v", r.Name, p.name, x)
		}
	}()
	r.Find(p)
	return nil
}

func asErrors(texts []string) (out []error) {
	for _, s := range texts {
		out = append(out, errors.New(s))
	}
	return out
}

// functions finds the functions that own the lines, those that cost most first.
func (t *tree) functions(c *costs) ([]*costly, error) {
	var paths []string
	for _, l := range c.lines {
		if at := t.places[l.key.file]; !slices.Contains(paths, at) {
			paths = append(paths, at)
		}
	}
	units, err := t.load(paths)
	if err != nil {
		return nil, err
	}
	var out []*costly
	byDecl := map[*ast.FuncDecl]*costly{}
	for _, l := range c.lines {
		at := t.places[l.key.file]
		for _, u := range units {
			f := u.files[at]
			if f == nil {
				continue
			}
			decl, line, doubt, ok := t.find(f, l)
			if !ok {
				continue
			}
			fn := byDecl[decl]
			if fn == nil {
				fn = &costly{function: &function{unit: u, file: f, decl: decl, name: declName(l.fn, decl)}, lines: map[int]*Line{}, doubt: doubt}
				byDecl[decl] = fn
				out = append(out, fn)
			}
			if old := fn.lines[line]; old != nil && old != l {
				l = &Line{key: l.key, fn: l.fn, cum: l.cum, made: l.made, started: l.started, chains: append(slices.Clone(old.chains), l.chains...)}
				l.cum.add(&old.cum)
				l.started.add(&old.started)
				l.made[0] += old.made[0]
				l.made[1] += old.made[1]
			}
			fn.lines[line] = l
			break
		}
	}
	return out, nil
}

// find returns the function that a line is in now, and the line there. Sources may have changed since the profile: then the
// function has to be the same still, or begin where the profile says.
func (t *tree) find(f *file, l *Line) (decl *ast.FuncDecl, line int, doubt string, ok bool) {
	line = l.key.line
	for _, kept := range t.kept {
		text, err := kept.Find(l.key.file, l.fn, l.key.line)
		if err != nil {
			continue
		}
		was := strings.Join(text.Lines, "\n")
		if was == strings.TrimSuffix(strings.ReplaceAll(string(f.text), "\r\n", "\n"), "\n") {
			return f.declAt(line), line, "", f.declAt(line) != nil
		}
		decl, line, ok = f.moved(text.Lines, line)
		if !ok {
			t.notes.add("%s is not as it was recorded, and %s has changed: nothing is said of it; record again", f.name, l.fn)
		}
		return decl, line, "", ok
	}
	decl = f.declAt(line)
	if decl == nil {
		return nil, 0, "", false
	}
	if !isInitializer(decl) && l.start != 0 && !strings.Contains(l.fn, ".func") && f.tok.Line(decl.Pos()) != l.start {
		t.notes.add("%s does not have %s where the profile has it: nothing is said of it; the sources are not those that were profiled", f.name, l.fn)
		return nil, 0, "", false
	}
	if !t.taken.IsZero() && f.newer(t.taken) {
		doubt = "the file is newer than the profile, so look twice"
		t.notes.add("%s was changed after the profile was taken; lines may be off", f.name)
	}
	return decl, line, doubt, true
}

// declAt returns the function that a line is in, or one that was made of the declaration of variables that it is in, or nil.
func (f *file) declAt(line int) *ast.FuncDecl {
	for _, d := range f.ast.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil && f.tok.Line(fn.Pos()) <= line && line <= f.tok.Line(fn.End()) {
			return fn
		}
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.VAR && f.tok.Line(g.Pos()) <= line && line <= f.tok.Line(g.End()) {
			if f.inits[g] == nil {
				if f.inits == nil {
					f.inits = make(map[*ast.GenDecl]*ast.FuncDecl)
				}
				f.inits[g] = initializer(g)
			}
			return f.inits[g]
		}
	}
	return nil
}

// declName returns what profiles call a function, from the name of what runs in it: that of a literal, or of what was inlined.
func declName(fn string, decl *ast.FuncDecl) string {
	slash := strings.LastIndexByte(fn, '/') + 1
	dot := strings.IndexByte(fn[slash:], '.')
	if dot < 0 {
		return fn
	}
	if isInitializer(decl) {
		name, _, _ := strings.Cut(fn[slash:], ".func")
		return fn[:slash] + name
	}
	name := decl.Name.Name
	if decl.Recv != nil && len(decl.Recv.List) == 1 {
		form := "%s."
		typ := ast.Unparen(decl.Recv.List[0].Type)
		if star, ok := typ.(*ast.StarExpr); ok {
			form, typ = "(*%s).", ast.Unparen(star.X)
		}
		switch t := typ.(type) { // of type parameters
		case *ast.IndexExpr:
			typ = t.X
		case *ast.IndexListExpr:
			typ = t.X
		}
		if id, ok := typ.(*ast.Ident); ok {
			name = fmt.Sprintf(form, id.Name) + name
		}
	}
	return fn[:slash+dot+1] + name
}

// An adviser keeps what rules find.
type adviser struct {
	costs *costs
	least float64
	list  []kept
	small int
}

type kept struct {
	*report.Finding
	weight float64
	callee string // where the cost is; "" where it is the line itself
}

// add keeps a finding, unless what it costs is too little to be said. One that is vague about what to do counts a quarter: how
// much of it can be saved is not known. One without a patch counts half: it takes somebody who knows the program, and may not be
// possible at all.
func (a *adviser) add(f *report.Finding, c cost, say finding) {
	if a.costs.share(&c) < a.least {
		if c != (cost{}) {
			a.small++
		}
		return
	}
	w := a.costs.weight(&c)
	switch {
	case say.last: // behind those that know more
		w = 0
	case say.vague:
		w /= 4
	case len(f.Fixes) == 0:
		w /= 2
	}
	a.list = append(a.list, kept{f, w, say.callee})
}

// told reports whether there is a finding about some lines.
func (a *adviser) told(file string, from, to int) bool {
	return slices.ContainsFunc(a.list, func(k kept) bool { return k.about(file, from, to) })
}

// toldObjects reports whether there is a finding about objects that some lines make.
func (a *adviser) toldObjects(file string, from, to int) bool {
	return slices.ContainsFunc(a.list, func(k kept) bool {
		return k.about(file, from, to) && slices.ContainsFunc(k.Savings, func(s report.Saving) bool { return s.Metric == metricInfo[objectsMade].name })
	})
}

func (k kept) about(file string, from, to int) bool {
	return slices.ContainsFunc(append([]report.Spot{k.Where}, k.Also...), func(s report.Spot) bool { return s.File == file && from <= s.Line && s.Line <= to })
}

// knows reports whether there is a finding about a function that is about a callee, or about another method of its type: a Replacer
// costs where it is used, and not where it is made.
func (a *adviser) knows(fn, callee string) bool {
	typ := callee[:strings.LastIndexByte(callee, '.')+1]
	return slices.ContainsFunc(a.list, func(k kept) bool {
		return k.Where.Function == fn && k.callee != "" && (k.callee == callee || strings.HasSuffix(typ, ").") && strings.HasPrefix(k.callee, typ))
	})
}

// ranked returns the findings, those that save most first.
func (a *adviser) ranked() *report.Advice {
	slices.SortStableFunc(a.list, func(x, y kept) int {
		if d := x.weight - y.weight; math.Abs(d) > 1e-9 {
			return cmp.Compare(y.weight, x.weight)
		}
		return cmp.Or(cmp.Compare(len(y.Fixes), len(x.Fixes)), cmp.Compare(x.Where.File, y.Where.File), cmp.Compare(x.Where.Line, y.Where.Line), cmp.Compare(x.Rule, y.Rule))
	})
	out := &report.Advice{Findings: []report.Finding{}, Small: a.small}
	for _, k := range a.list {
		// What two rules say of one line is said once, by the one that has a patch, or came first.
		same := slices.IndexFunc(out.Findings, func(f report.Finding) bool {
			return f.Where.File == k.Where.File && f.Where.Line == k.Where.Line && f.Rule == k.Rule
		})
		if same >= 0 {
			continue
		}
		k.Number = len(out.Findings) + 1
		out.Findings = append(out.Findings, *k.Finding)
	}
	return out
}
