package gosrc

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/scratch"
	"github.com/hone-perf/hone/internal/unit"
)

// maxFile is larger than any file that people write. Go's largest generated ones have a few megabytes.
const maxFile = 16 << 20

// A file is a source file that was read. What it declares is found out when first asked for.
type file struct {
	name  string
	text  string
	lines []string
	err   error // that it could not be read

	parsed bool
	broken error               // that it is not Go
	pkg    string              // in its package clause
	funcs  map[string][]extent // by F for functions, T.M for methods
	vars   []extent            // declarations of package-level variables
	asm    map[string][]extent // functions in assembly; nil until they were looked for
}

// An extent is a run of lines, both ends included.
type extent struct{ first, last int }

func (e extent) has(line int) bool { return line == 0 || e.first <= line && line <= e.last }

// isSource tells by its name whether a file may be source code.
func isSource(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".go", ".s", ".sx", ".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx", ".inc", ".m", ".mm", ".f", ".f90", ".rs",
		".y", ".rl", ".l", ".re", ".tmpl", ".templ", ".qtpl", ".peg", ".swig": // from which Go is generated, with //line
		return true
	case ".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".vue", ".svelte", ".py", ".pyx", ".rb", ".php", ".lua", ".pl", ".pm",
		".java", ".kt", ".kts", ".scala", ".groovy", ".clj", ".cs", ".fs", ".vb", ".swift", ".zig", ".nim", ".d", ".dart", ".jl", ".r",
		".ex", ".exs", ".erl", ".ml", ".mli", ".hs", ".v", ".cr", ".cu": // of other runtimes, whose profiles are as good
		return true
	}
	return false
}

// read returns the file of that name on disk.
func (f *Finder) read(name string) *file {
	if known := f.files[name]; known != nil {
		return known
	}
	if err := f.opt.mayRead(name); err != nil {
		return f.remember(name, "", err)
	}
	text, err := readFile(name)
	return f.remember(name, text, err)
}

// WithinVariable names the folder that source files have to be in, if they are not of Go or of its module cache. hone mcp sets it for the commands that it
// runs: who calls its tools may have brought the profile, and a profile can name any file.
const WithinVariable = "HONE_SOURCES_WITHIN"

// mayRead returns an error for a file outside of the folders that files may be in, and of what this process made. Whether there is such a file, it does not say.
func (o *Options) mayRead(name string) error {
	if o.Within == "" {
		return nil
	}
	allowed := func(name string, of func(string) string) bool {
		// hone fix runs the benchmarks of a copy that it made, of what is in the folder.
		return slices.ContainsFunc([]string{o.Within, o.GOROOT, o.GOMODCACHE, o.SDK, scratch.Made()}, func(dir string) bool {
			rel, err := filepath.Rel(of(dir), name)
			return dir != "" && err == nil && filepath.IsLocal(rel)
		})
	}
	outside := fmt.Errorf("outside of the folder %s", o.Within)
	real := func(dir string) string {
		if r, err := filepath.EvalSymlinks(dir); err == nil {
			return r
		}
		return dir
	}
	plain := absolute(filepath.FromSlash(name))
	if !allowed(plain, filepath.Clean) && !allowed(plain, real) {
		return outside
	}
	linked, err := filepath.EvalSymlinks(plain)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fs.ErrNotExist
	case err != nil || !allowed(linked, real):
		return outside
	}
	return nil
}

func (f *Finder) remember(name, text string, err error) *file {
	known := &file{name: name, text: text, err: err}
	if err == nil {
		known.lines = strings.Split(strings.TrimSuffix(strings.ReplaceAll(text, "\r\n", "\n"), "\n"), "\n")
	}
	f.files[name] = known
	return known
}

func readFile(name string) (string, error) {
	st, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fs.ErrNotExist
	case err != nil:
		return "", err
	case !st.Mode().IsRegular():
		return "", errors.New("not a plain file")
	}
	in, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer in.Close()
	b, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	if err != nil {
		return "", err
	}
	if len(b) > maxFile {
		return "", errTooLarge
	}
	return string(b), nil
}

var errTooLarge = fmt.Errorf("larger than %s", unit.Size(maxFile))

// A verdict says how well a file fits a frame.
type verdict int

const (
	fits    verdict = iota // it declares the function, around the line
	unknown                // there is nothing to tell by
	moved                  // it declares the function, but elsewhere
	foreign                // it does not declare the function, or has no such line
)

