package race

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/patch"
)

// A mending is a patch that is thought to end a race.
type mending struct {
	patch.Patch
	means string
}

// patch makes the change that is known for the kind of variable: an atomic one for what is counted or switched, a mutex for the
// rest. The error says why there is none.
func (v *variable) patch() (*mending, error) {
	if err := v.own(); err != nil {
		return nil, err
	}
	e := &editing{v: v, edits: make(map[string][]edit)}
	if t := v.atomicType(); t != "" {
		err := e.atomic(t)
		if err == nil {
			return e.finish("sync/atomic", fmt.Sprintf("%s becomes an atomic.%s", v.name, t))
		}
		e = &editing{v: v, edits: make(map[string][]edit)}
		switch wrong := e.mutex(); {
		case wrong != nil && wrong.Error() == err.Error():
			return nil, err
		case wrong != nil:
			return nil, fmt.Errorf("%w; with a mutex, %w", err, wrong)
		}
		return e.finish("sync", fmt.Sprintf("a mutex guards %s", v.name))
	}
	if err := e.mutex(); err != nil {
		return nil, err
	}
	return e.finish("sync", fmt.Sprintf("a mutex guards %s", v.name))
}

// own reports whether all that uses the variable is known, and may be changed.
func (v *variable) own() error {
	if m := v.pkg.Module; m == nil || !m.Main {
		return errors.New("it belongs to another module")
	}
	global := v.obj.IsField() || v.obj.Parent() == v.pkg.Types.Scope()
	if global && v.obj.Exported() && v.pkg.Name != "main" {
		return errors.New("it is exported, and other packages may use it")
	}
	return nil
}

// atomicType returns the type of package atomic that can hold the variable, or "".
func (v *variable) atomicType() string {
	b, ok := v.obj.Type().(*types.Basic)
	if !ok {
		return ""
	}
	switch b.Kind() {
	case types.Int, types.Int64:
		return "Int64"
	case types.Int32:
		return "Int32"
	case types.Uint, types.Uint64:
		return "Uint64"
	case types.Uint32:
		return "Uint32"
	case types.Bool:
		return "Bool"
	}
	return ""
}

// An edit replaces text in a file. Of those at the same place, what closes comes first, the innermost before.
type edit struct {
	from, to int
	text     string
	closes   bool
	depth    int
}

// An editing collects edits.
type editing struct {
	v     *variable
	edits map[string][]edit
}

func (e *editing) at(pos token.Pos) (string, int) {
	p := e.v.pkg.Fset.PositionFor(pos, false)
	return p.Filename, p.Offset
}

func (e *editing) replace(from, to token.Pos, text string, closes bool, depth int) {
	file, a := e.at(from)
	_, b := e.at(to)
	e.edits[file] = append(e.edits[file], edit{a, b, text, closes, depth})
}

func (e *editing) insert(at token.Pos, text string, closes bool, depth int) {
	e.replace(at, at, text, closes, depth)
}

// afterLine inserts a line after the one that pos is on, when only a comment follows there.
func (e *editing) afterLine(pos token.Pos, text string) {
	file, at := e.at(pos)
	src, err := os.ReadFile(file)
	if err != nil || at > len(src) {
		e.insert(pos, "\n"+text, true, 1<<20)
		return
	}
	line, _, _ := strings.Cut(string(src[at:]), "\n")
	if rest := strings.TrimSpace(line); rest == "" || strings.HasPrefix(rest, "//") {
		at += len(line)
	}
	e.edits[file] = append(e.edits[file], edit{at, at, "\n" + text, true, 1 << 20})
}

// finish applies the edits and adds an import.
func (e *editing) finish(imports, means string) (*mending, error) {
	out := &mending{means: means}
	for name, edits := range e.edits {
		was, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		for _, f := range e.v.pkg.Syntax {
			if e.v.pkg.Fset.File(f.FileStart).Name() == name && ast.IsGenerated(f) {
				return nil, fmt.Errorf("%s is generated", filepath.Base(name))
			}
		}
		order.Stable(edits, func(a, b edit) int {
			if c := cmp.Compare(a.from, b.from); c != 0 {
				return c
			}
			if a.closes != b.closes {
				if a.closes {
					return -1
				}
				return 1
			}
			if a.closes {
				return cmp.Compare(b.depth, a.depth)
			}
			return cmp.Compare(a.depth, b.depth)
		})
		var b strings.Builder
		last := 0
		for _, ed := range edits {
			if ed.from < last || ed.to > len(was) {
				return nil, errors.New("one statement uses it twice, so hone cannot patch it")
			}
			b.Write(was[last:ed.from])
			b.WriteString(ed.text)
			last = ed.to
		}
		b.Write(was[last:])
		is, err := addImport([]byte(b.String()), imports)
		if err == nil {
			is, err = patch.Format(was, is)
		}
		if err != nil {
			return nil, fmt.Errorf("the patched file is not valid Go: %w", err)
		}
		out.Set(name, was, is)
	}
	if len(out.Names()) == 0 {
		return nil, errors.New("no access needs a change")
	}
	return out, nil
}

// addImport adds an import when the file uses the package and does not have it.
func addImport(text []byte, imports string) ([]byte, error) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, "", text, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	name, has, uses := path.Base(imports), false, false
	for _, i := range f.Imports {
		if p, _ := strconv.Unquote(i.Path.Value); p == imports && i.Name == nil {
			has = true
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := s.X.(*ast.Ident); ok && id.Name == name {
				uses = true
			}
		}
		return true
	})
	if !has && uses {
		at, line := set.Position(f.Name.End()).Offset, "\n\nimport "+strconv.Quote(imports)
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.IMPORT {
				continue
			}
			if g.Lparen.IsValid() {
				at, line = set.Position(g.Lparen).Offset+1, "\n"+strconv.Quote(imports)
				// Behind the last one that comes before it, so that groups stay as they are.
				for _, spec := range g.Specs {
					i := spec.(*ast.ImportSpec)
					if p, _ := strconv.Unquote(i.Path.Value); p < imports && !strings.Contains(strings.Split(p, "/")[0], ".") {
						at = set.Position(i.End()).Offset
					}
				}
			} else if spec := g.Specs[0].(*ast.ImportSpec); spec.Path.Value != `"C"` {
				from, to := set.Position(g.Pos()).Offset, set.Position(g.End()).Offset
				own := string(text[set.Position(spec.Pos()).Offset:to])
				text = slices.Concat(text[:from], []byte("import (\n"+own+"\n"+strconv.Quote(imports)+"\n)"), text[to:])
				return text, nil
			}
			break
		}
		text = slices.Concat(text[:at], []byte(line), text[at:])
	}
	return text, nil
}
