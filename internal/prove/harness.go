package prove

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/prove/worker"
)

// workerFiles are the sources of what is built into both versions, without their tests: those end in t.go.
//
//go:embed worker/*[^t].go worker/web/*.go
var workerFiles embed.FS

const (
	// workerFolder is where the worker is in the overlay; see workerPlace. It is no package of the standard library: the go command lets nothing be
	// added to a toolchain that it fetched, and finds no package there before Go 1.26.8.
	workerFolder = "zz_hone_worker"
	workerSource = "github.com/hone-perf/hone/internal/prove/worker"
	addedFile    = "zz_hone_prove"
)

// workerPlace returns the import path of the worker of a side, and its folder. It is in the folder of the version, so that it is compiled once for
// all packages that are compared; and where that is not a part of their module, below the package itself.
func (v *side) workerPlace() (path, dir string) {
	path, dir = v.pkg.PkgPath, v.dir
	if m := v.pkg.Module; m != nil && v.root() != "" {
		if rel, err := filepath.Rel(m.Dir, v.version.Dir); err == nil && filepath.IsLocal(rel) {
			path, dir = v.root(), v.version.Dir
		}
	}
	return path + "/" + workerFolder, filepath.Join(dir, workerFolder)
}

// A block is a piece of code with a counter.
type block struct {
	file       string // absolute
	line, last int
	key        string // of the declaration
	otherwise  bool   // it is none, but stands for a statement none of whose blocks runs,
	instead    []int  // which are these
}

// A built is a worker that can be run.
type built struct {
	file      string
	blocks    []block
	away      []block // of the other package that this one is called for
	counter   string  // name of the counters; "" is honeCover
	elsewhere string  // the same with its code at other addresses and on other lines, or ""
}

// A layout is where the code of a worker is: how many lines it is moved down, and where the linker puts it. What is neither code nor
// data is seldom a number as large as that.
type layout struct {
	lines   int
	address string
}

var (
	layoutHere      = layout{0, "0x70000000"}
	layoutElsewhere = layout{1000, "0x78000000"}
)

// flags are what the linker is told. Systems that load programs at random addresses need no more than they do by themselves.
func (l layout) flags() string {
	if runtime.GOOS == "linux" && (runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64") {
		return "-s -w -T=" + l.address
	}
	return "-s -w"
}

// workerFlags returns the flags that workers are compiled with.
func workerFlags(about gocmd.About) []string {
	flags := []string{"-trimpath"}
	for _, slow := range []string{"race", "msan", "asan"} {
		if about.Names(slow) != "" {
			flags = append(flags, "-"+slow+"=false") // tests are for that, and it takes more memory than a worker gets
		}
	}
	return flags
}

// compileImports compiles what workers import, before several of them are built at the same time; see compile. The files of that are put into work.
func (s *surface) compileImports(ctx context.Context, v *side, work string) error {
	about, err := v.about(ctx)
	if err != nil {
		return err
	}
	replace, err := newReplacing(work)
	if err != nil {
		return err
	}
	if err := v.addWorker(replace.put); err != nil {
		return err
	}
	overlay, err := replace.write()
	if err != nil {
		return err
	}
	place, _ := v.workerPlace()
	imports := map[string]bool{"testing": true, "testing/internal/testdeps": true, place: true} // go test adds the first two
	if s.web() {
		imports[place+"/web"] = true
	}
	add := func(f *ast.File) {
		for _, i := range f.Imports {
			if name, err := strconv.Unquote(i.Path.Value); err == nil && name != "C" && !strings.HasPrefix(name, workerSource) {
				imports[name] = true
			}
		}
	}
	for _, f := range v.pkg.Syntax {
		if !strings.HasSuffix(v.pkg.Fset.File(f.Pos()).Name(), "_test.go") {
			add(f)
		}
	}
	return compile(ctx, v.goIn(), slices.Concat(workerFlags(about), []string{"-overlay=" + overlay}, slices.Sorted(maps.Keys(imports)))...)
}

