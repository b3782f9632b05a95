package advise

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/symbol"
)

// functions finds the functions that own the lines, those that cost most first.
func (t *tree) functions(c *cost.Costs) ([]*Function, error) {
	var paths []string
	for _, l := range c.Lines {
		if at := t.places[l.Key.File]; !slices.Contains(paths, at) {
			paths = append(paths, at)
		}
	}
	units, err := t.load(paths)
	if err != nil {
		return nil, err
	}
	var out []*Function
	byDecl := map[*ast.FuncDecl]*Function{}
	for _, l := range c.Lines {
		at := t.places[l.Key.File]
		for _, u := range units {
			f := u.Files[at]
			if f == nil {
				continue
			}
			decl, line, doubt, ok := t.find(f, l)
			if !ok {
				continue
			}
			fn := byDecl[decl]
			if fn == nil {
				fn = &Function{Func: &code.Func{Pkg: u, File: f, Decl: decl, Name: declName(l.Func, decl)}, Lines: map[int]*cost.Line{}, doubt: doubt}
				byDecl[decl] = fn
				out = append(out, fn)
			}
			if old := fn.Lines[line]; old != nil && old != l {
				l = &cost.Line{Key: l.Key, Func: l.Func, Cum: l.Cum, Made: l.Made, Started: l.Started, Chains: append(slices.Clone(old.Chains), l.Chains...)}
				l.Cum.Add(&old.Cum)
				l.Started.Add(&old.Started)
				l.Made[0] += old.Made[0]
				l.Made[1] += old.Made[1]
			}
			fn.Lines[line] = l
			break
		}
	}
	return out, nil
}

// find returns the function that a line is in now, and the line there. Sources may have changed since the profile: then the
// function has to be the same still, or begin where the profile says.
func (t *tree) find(f *code.File, l *cost.Line) (decl *ast.FuncDecl, line int, doubt string, ok bool) {
	line = l.Key.Line
	for _, kept := range t.kept {
		text, err := kept.Find(l.Key.File, l.Func, l.Key.Line)
		if err != nil {
			continue
		}
		was := strings.Join(text.Lines, "\n")
		if was == strings.TrimSuffix(strings.ReplaceAll(string(f.Text), "\r\n", "\n"), "\n") {
			return f.DeclAt(line), line, "", f.DeclAt(line) != nil
		}
		decl, line, ok = moved(f, text.Lines, line)
		if !ok {
			t.notes.add("%s has changed since the recording, and so has %s, which is left out; record again", f.Name, l.Func)
		}
		return decl, line, "", ok
	}
	decl = f.DeclAt(line)
	if decl == nil {
		return nil, 0, "", false
	}
	if !code.IsInitializer(decl) && l.Start != 0 && !symbol.IsInside(l.Func) && f.Tok.Line(decl.Pos()) != l.Start {
		t.notes.add("%s does not have %s where the profile has it: it is left out; these are not the sources that were profiled", f.Name, l.Func)
		return nil, 0, "", false
	}
	if t.afar && l.Start == 0 {
		doubt = "these may not be the sources that were profiled: check the lines"
		t.notes.add("%s may not be as it was profiled; lines may be off", f.Name)
	}
	if !t.taken.IsZero() && newer(f, t.taken) {
		doubt = "the file is newer than the profile: check the lines"
		t.notes.add("%s was changed after the profile was taken; lines may be off", f.Name)
	}
	return decl, line, doubt, true
}

// declName returns what profiles call a function, from the name of what runs in it: that of a literal, or of what was inlined.
func declName(fn string, decl *ast.FuncDecl) string {
	slash := strings.LastIndexByte(fn, '/') + 1
	dot := strings.IndexByte(fn[slash:], '.')
	if dot < 0 {
		return fn
	}
	if code.IsInitializer(decl) {
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

// newer reports whether the file was written after a time.
func newer(f *code.File, than time.Time) bool {
	st, err := os.Stat(f.Path)
	return err == nil && st.ModTime().After(than)
}

// moved finds where a line of an older version of the file is now: in the function of the same name, if its text is the same.
func moved(f *code.File, was []string, line int) (decl *ast.FuncDecl, now int, ok bool) {
	set := token.NewFileSet()
	old, err := parser.ParseFile(set, "", strings.Join(was, "\n")+"\n", parser.SkipObjectResolution)
	if old == nil || err != nil {
		return nil, 0, false
	}
	tok := set.File(old.FileStart)
	for _, d := range old.Decls {
		fn, isFunc := d.(*ast.FuncDecl)
		if !isFunc || fn.Body == nil || line < tok.Line(fn.Pos()) || line > tok.Line(fn.End()) {
			continue
		}
		from, to := tok.Line(fn.Pos()), tok.Line(fn.End())
		text := strings.Join(was[from-1:to], "\n")
		lines := strings.Split(strings.ReplaceAll(string(f.Text), "\r\n", "\n"), "\n")
		for _, d := range f.AST.Decls {
			cand, isFunc := d.(*ast.FuncDecl)
			if !isFunc || cand.Body == nil || cand.Name.Name != fn.Name.Name {
				continue
			}
			a, b := f.Tok.Line(cand.Pos()), f.Tok.Line(cand.End())
			if strings.Join(lines[a-1:b], "\n") == text {
				return cand, line - from + a, true
			}
		}
	}
	return nil, 0, false
}
