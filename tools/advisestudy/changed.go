package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A place is a function of the version before that the version after has in another form, or not at all.
type place struct {
	File  string `json:"file"` // in the module, with slashes
	Func  string `json:"func"` // T.m for methods
	From  int    `json:"from"`
	To    int    `json:"to"`
	Lines []int  `json:"lines"` // that changed, or that something new is next to
}

// near is how far from a changed line a finding may be.
const near = 3

// has reports whether a line of a file is in the function, or near to what changed in it.
func (p *place) has(file string, line int) bool {
	return file == p.File && (p.From <= line && line <= p.To || p.close(file, line))
}

// close reports whether a line is near to one that changed.
func (p *place) close(file string, line int) bool {
	return file == p.File && slices.ContainsFunc(p.Lines, func(l int) bool { return max(l-line, line-l) <= near })
}

// A function is one as it stands in a file.
type function struct {
	dir, file, name string
	from, to        int
	lines           []string // as they stand there
	code            string   // without comments, formatted: what it does
}

// changed returns where two trees differ in code, but for tests.
func changed(before, after string, within []string) ([]place, error) {
	was, err := functions(before)
	if err != nil {
		return nil, err
	}
	is, err := functions(after)
	if err != nil {
		return nil, err
	}
	now := map[string][]function{} // those for other systems have the same name
	for _, f := range is {
		now[f.dir+" "+f.name] = append(now[f.dir+" "+f.name], f)
	}
	var out []place
	for _, f := range was {
		if len(within) > 0 && !slices.Contains(within, f.name) && !slices.Contains(within, f.file+":"+f.name) {
			continue
		}
		same := now[f.dir+" "+f.name]
		if slices.ContainsFunc(same, func(g function) bool { return g.code == f.code }) {
			continue
		}
		p := place{File: f.file, Func: f.name, From: f.from, To: f.to}
		i := slices.IndexFunc(same, func(g function) bool { return g.file == f.file })
		if i < 0 && len(same) > 0 {
			i = 0
		}
		var lines []string
		if i >= 0 {
			lines = same[i].lines
		}
		for _, at := range differing(f.lines, lines) {
			p.Lines = append(p.Lines, f.from+at)
		}
		out = append(out, p)
	}
	return out, nil
}

// functions returns those of all files of a module that are no tests.
func functions(root string) (out []function, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); path != root && (name == "testdata" || name == "vendor" || name[0] == '_' || name[0] == '.') {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, text, parser.SkipObjectResolution) // without comments
		if err != nil {
			return nil // the go command will say so, if it is part of it
		}
		lines := strings.Split(string(text), "\n")
		for _, decl := range file.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			var code bytes.Buffer
			// A file set of its own: blank lines are no difference.
			if err := printer.Fprint(&code, token.NewFileSet(), fn); err != nil {
				return err
			}
			from, to := set.Position(fn.Pos()).Line, set.Position(fn.End()).Line
			out = append(out, function{
				dir: filepath.ToSlash(filepath.Dir(rel)), file: filepath.ToSlash(rel), name: nameOf(fn), from: from, to: to,
				lines: lines[from-1 : to], code: code.String(),
			})
		}
		return nil
	})
	return out, err
}

// nameOf returns what a function is called: m, or T.m for a method of T or *T.
func nameOf(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) != 1 {
		return fn.Name.Name
	}
	t := fn.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.ParenExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name + "." + fn.Name.Name
		default:
			return fn.Name.Name
		}
	}
}

// differing returns which lines of a text another one does not have, and those that something new stands in front of.
func differing(was, is []string) (out []int) {
	trim := func(in []string) []string {
		all := make([]string, len(in))
		for i, l := range in {
			all[i] = strings.TrimSpace(l)
		}
		return all
	}
	was, is = trim(was), trim(is)
	// The lengths of the longest common part of what is left of both.
	common := make([][]int, len(was)+1)
	for i := range common {
		common[i] = make([]int, len(is)+1)
	}
	for i := len(was) - 1; i >= 0; i-- {
		for j := len(is) - 1; j >= 0; j-- {
			if was[i] == is[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	says := func(line string) bool { return line != "" && !strings.HasPrefix(line, "//") }
	add := func(i int) {
		if i = min(i, len(was)-1); i >= 0 && (len(out) == 0 || out[len(out)-1] != i) {
			out = append(out, i)
		}
	}
	for i, j := 0, 0; i < len(was) || j < len(is); {
		switch {
		case i < len(was) && j < len(is) && was[i] == is[j]:
			i, j = i+1, j+1
		case j == len(is) || i < len(was) && common[i+1][j] >= common[i][j+1]:
			if says(was[i]) {
				add(i)
			}
			i++
		default:
			if says(is[j]) {
				add(i)
			}
			j++
		}
	}
	return out
}