// build builds the worker of a side, into work. It leaves the functions out that do not compile, and returns their numbers.
func (s *surface) build(ctx context.Context, v *side, work string, at layout) (*built, []int, error) {
	out := &built{file: filepath.Join(work, "worker.test")}
	if runtime.GOOS == "windows" {
		out.file += ".exe"
	}
	about, err := v.about(ctx)
	if err != nil {
		return nil, nil, err
	}
	replace, err := newReplacing(work)
	if err != nil {
		return nil, nil, err
	}
	if err := v.addWorker(replace.put); err != nil {
		return nil, nil, err
	}
	files, err := filepath.Glob(filepath.Join(v.dir, "*_test.go"))
	if err != nil {
		return nil, nil, err
	}
	for _, f := range files {
		replace.files[f] = "" // the tests have a time of their own
	}
	for _, f := range v.pkg.Syntax {
		name := v.pkg.Fset.File(f.Pos()).Name()
		text, err := os.ReadFile(name)
		if strings.HasSuffix(name, "_test.go") || filepath.Dir(name) != v.dir || err != nil || usesC(f) {
			continue
		}
		if err := replace.put(name, strings.Repeat("\n", at.lines)+string(out.instrument(v, f, text, s.guard(v)))); err != nil {
			return nil, nil, err
		}
	}
	if err := s.countAway(v, out, replace.put); err != nil {
		return nil, nil, err
	}
	clause := "package " + v.pkg.Types.Name() + "\n\n"
	if err := replace.put(filepath.Join(v.dir, addedFile+".go"), clause+fmt.Sprintf("var honeCover [%d]uint8\n\nvar honeRefuse = func() {}\n", len(out.blocks)+1)); err != nil {
		return nil, nil, err
	}
	// What a program is linked with may be an answer of it.
	_, _, ldflags := gocmd.SplitFlags(about.GOFLAGS, nil)
	args := append([]string{"test", "-c", "-vet=off"}, workerFlags(about)...)
	var left []int
	linker := at.flags()
	for range 5 {
		text, lines := s.table(v, left)
		if err := replace.put(filepath.Join(v.dir, addedFile+"_test.go"), clause+text); err != nil {
			return nil, nil, err
		}
		overlay, err := replace.write()
		if err != nil {
			return nil, nil, err
		}
		_, err = v.goIn().Run(ctx, slices.Concat(args, []string{"-ldflags=" + strings.TrimSpace(linker+" "+ldflags), "-overlay=" + overlay, "-o", out.file, "."})...)
		if err == nil {
			return out, left, nil
		}
		bad := badEntries(err.Error(), lines)
		if len(bad) == 0 && linker != "-s -w" {
			linker = "-s -w" // such as when C code is linked by another linker
			continue
		}
		if len(bad) == 0 {
			return nil, nil, err
		}
		left = append(left, bad...)
	}
	return nil, nil, fmt.Errorf("building the worker of %s: too little of it compiles", v.version.Name)
}

// A replacing puts files into an overlay.
type replacing struct {
	work  string // where they are
	files gocmd.Overlay
}

func newReplacing(work string) (*replacing, error) {
	return &replacing{work, gocmd.Overlay{}}, os.MkdirAll(work, 0o755)
}

func (r *replacing) put(at, text string) error {
	file := filepath.Join(r.work, fmt.Sprintf("%d_%s", len(r.files), filepath.Base(at)))
	r.files[at] = file
	return os.WriteFile(file, []byte(text), 0o600)
}

// write returns the file that -overlay can name.
func (r *replacing) write() (string, error) {
	file := filepath.Join(r.work, "overlay.json")
	return file, r.files.Write(file)
}

