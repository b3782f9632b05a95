package prove

import (
	"context"
	"errors"
	"fmt"
	"go/format"
	"go/types"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/prove/worker"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/unit"
)

// Limits of the tests that are written of differences.
const (
	mostRegressions = 10
	regressionTime  = 20 * time.Second // that one may run for
	regressionFile  = "zz_hone_regress_test.go"
)

// A regression is a test of what the old version does and the new one does not.
type regression struct {
	name    string
	lines   []string
	imports map[string]string // by path
	got     string            // an expression of a string; "" where the lines say it all
	want    string
	learned bool
}

// regressions writes tests of the differences of a package, and keeps those that pass in the old version and fail in the new one.
func (r *run) regressions(ctx context.Context, f *search, found []*finding) error {
	var list []*regression
	all := 0
	for _, d := range found {
		if !d.alarms() || all >= mostRegressions {
			continue
		}
		all++
		if t := f.regression(d, len(list)+1); t != nil {
			list = append(list, t)
		}
	}
	if all == 0 {
		return nil
	}
	if r.proof.Regression != nil {
		r.hint("the test file leaves out package ", f.new.pkg.PkgPath, ", whose tests belong in another folder: ", hint.Option{Name: "func"}, " selects one function")
		return nil
	}
	work, err := os.MkdirTemp(filepath.Dir(f.files[0].file), "regress-")
	if err != nil {
		return err
	}
	r.opt.Say("writing tests for the differences")
	old := regressionBuild{surface: f.surface, side: f.old, file: filepath.Join(work, "old")}
	now := regressionBuild{surface: f.surface, side: f.new, file: filepath.Join(work, "new")}
	if list, err = old.build(ctx, list); err == nil {
		for _, t := range list {
			if t.got != "" {
				t.learn(old.run(ctx, t))
			}
		}
		list = slices.DeleteFunc(list, func(t *regression) bool { return t.got != "" && !t.learned })
		list, err = old.build(ctx, list)
	}
	if err == nil {
		list, err = now.build(ctx, list)
	}
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(t *regression) bool {
		return !passed(old.run(ctx, t)) || passed(now.run(ctx, t))
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if len(list) < all {
		r.note("%d of %s cannot be shown by a test of a few lines", all-len(list), unit.Counted(all, "difference"))
	}
	if len(list) == 0 {
		return nil
	}
	text := fmt.Sprintf("// Calls that %s and %s answer differently. Each test passes with %s.\n\n", r.proof.Old, r.proof.New, r.proof.Old)
	r.proof.Regression = &report.Regression{Package: f.new.pkg.PkgPath, Folder: shownDir(f.rel), Tests: len(list), Source: text + f.regressionText(f.new, list)}
	return nil
}

// regression writes a test of a difference, or returns nil where it takes more than a test can tell.
func (s *surface) regression(d *finding, n int) *regression {
	if d.program.After || d.at >= len(d.program.Steps) || s.entries[d.program.Steps[d.at].Func].oldExpr != "" {
		return nil
	}
	t := &regression{name: s.testName(d, n)}
	w := s.printer(d.program, d.step)
	used := make(map[int64]bool)
	markUsed(&worker.Program{Steps: w.steps}, used)
	path := strings.TrimSpace(d.path)
	e := s.entries[d.program.Steps[d.step].Func]
	const nothing = math.MinInt64
	id, kept := int64(nothing), -1
	switch {
	case path == "outcome":
		if d.old != "returns" {
			return nil
		}
	case d.layer == worker.LayerError:
		i := slices.IndexFunc(e.results, isErrorType)
		if i < 0 {
			return nil
		}
		id = int64(d.step)<<8 | int64(i)
	default:
		step, isKept := keptCall(d.path)
		if isKept {
			e = s.entries[d.program.Steps[step].Func]
			i := slices.IndexFunc(e.results, func(t types.Type) bool { return !isBasic(t) && !isErrorType(t) })
			if i < 0 || step >= d.step {
				return nil
			}
			kept, id = step, int64(step)<<8|int64(i)
			break
		}
		var ok bool
		if id, ok = placeOf(path, e, d.step); !ok {
			return nil
		}
	}
	if id != nothing {
		used[id] = true
	}
	var had string
	for i := range w.steps {
		w.step(i, &w.steps[i], used)
		if i == kept {
			had = s.seen(w, e.results[id&255], w.names[id], "")
			if had == "" {
				return nil
			}
			w.line("before := %s", had)
		}
	}
	switch {
	case path == "outcome":
		w.lines = append([]string{"// It must return."}, w.lines...)
	case kept >= 0:
		w.line("if after := %s; after != before {\nt.Errorf(\"a later call changes a result from %%s to %%s\", before, after)\n}", had)
	case d.layer == worker.LayerError && d.old == "nil":
		w.line("if %s != nil {\nt.Errorf(\"error %%v\", %[1]s)\n}", w.names[id])
	case d.layer == worker.LayerError:
		w.line("if %s == nil {\nt.Error(\"no error\")\n}", w.names[id])
	case id != nothing:
		list, rest := e.results, ""
		if id < 0 {
			list = e.params
		}
		if i := strings.IndexAny(path, ".["); i >= 0 {
			rest = path[i:]
		}
		place := id
		if id < 0 {
			place = ^id
		}
		if t.got = s.seen(w, list[place&255], w.names[id], rest); t.got == "" {
			return nil
		}
	}
	w.useAllBut(t.got)
	t.lines, t.imports = w.lines, w.imports
	return t
}

// printer returns a printer of a program, up to a step.
func (s *surface) printer(p *worker.Program, until int) *printer {
	w := &printer{
		surface: s, steps: p.Steps[:min(until+1, len(p.Steps))],
		names: make(map[int64]string), imports: make(map[string]string), taken: map[string]bool{"t": true, "got": true, "want": true, "before": true, "after": true}, count: make(map[string]int),
	}
	for _, v := range []*side{s.old, s.new} {
		for _, name := range v.pkg.Types.Scope().Names() {
			w.taken[name] = true
		}
	}
	return w
}

// placeOf returns which result or argument of a step a path is about, as markUsed has it.
func placeOf(path string, e *entry, step int) (id int64, ok bool) {
	root := rootOf(path)
	var n int
	switch {
	case root == "error":
		n = slices.IndexFunc(e.results, isErrorType)
	case root == "result":
		n = 0
	case strings.HasPrefix(root, "result "):
		n, _ = strconv.Atoi(strings.TrimPrefix(root, "result "))
		n--
	case strings.HasPrefix(root, "argument "):
		n, _ = strconv.Atoi(strings.Fields(root)[1])
		if n--; n >= 0 && n < len(e.params) {
			return ^(int64(step)<<8 | int64(n)), true
		}
		return 0, false
	default:
		return 0, false
	}
	return int64(step)<<8 | int64(n), n >= 0 && n < len(e.results)
}

var fieldPath = lazily(`^(\.[A-Za-z_]\w*)+$`)

// seen writes an expression of a string that tells what a value is, "" where there is none that is short. rest is the path in the value.
func (s *surface) seen(w *printer, t types.Type, name, rest string) string {
	sprintf := w.std("fmt") + ".Sprintf("
	switch u := t.Underlying().(type) {
	case *types.Signature, *types.Chan:
		return ""
	case *types.Basic:
		if u.Info()&types.IsString != 0 {
			return sprintf + `"%q", ` + name + ")"
		}
		return sprintf + `"%v", ` + name + ")"
	case *types.Slice:
		if b, ok := u.Elem().Underlying().(*types.Basic); ok && (b.Info()&types.IsString != 0 || b.Kind() == types.Uint8) {
			return sprintf + `"%q", ` + name + ")"
		}
	}
	switch s.new.typeKey(t) {
	case "net/http.ResponseWriter":
		w.line("answer := %s.(*%s.ResponseRecorder)", name, w.std("net/http/httptest"))
		return sprintf + `"%d %v %q", answer.Code, answer.Header(), answer.Body)`
	case "io.Writer", "*bytes.Buffer", "*strings.Builder":
		return sprintf + `"%v", ` + name + ")"
	}
	if isErrorType(t) {
		return sprintf + `"%v", ` + name + ")"
	}
	if named, st := structOf(t); st != nil && named.Obj().Pkg() != nil {
		if fieldPath().MatchString(rest) {
			return sprintf + `"%+v", ` + name + rest + ")"
		}
		for f := range st.Fields() {
			if !f.Exported() { // which is how it is stored, and may change
				return ""
			}
		}
	}
	return sprintf + `"%+v", ` + name + ")"
}

// testName makes a name for a test that nothing has.
func (s *surface) testName(d *finding, n int) string {
	name := "TestSame" + strings.Map(func(c rune) rune {
		if c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' {
			return c
		}
		return -1
	}, strings.Replace(strings.ToUpper(d.fn[:1])+d.fn[1:], ".", "_", 1))
	if name += strconv.Itoa(n); s.new.pkg.Types.Scope().Lookup(name) != nil || s.old.pkg.Types.Scope().Lookup(name) != nil {
		name += "_"
	}
	return name
}

