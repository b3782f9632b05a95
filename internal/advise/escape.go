package advise

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/escape"
	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/report"
)

const (
	storied   = 8 // findings are told why their values are on the heap; those after them save little
	explained = 3 // packages are compiled for that, at most
)

// explain tells the first findings about memory why the compiler sends the value to the heap. It compiles their packages
// once more, which takes about a second each.
func (t *tree) explain(out *report.Advice, within [][]extent, rules []*Rule) {
	logs := map[string]*escape.Log{}
	of := func(file string, test bool) *escape.Log {
		key := filepath.Dir(file)
		if test {
			key += " test"
		}
		log, ok := logs[key]
		if ok || len(logs) == explained {
			return log
		}
		log, err := (gocmd.Command{Dir: filepath.Dir(file), Env: t.env}).Explain(t.ctx, test, nil, ".")
		if err != nil {
			t.notes.add("the reasons for heap allocations are unknown: %v", err)
		}
		if log != nil {
			for _, u := range t.units {
				log.Learn(u.Fset, u.Syntax, u.TypesInfo)
			}
		}
		logs[key] = log
		return log
	}
	for i := range out.Findings {
		f := &out.Findings[i]
		if i >= storied && !slices.ContainsFunc(rules, func(r *Rule) bool { return r.Story && r.Name == f.Rule }) {
			continue
		}
		if !slices.ContainsFunc(f.Savings, func(s report.Saving) bool {
			return s.Metric == cost.Metrics[cost.BytesMade].Name || s.Metric == cost.Metrics[cost.ObjectsMade].Name
		}) {
			continue
		}
		file := filepath.FromSlash(f.Where.File)
		if !filepath.IsLocal(file) {
			continue // another module, which is not built from here
		}
		file = filepath.Join(t.dir, file)
		log := of(file, strings.HasSuffix(file, "_test.go"))
		if from := t.generic(file, f.Where.Line); from > 0 && log != nil && !log.Compiled(file, from) {
			log = cmp.Or(of(file, true), log) // the tests may call it with types
		}
		if log != nil {
			f.Escape = onHeap(log, file, f, within[i])
		}
	}
}

// generic returns the line where the generic function begins that a line is in; 0 when it is in none.
func (t *tree) generic(file string, line int) int {
	for _, u := range t.units {
		for _, f := range u.Syntax {
			if !escape.SameFile(u.Fset.Position(f.Pos()).Filename, file) {
				continue
			}
			for _, d := range f.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok || line < u.Fset.Position(fn.Pos()).Line || line > u.Fset.Position(fn.End()).Line {
					continue
				}
				if o, ok := u.TypesInfo.Defs[fn.Name].(*types.Func); ok && (o.Signature().TypeParams().Len() > 0 || o.Signature().RecvTypeParams().Len() > 0) {
					return u.Fset.Position(fn.Pos()).Line
				}
			}
		}
	}
	return 0
}

// onHeap explains why a value on the lines of a finding is on the heap. It prefers values that the code of the finding contains to others
// on the line, and those to values of that code where it was inlined elsewhere. If within is not nil, others on the line do not count.
func onHeap(log *escape.Log, file string, f *report.Finding, within []extent) string {
	spots := []report.Spot{f.Where}
	for _, s := range f.Also {
		if s.File == f.Where.File {
			spots = append(spots, s)
		}
	}
	for _, in := range []struct {
		find  func(string, int) []escape.Remark
		place func(*escape.Remark) escape.Place
		tell  func(*escape.Remark) string
	}{
		{log.At, func(r *escape.Remark) escape.Place { return r.Place }, (*escape.Remark).Told},
		{log.InlinedFrom, (*escape.Remark).Written, func(r *escape.Remark) string { s := r.Story(); return s.String() }},
	} {
		for _, s := range spots {
			found := in.find(file, s.Line)
			if within != nil {
				found = slices.DeleteFunc(found, func(r escape.Remark) bool {
					return !slices.ContainsFunc(within, func(e extent) bool { return e.has(in.place(&r)) })
				})
			}
			if r := nearest(found, s.Column); r != nil {
				return in.tell(r)
			}
		}
	}
	return ""
}

// An extent is where code begins and ends.
type extent struct{ from, to token.Position }

func (e extent) has(p escape.Place) bool {
	return (p.Line > e.from.Line || p.Line == e.from.Line && p.Column >= e.from.Column) && (p.Line < e.to.Line || p.Line == e.to.Line && p.Column < e.to.Column)
}

// nearest returns the first remark about a value on the heap that is at or after a column, or the first one of the line if there is none.
// Before the column are values that contain what the finding is about: in append(list, string(b)), the array of the list.
func nearest(remarks []escape.Remark, column int) *escape.Remark {
	var first, behind *escape.Remark
	for i := range remarks {
		r := &remarks[i]
		if !r.OnHeap() || r.Panics() {
			continue
		}
		if first == nil {
			first = r
		}
		if at := r.Written().Column; at >= column && (behind == nil || at < behind.Written().Column) {
			behind = r
		}
	}
	return cmp.Or(behind, first)
}