// countAway puts counters into the package that this one is called for.
func (s *surface) countAway(v *side, out *built, put func(at, text string) error) error {
	if s.called == nil {
		return nil
	}
	of := s.called.new
	if v == s.old {
		of = s.called.old
	}
	away := &built{counter: "HoneCover"}
	for _, f := range of.pkg.Syntax {
		name := of.pkg.Fset.File(f.Pos()).Name()
		text, err := os.ReadFile(name)
		if strings.HasSuffix(name, "_test.go") || filepath.Dir(name) != of.dir || err != nil || usesC(f) {
			continue
		}
		if err := put(name, string(away.instrument(of, f, text, nil))); err != nil {
			return err
		}
	}
	out.away = away.blocks
	return put(filepath.Join(of.dir, addedFile+".go"), fmt.Sprintf("package %s\n\nvar HoneCover [%d]uint8\n", of.pkg.Types.Name(), len(away.blocks)+1))
}

// badEntries reads from what the compiler says which functions cannot be in the table.
func badEntries(text string, lines map[int]int) []int {
	var bad []int
	for _, m := range regexp.MustCompile(addedFile+`_test\.go:(\d+):`).FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(m[1])
		if id, ok := lines[n]; ok && !slices.Contains(bad, id) {
			bad = append(bad, id)
		}
	}
	return bad
}

// addWorker adds the sources of the worker to an overlay.
func (v *side) addWorker(put func(at, text string) error) error {
	place, folder := v.workerPlace()
	for _, dir := range []string{"worker", "worker/web"} {
		list, err := workerFiles.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range list {
			if e.IsDir() || strings.HasSuffix(e.Name(), "_test.go") {
				continue
			}
			text, err := workerFiles.ReadFile(path.Join(dir, e.Name()))
			if err != nil {
				return err
			}
			at := filepath.Join(folder, filepath.FromSlash(strings.TrimPrefix(dir, "worker")), e.Name())
			if err := put(at, workerText(string(text), place)); err != nil {
				return err
			}
		}
	}
	return nil
}

// workerText makes a file of the worker one of the module, whose go.mod may name an older language.
func workerText(text, place string) string {
	const language = "go1.22"
	text = strings.ReplaceAll(text, strconv.Quote(workerSource), strconv.Quote(place))
	if rest, ok := strings.CutPrefix(text, "//go:build "); ok {
		condition, rest, _ := strings.Cut(rest, "\n")
		return fmt.Sprintf("//go:build %s && (%s)\n%s", language, condition, rest)
	}
	return fmt.Sprintf("//go:build %s\n\n%s", language, text)
}