// regressionText writes the file with tests, for a version.
func (s *surface) regressionText(v *side, list []*regression) string {
	imports := map[string]string{"testing": "testing"}
	var body strings.Builder
	for _, t := range list {
		fmt.Fprintf(&body, "\nfunc %s(t *testing.T) {\n%s\n", t.name, strings.Join(t.lines, "\n"))
		switch {
		case t.got != "" && t.learned:
			fmt.Fprintf(&body, "if got, want := %s, %s; got != want {\nt.Errorf(\"got %%s, want %%s\", got, want)\n}\n", t.got, literal(t.want))
		case t.got != "":
			fmt.Fprintf(&body, "t.Logf(\"want=%%q\", %s)\n", t.got)
		}
		body.WriteString("}\n")
		for path, name := range t.imports {
			if strings.Contains(strings.Join(t.lines, "\n")+t.got, name+".") {
				imports[path] = name
			}
		}
	}
	var head strings.Builder
	fmt.Fprintf(&head, "package %s\n\nimport (\n", v.pkg.Types.Name())
	for _, path := range sortedKeys(imports) {
		name := imports[path] + " "
		if path[strings.LastIndexByte(path, '/')+1:] == imports[path] {
			name = ""
		}
		fmt.Fprintf(&head, "%s%q\n", name, s.pathIn(v, path))
	}
	text := head.String() + ")\n" + body.String()
	if out, err := format.Source([]byte(text)); err == nil {
		return string(out)
	}
	return text
}