// fit holds f against a function and a line. It says why the verdict is not fits. Outer tells that the outermost function
// named in sym is declared in f, so f is a file of the package of sym.
func (f *file) fit(sym symbol, line int) (v verdict, outer bool, why string) {
	ext := path.Ext(f.name)
	switch {
	case line > len(f.lines):
		return foreign, false, fmt.Sprintf("has only %d lines", len(f.lines))
	case ext == ".s" && f.texts()[sym.text()] != nil:
		return f.fitText(sym, line)
	case sym.pkg == "":
		return unknown, false, "is not checked: the profile names no Go function for it"
	case ext == ".go":
		return f.fitGo(sym, line)
	}
	// Nor does an assembly file prove anything by not having the function: macros make functions, too.
	return unknown, false, "is not checked: it is not a Go file"
}

func (f *file) fitGo(sym symbol, line int) (v verdict, outer bool, why string) {
	f.parse()
	if f.broken != nil {
		return foreign, false, "is not Go: " + f.broken.Error()
	}
	// What is named first was declared in the package of the symbol; what follows was perhaps inlined from elsewhere.
	samePackage := sym.pkg != "main" || f.pkg == "main"
	if sym.inVars() && samePackage {
		for _, e := range f.vars {
			if e.has(line) {
				return fits, true, ""
			}
		}
	}
	var at []extent
	for i, part := range sym.parts {
		if i == 0 && !samePackage {
			continue
		}
		here := f.funcs[part]
		if i+1 < len(sym.parts) {
			here = append(here[:len(here):len(here)], f.funcs[part+"."+sym.parts[i+1]]...)
		}
		for _, e := range here {
			if e.has(line) {
				return fits, i == 0, ""
			}
		}
		at = append(at, here...)
		outer = outer || i == 0 && len(here) > 0
	}
	if len(at) > 0 {
		return moved, outer, fmt.Sprintf("has %s in lines %d to %d, not at %d", sym.name, at[0].first, at[0].last, line)
	}
	return foreign, false, "does not declare " + sym.name
}

// parse finds what a Go file declares. Lines are those of the file, whatever //line comments say: a frame of code
// below such a comment names the file in the comment.
func (f *file) parse() {
	if f.parsed {
		return
	}
	f.parsed = true
	f.funcs = map[string][]extent{}
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, "", f.text, parser.SkipObjectResolution)
	if tree == nil || err != nil {
		f.broken = err
		return
	}
	f.pkg = tree.Name.Name
	for _, d := range tree.Decls {
		e := extent{set.PositionFor(d.Pos(), false).Line, set.PositionFor(d.End(), false).Line}
		switch d := d.(type) {
		case *ast.FuncDecl:
			key := d.Name.Name
			if d.Recv != nil && len(d.Recv.List) > 0 {
				key = typeName(d.Recv.List[0].Type) + "." + key
			}
			f.funcs[key] = append(f.funcs[key], e)
		case *ast.GenDecl:
			if d.Tok == token.VAR {
				f.vars = append(f.vars, e)
			}
		}
	}
}

// typeName returns T for a receiver of type T, *T or T[P].
func typeName(x ast.Expr) string {
	for {
		switch t := x.(type) {
		case *ast.StarExpr:
			x = t.X
		case *ast.ParenExpr:
			x = t.X
		case *ast.IndexExpr:
			x = t.X
		case *ast.IndexListExpr:
			x = t.X
		case *ast.Ident:
			return t.Name
		default:
			return ""
		}
	}
}

// asmText is the head of a function in assembly: TEXT runtime·memmove<ABIInternal>(SB), NOSPLIT, $0-24. Before the dot is
// the package, which may be left out when it is that of the file. Without a dot it is a function of no package, such as
// TEXT memeqbody<>(SB).
var asmText = pattern(`^TEXT\s+(?:[^\s(<]*(·))?([^\s(<·]+)`)

// texts returns where the functions of an assembly file are, by the names that text gives symbols.
func (f *file) texts() map[string][]extent {
	if f.asm != nil {
		return f.asm
	}
	f.asm = map[string][]extent{}
	name, first := "", 0
	end := func(last int) {
		if name != "" {
			f.asm[name] = append(f.asm[name], extent{first, last})
		}
	}
	for i, text := range f.lines {
		if m := asmText().FindStringSubmatch(text); m != nil {
			end(i)
			name, first = m[1]+m[2], i+1
		}
	}
	end(len(f.lines))
	return f.asm
}

// fitText holds an assembly file that has the function against a line. That it has several of the name is due to #ifdef.
func (f *file) fitText(sym symbol, line int) (v verdict, outer bool, why string) {
	at := f.texts()[sym.text()]
	for _, e := range at {
		if e.has(line) {
			return fits, true, ""
		}
	}
	return moved, true, fmt.Sprintf("has %s in lines %d to %d, not at %d", sym.name, at[0].first, at[0].last, line)
}