func usesC(f *ast.File) bool {
	return slices.ContainsFunc(f.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"C"` })
}

// table writes the code that tells a worker what there is to call, and which entry is on which line.
func (s *surface) table(v *side, left []int) (string, map[int]int) {
	var body strings.Builder
	old := v == s.old
	entries := make(map[int]int)
	line := func(format string, args ...any) { fmt.Fprintf(&body, format+"\n", args...) }
	line("func TestMain(*testing.M) {")
	line("worker.Serve(worker.Table{")
	line("Funcs: []interface{}{")
	firstLine := strings.Count(body.String(), "\n")
	for i, e := range s.entries {
		expr := e.expr
		if old && e.oldExpr != "" {
			expr = e.oldExpr
		}
		if slices.Contains(left, e.id) || old && !e.inOld {
			expr = "nil"
		}
		entries[firstLine+i] = e.id
		line("%s,", expr)
	}
	line("},")
	line("Names: []string{")
	for _, e := range s.entries {
		line("%q,", e.name)
	}
	line("},")
	line("Types: map[string]reflect.Type{")
	names := make([]string, 0, len(s.types))
	for name := range s.types {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		line("%q: reflect.TypeOf((*%s)(nil)).Elem(),", name, name)
	}
	line("},")
	line("Errors: map[string]*error{")
	for _, name := range s.errors() {
		line("%q: &%s,", name, name)
	}
	line("},")
	line("Cover: honeCover[:],")
	line("Refuse: &honeRefuse,")
	if s.called != nil {
		line("Away: honeaway.HoneCover[:],")
	}
	line("Source: %s,", s.source(v))
	web := s.web()
	if web {
		line("Makers: []worker.Maker{web.Make},")
		line("Shows: []worker.Show{web.Show},")
	}
	line("})")
	line("}")

	place, _ := v.workerPlace()
	var head strings.Builder
	head.WriteString("import (\n\"reflect\"\n\"testing\"\n\nworker " + strconv.Quote(place) + "\n")
	if web {
		head.WriteString("web " + strconv.Quote(place+"/web") + "\n")
	}
	if s.called != nil {
		path := s.called.new.pkg.PkgPath
		if old {
			path = s.called.old.pkg.PkgPath
		}
		head.WriteString("honeaway " + strconv.Quote(path) + "\n")
	}
	paths := make([]string, 0, len(s.imports))
	for p := range s.imports {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	for _, p := range paths {
		if regexp.MustCompile(`\b` + s.imports[p] + `\.`).MatchString(body.String()) {
			head.WriteString(s.imports[p] + " " + strconv.Quote(s.pathIn(v, p)) + "\n")
		}
	}
	head.WriteString(")\n\n")
	lines := make(map[int]int)
	before := 2 + strings.Count(head.String(), "\n")
	for at, id := range entries {
		lines[before+at+1] = id
	}
	return head.String() + body.String(), lines
}

// web reports whether workers make requests and show answers of net/http.
func (s *surface) web() bool {
	return s.new.pkg.Imports["net/http"] != nil || s.old.pkg.Imports["net/http"] != nil
}

// source writes what a worker has to know of the source of its version.
func (s *surface) source(v *side) string {
	src := worker.Source{Path: v.pkg.PkgPath, Name: v.pkg.Types.Name(), Names: map[string]bool{"init": true}, Files: make(map[string]bool), Moved: make(map[string]string)}
	for _, d := range v.decls {
		if !d.test {
			name := d.obj.Name()
			src.Names[name] = !token.IsExported(name)
		}
	}
	for _, f := range v.pkg.Syntax {
		if name := filepath.Base(v.pkg.Fset.File(f.Pos()).Name()); !strings.HasSuffix(name, "_test.go") {
			src.Files[name] = true
		}
	}
	if v == s.old {
		if from, to := s.old.root(), s.new.root(); from != "" && to != "" && from != to {
			src.Moved[from] = to
		} else if from, to := s.old.pkg.PkgPath, s.new.pkg.PkgPath; from != to {
			src.Moved[from] = to
		}
		if from, to := src.Name, s.new.pkg.Types.Name(); from != to {
			src.Moved[from] = to
		}
	}
	return fmt.Sprintf("%#v", &src) // maps come in order
}

// pathIn returns the import path of a package in a version.
func (s *surface) pathIn(v *side, p string) string {
	if v == s.new || s.old.pkg.Module == nil || s.new.pkg.Module == nil {
		return p
	}
	if rest, ok := strings.CutPrefix(p, s.new.pkg.Module.Path); ok {
		return s.old.pkg.Module.Path + rest
	}
	return p
}

// errors returns the variables that hold errors in both versions.
func (s *surface) errors() []string {
	var names []string
	errType := types.Universe.Lookup("error").Type()
	for key, d := range s.new.decls {
		v, ok := d.obj.(*types.Var)
		if !ok || d.test || !types.Identical(v.Type(), errType) {
			continue
		}
		if was, ok := s.old.pkg.Types.Scope().Lookup(key).(*types.Var); ok && types.Identical(was.Type(), errType) {
			names = append(names, key)
		}
	}
	slices.Sort(names)
	return names
}

// casesOf returns the cases of a switch, and whether one of them runs in any case.
func casesOf(body *ast.BlockStmt) (cases []ast.Node, all bool) {
	for _, st := range body.List {
		if c, ok := st.(*ast.CaseClause); ok {
			cases = append(cases, c)
			all = all || c.List == nil
		}
	}
	return cases, all
}

// instrument puts a counter at the beginning of every block, and where none of the blocks of a statement runs, and ends calls in front of the statements that refused tells. Lines stay
// where they are.
func (b *built) instrument(v *side, f *ast.File, text []byte, refused func(ast.Stmt) bool) []byte {
	file := v.pkg.Fset.File(f.Pos())
	type insert struct {
		at   int
		text string
	}
	var inserts []insert
	key := ""
	of := make(map[ast.Node]int) // for blocks of statements that may run none, which counter says so
	add := func(pos token.Pos, node ast.Node) {
		if at, ok := of[node]; ok {
			b.blocks[at].instead = append(b.blocks[at].instead, len(b.blocks))
		}
		inserts = append(inserts, insert{file.Offset(pos), fmt.Sprintf(" %s[%d]++;", cmp.Or(b.counter, "honeCover"), len(b.blocks))})
		b.blocks = append(b.blocks, block{file: file.Name(), line: file.Position(node.Pos()).Line, last: file.Position(node.End()).Line, key: key})
	}
	// otherwise counts how often none of the blocks of a statement runs.
	otherwise := func(pos token.Pos, node ast.Stmt, body *ast.BlockStmt, text string, blocks ...ast.Node) {
		at := len(b.blocks)
		inserts = append(inserts, insert{file.Offset(pos), fmt.Sprintf(text, fmt.Sprintf("%s[%d]++", cmp.Or(b.counter, "honeCover"), at))})
		b.blocks = append(b.blocks, block{file: file.Name(), line: file.Position(node.Pos()).Line, last: file.Position(body.Lbrace).Line, key: key, otherwise: true})
		for _, n := range blocks {
			of[n] = at
		}
	}
	refuse := func(list []ast.Stmt) {
		for _, st := range list {
			if refused != nil && refused(st) {
				inserts = append(inserts, insert{file.Offset(st.Pos()), "honeRefuse(); "})
			}
		}
	}
	skip := make(map[*ast.BlockStmt]bool) // bodies of switches hold only cases
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			key = v.funcKey(n)
		case *ast.IfStmt:
			if n.Else == nil {
				otherwise(n.Body.Rbrace+1, n, n.Body, " else { %s }", n.Body)
			}
		case *ast.SwitchStmt:
			skip[n.Body] = true
			if cases, all := casesOf(n.Body); len(cases) > 0 && !all {
				otherwise(n.Body.Rbrace, n, n.Body, "; default: %s; ", cases...)
			}
		case *ast.TypeSwitchStmt:
			skip[n.Body] = true
			if cases, all := casesOf(n.Body); len(cases) > 0 && !all {
				otherwise(n.Body.Rbrace, n, n.Body, "; default: %s; ", cases...)
			}
		case *ast.SelectStmt:
			skip[n.Body] = true
		case *ast.BlockStmt:
			if !skip[n] {
				add(n.Lbrace+1, n)
				refuse(n.List)
			}
		case *ast.CaseClause:
			add(n.Colon+1, n)
			refuse(n.Body)
		case *ast.CommClause:
			add(n.Colon+1, n)
			refuse(n.Body)
		}
		return true
	})
	order.Stable(inserts, func(a, b insert) int { return cmp.Compare(a.at, b.at) })
	var out bytes.Buffer
	last := 0
	for _, in := range inserts {
		if in.at < last || in.at > len(text) {
			continue
		}
		out.Write(text[last:in.at])
		out.WriteString(in.text)
		last = in.at
	}
	out.Write(text[last:])
	return out.Bytes()
}

// goIn returns the go command in the folder of the package.
func (s *side) goIn() gocmd.Command { return s.version.goIn(s.dir) }

// about returns what the go command says of itself.
func (s *side) about(ctx context.Context) (gocmd.About, error) {
	if s.version.about.GOOS != "" {
		return s.version.about, nil
	}
	return s.goIn().About(ctx)
}