// literal writes a string, in backquotes where it would have to be escaped.
func literal(s string) string {
	if strings.Contains(s, `"`) && strconv.CanBackquote(s) {
		return "`" + s + "`"
	}
	return strconv.Quote(s)
}

var (
	learnedText = lazily(`(?m)want=("(?:[^"\\]|\\.)*")$`)
	addressText = lazily(`0x[0-9a-f]{6}`)
)

// learn takes what the old version does from the output of a test.
func (t *regression) learn(out string, err error) {
	m := learnedText().FindStringSubmatch(out)
	if err != nil || m == nil {
		return
	}
	want, err := strconv.Unquote(m[1])
	if err != nil || len(want) > 4096 || addressText().MatchString(want) {
		return
	}
	t.want, t.learned = want, true
}

func passed(_ string, err error) bool { return err == nil }

// A regressionBuild builds and runs tests in one version.
type regressionBuild struct {
	*surface
	side *side
	file string
}

// build builds the tests, and leaves those out that do not compile.
func (b *regressionBuild) build(ctx context.Context, list []*regression) ([]*regression, error) {
	if runtime.GOOS == "windows" && !strings.HasSuffix(b.file, ".exe") {
		b.file += ".exe"
	}
	for len(list) > 0 {
		text := b.regressionText(b.side, list)
		src := b.file + "_test.go"
		if err := os.WriteFile(src, []byte(text), 0o600); err != nil {
			return nil, err
		}
		replace := gocmd.Overlay{filepath.Join(b.side.dir, regressionFile): src}
		for _, name := range b.side.tests { // they may have a TestMain
			replace[name] = ""
		}
		overlay := b.file + ".json"
		if err := replace.Write(overlay); err != nil {
			return nil, err
		}
		_, err := b.side.goIn().Run(ctx, slices.Concat([]string{"test", "-c", "-vet=off", "-overlay=" + overlay}, b.side.version.about.WithoutDWARF(), []string{"-o", b.file, "."})...)
		var wrong *gocmd.Error
		if err == nil || !errors.As(err, &wrong) {
			return list, err
		}
		bad := badTests(text, wrong.Output)
		if len(bad) == 0 {
			return nil, err
		}
		list = slices.DeleteFunc(list, func(t *regression) bool { return bad[t.name] })
	}
	return nil, ctx.Err()
}

// badTests returns the names of the tests that the compiler complains about.
func badTests(text, said string) map[string]bool {
	lines := strings.Split(text, "\n")
	bad := make(map[string]bool)
	for _, m := range regexp.MustCompile(`_test\.go:(\d+):`).FindAllStringSubmatch(said, -1) {
		at, _ := strconv.Atoi(m[1])
		for i := min(at, len(lines)) - 1; i >= 0; i-- {
			if rest, ok := strings.CutPrefix(lines[i], "func Test"); ok {
				name, _, _ := strings.Cut(rest, "(")
				bad["Test"+name] = true
				break
			}
		}
	}
	return bad
}

// run runs one test.
func (b *regressionBuild) run(ctx context.Context, t *regression) (string, error) {
	limited, cancel := context.WithTimeout(ctx, 2*regressionTime)
	defer cancel()
	cmd := exec.CommandContext(limited, b.file, "-test.v", "-test.run=^"+t.name+"$", "-test.timeout="+regressionTime.String())
	cmd.Dir, cmd.WaitDelay = b.side.dir, time.Second
	out, err := cmd.CombinedOutput()
	return string(out), err
}
