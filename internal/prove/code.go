package prove

import (
	"fmt"
	"go/token"
	"go/types"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hone-perf/hone/internal/prove/worker"
)

// A coder writes programs as Go that compiles. What a printer writes is for people; it leaves out what they would not miss.
type coder struct {
	*surface
	taken map[string]bool // names that imports must not have

	// Of the program that is being written:
	names map[int64]string
	lines []string
	setup []string // what is done once, before the benchmark
	used  map[int64]bool
	at    []int // functions of the steps
	n     int
	bad   bool // there is something in it that cannot be written
}

func newCoder(s *surface) *coder {
	c := &coder{surface: s, taken: make(map[string]bool)}
	for _, v := range []*side{s.old, s.new} {
		for _, name := range v.pkg.Types.Scope().Names() {
			c.taken[name] = true
		}
	}
	return c
}

// std names a package of the standard library as workers do, so that it is imported.
func (c *coder) std(path string) string {
	name, ok := c.imports[path]
	if !ok {
		name = fmt.Sprintf("hone%d", len(c.imports))
		c.imports[path] = name
	}
	return name
}

// program writes a block with the calls of a program. It reports false when something in it has no spelling.
func (c *coder) program(p *worker.Program) (string, bool) {
	c.names, c.used, c.lines, c.setup, c.n, c.bad = make(map[int64]string), make(map[int64]bool), nil, nil, 0, false
	markUsed(p, c.used)
	c.at = nil
	for i := range p.Steps {
		c.at = append(c.at, p.Steps[i].Func)
		c.step(i, &p.Steps[i])
	}
	if c.bad {
		return "", false
	}
	text := strings.Join(c.lines, "\n") + "\n"
	if len(c.lines) > 1 {
		text = "{\n" + text + "}\n"
	}
	return strings.Join(c.setup, "\n") + "\x00" + text, true
}

// markUsed notes which results and arguments are used by later steps.
func markUsed(p *worker.Program, used map[int64]bool) {
	var find func(v *worker.Value)
	find = func(v *worker.Value) {
		switch v.Kind {
		case worker.Ref:
			used[v.Int] = true
		case worker.Same:
			used[^v.Int] = true
		}
		for i := range v.Elems {
			find(&v.Elems[i])
		}
	}
	for i := range p.Steps {
		for j := range p.Steps[i].Args {
			find(&p.Steps[i].Args[j])
		}
	}
}

// part writes a benchmark within a benchmark.
func (c *coder) part(name string, blocks []string) string {
	var setup, loop strings.Builder
	for i, b := range blocks {
		before, text, _ := strings.Cut(b, "\x00")
		own := fmt.Sprintf("req%d_", i+1) // what is set up is seen by all
		setup.WriteString(strings.ReplaceAll(before, "reqN_", own))
		if before != "" {
			setup.WriteByte('\n')
		}
		loop.WriteString(strings.ReplaceAll(text, "reqN_", own))
	}
	return fmt.Sprintf("b.Run(%q, func(b *testing.B) {\n%sb.ReportAllocs()\nfor b.Loop() {\n%s}\n})\n", name, setup.String(), loop.String())
}

// file writes a file with benchmarks, for a version.
func (c *coder) file(v *side, body string) string {
	imports := map[string]string{"testing": "testing"}
	taken := map[string]bool{"testing": true, "b": true}
	if strings.Contains(body, "honeRequest(") {
		body += fmt.Sprintf(honeRequest, c.std("net/http"), c.std("net/http"), c.std("io"), c.std("strings"))
	}
	paths := make([]string, 0, len(c.imports))
	for p := range c.imports {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	for _, p := range paths {
		word := regexp.MustCompile(`\b` + c.imports[p] + `\.`)
		if !word.MatchString(body) {
			continue
		}
		name := p[strings.LastIndexByte(p, '/')+1:]
		if pkg := c.new.pkg.Imports[p]; pkg != nil {
			name = pkg.Name
		}
		for !regexp.MustCompile(`^[a-z][a-z0-9]*$`).MatchString(name) || c.taken[name] || taken[name] {
			name = c.imports[p] + "x"
			if !taken[name] {
				break
			}
		}
		taken[name] = true
		imports[c.pathIn(v, p)] = name
		body = word.ReplaceAllString(body, name+".")
	}
	var head strings.Builder
	fmt.Fprintf(&head, "package %s\n\nimport (\n", v.pkg.Types.Name())
	for _, p := range sortedKeys(imports) {
		fmt.Fprintf(&head, "%s %q\n", imports[p], p)
	}
	return head.String() + ")\n\n" + body
}

func sortedKeys[T any](m map[string]T) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

const honeRequest = `
// honeRequest returns a request that nobody has read yet.
func honeRequest(r *%s.Request, body string) *%s.Request {
	r = r.WithContext(r.Context())
	r.Body = %s.NopCloser(%s.NewReader(body))
	return r
}
`

func (c *coder) variable(prefix string) string {
	c.n++
	return prefix + strconv.Itoa(c.n)
}

func (c *coder) step(at int, s *worker.Step) {
	e := c.entries[s.Func]
	if e.expr == "" || e.oldExpr != "" || !e.inOld || len(s.Args) != len(e.params) {
		c.bad = true
		return
	}
	args := make([]string, len(s.Args))
	for i := range s.Args {
		args[i] = c.value(&s.Args[i], e.params[i])
		id := int64(at)<<8 | int64(i)
		if !c.used[^id] {
			continue
		}
		if _, ok := c.names[^id]; !ok && (s.Args[i].Kind == worker.Ref || s.Args[i].Kind == worker.Same) {
			c.names[^id] = args[i]
			continue
		}
		name := c.variable("x")
		c.names[^id] = name
		c.lines = append(c.lines, fmt.Sprintf("var %s %s = %s", name, c.spell(e.params[i]), args[i]))
		args[i] = name
	}
	dots := ""
	if e.variadic {
		dots = "..."
	}
	call := e.expr + "(" + strings.Join(args, ", ") + dots + ")"
	if e.field != "" && token.IsIdentifier(args[0]) {
		call = args[0] + "." + e.field + " = " + args[1]
	}
	var results []string
	any := false
	for i := range e.results {
		name := "_"
		if id := int64(at)<<8 | int64(i); c.used[id] {
			name = c.variable("v")
			c.names[id], any = name, true
		}
		results = append(results, name)
	}
	if any {
		call = strings.Join(results, ", ") + " := " + call
	}
	c.lines = append(c.lines, call)
}

// no says that a value cannot be written.
func (c *coder) no() string {
	c.bad = true
	return "nil"
}

// value writes a value that can be assigned to a t.
func (c *coder) value(v *worker.Value, t types.Type) string {
	key := c.new.typeKey(t)
	switch v.Kind {
	case worker.Zero:
		return c.zero(t)
	case worker.Ref:
		step, i := int(v.Int>>8), int(v.Int&255)
		return c.fit(c.names[v.Int], c.typeOf(step, i), t)
	case worker.Same:
		return c.fit(c.names[^v.Int], c.argType(v.Int), t)
	case worker.Reader:
		return c.reader(v, key)
	case worker.Writer:
		return c.writer(v, key)
	case worker.Request:
		return c.request(v)
	case worker.Context:
		if v.Int == 1 {
			return c.no()
		}
		return c.std("context") + ".Background()"
	case worker.Error:
		if v.Text == "EOF" {
			return c.std("io") + ".EOF"
		}
		return c.std("errors") + ".New(" + strconv.Quote(v.Text) + ")"
	case worker.Time:
		if v.Text == worker.Seconds {
			return fmt.Sprintf("%s.Unix(%d, 0).UTC()", c.std("time"), v.Int)
		}
		return fmt.Sprintf("%s.Unix(0, %d).UTC()", c.std("time"), v.Int)
	case worker.Iface:
		of, ok := c.types[v.Text]
		if !ok || len(v.Elems) != 1 {
			return c.no()
		}
		return "(" + c.spell(of) + ")(" + c.value(&v.Elems[0], of) + ")"
	case worker.Func, worker.Chan:
		return c.no()
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return c.basic(v, t, u)
	case *types.Pointer:
		if len(v.Elems) != 1 {
			return c.no()
		}
		text := c.value(&v.Elems[0], u.Elem())
		if isComposite(u.Elem()) && strings.HasSuffix(text, "}") {
			return "&" + text
		}
		return fmt.Sprintf("func() *%[1]s { var v %[1]s = %[2]s; return &v }()", c.spell(u.Elem()), text)
	case *types.Slice:
		if v.Kind == worker.String {
			return "(" + c.spell(t) + ")(" + text(c, v.Text) + ")"
		}
		return c.list(v, t, u.Elem())
	case *types.Array:
		return c.list(fitting(v, u), t, u.Elem())
	case *types.Map:
		return c.mapOf(v, t, u)
	case *types.Struct:
		return c.structOf(v, t, u)
	}
	return c.no()
}

// fitting returns a list without the elements that an array has no room for. Mutations of lists may have made it longer, and the workers
// leave the rest out, too.
func fitting(v *worker.Value, of *types.Array) *worker.Value {
	if int64(len(v.Elems)) <= of.Len() {
		return v
	}
	fits := *v
	fits.Elems = v.Elems[:of.Len()]
	return &fits
}

func isComposite(t types.Type) bool {
	switch t.Underlying().(type) {
	case *types.Struct, *types.Array, *types.Slice, *types.Map:
		return true
	}
	return false
}

// typeOf is the type of a result.
func (c *coder) typeOf(step, i int) types.Type {
	return c.stepType(step, func(e *entry) []types.Type { return e.results }, i)
}

// argType is the type of an argument.
func (c *coder) argType(id int64) types.Type {
	return c.stepType(int(id>>8), func(e *entry) []types.Type { return e.params }, int(id&255))
}

func (c *coder) stepType(step int, of func(e *entry) []types.Type, i int) types.Type {
	if step < 0 || step >= len(c.at) {
		return nil
	}
	list := of(c.entries[c.at[step]])
	if i >= len(list) {
		return nil
	}
	return list[i]
}

// fit writes a variable of one type where another is wanted, as workers do.
func (c *coder) fit(name string, has, want types.Type) string {
	switch {
	case name == "" || has == nil:
	case types.AssignableTo(has, want):
		return name
	case types.Identical(base(has), want):
		return "*" + name
	case types.Identical(has, base(want)):
		return "&" + name
	}
	return c.no()
}

func (c *coder) zero(t types.Type) string {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		switch info := u.Info(); {
		case info&types.IsBoolean != 0:
			return "false"
		case info&types.IsString != 0:
			return `""`
		case info&types.IsNumeric != 0:
			return "0"
		}
		return "nil"
	case *types.Struct, *types.Array:
		return c.spell(t) + "{}"
	}
	return "nil"
}

// text writes a string, and a long one that repeats itself in short.
func text(c *coder, s string) string {
	if len(s) > 64 {
		if unit, n := period(s); n > 1 {
			return fmt.Sprintf("%s.Repeat(%s, %d)", c.std("strings"), strconv.Quote(unit), n)
		}
	}
	return strconv.Quote(s)
}

func (c *coder) basic(v *worker.Value, t types.Type, u *types.Basic) string {
	var out string
	switch info := u.Info(); {
	case info&types.IsBoolean != 0:
		out = strconv.FormatBool(v.Int&1 == 1)
	case info&types.IsString != 0:
		out = text(c, v.Text)
	case info&types.IsInteger != 0:
		n := fitInteger(v.Int, u)
		out = strconv.FormatInt(n, 10)
		if info&types.IsUnsigned != 0 {
			out = strconv.FormatUint(uint64(n), 10)
		}
	case info&(types.IsFloat|types.IsComplex) != 0:
		f := math.Float64frombits(uint64(v.Int))
		if v.Kind != worker.Float {
			f = float64(v.Int)
		}
		out = fmt.Sprintf("%s.Float64frombits(%#x)", c.std("math"), math.Float64bits(f))
		if short := strconv.FormatFloat(f, 'g', -1, 64); !math.IsInf(f, 0) && !math.IsNaN(f) && (f != 0 || !math.Signbit(f)) && math.Abs(f) < math.MaxFloat32 {
			out = short
		}
		if info&types.IsComplex != 0 {
			return fmt.Sprintf("%s(complex(%s, %s/2))", c.spell(t), out, out)
		}
	default:
		return c.no()
	}
	if b, ok := t.(*types.Basic); ok && (b.Kind() == types.Int || b.Kind() == types.String || b.Kind() == types.Bool) {
		return out
	}
	return "(" + c.spell(t) + ")(" + out + ")"
}

func (c *coder) list(v *worker.Value, t, elem types.Type) string {
	if v.Kind != worker.List {
		return c.no()
	}
	parts := make([]string, len(v.Elems))
	for i := range v.Elems {
		parts[i] = c.value(&v.Elems[i], elem)
	}
	return c.spell(t) + "{" + strings.Join(parts, ", ") + "}"
}

func (c *coder) mapOf(v *worker.Value, t types.Type, u *types.Map) string {
	if key, ok := u.Key().Underlying().(*types.Basic); v.Kind != worker.Map || !ok || key.Info()&(types.IsInteger|types.IsString|types.IsBoolean) == 0 {
		return c.no() // keys that are written differently may be equal
	}
	var parts []string
	had := make(map[string]bool)
	for i := len(v.Elems) - 2; i >= 0; i -= 2 { // the last one counts
		key := c.value(&v.Elems[i], u.Key())
		if !had[key] {
			had[key] = true
			parts = append(parts, key+": "+c.value(&v.Elems[i+1], u.Elem()))
		}
	}
	return c.spell(t) + "{" + strings.Join(parts, ", ") + "}"
}

func (c *coder) structOf(v *worker.Value, t types.Type, u *types.Struct) string {
	if v.Kind != worker.Struct {
		return c.no()
	}
	var parts []string
	for i, name := range v.Names {
		for f := range u.Fields() {
			if f.Name() == name && i < len(v.Elems) {
				parts = append(parts, name+": "+c.value(&v.Elems[i], f.Type()))
			}
		}
	}
	return c.spell(t) + "{" + strings.Join(parts, ", ") + "}"
}

func (c *coder) reader(v *worker.Value, key string) string {
	s := text(c, v.Text)
	plain := c.std("strings") + ".NewReader(" + s + ")"
	switch {
	case v.Int != worker.ReadAll:
		return c.no()
	case key == "*bytes.Reader":
		return c.std("bytes") + ".NewReader([]byte(" + s + "))"
	case key == "*bytes.Buffer" || key == "io.ReadWriter":
		return c.std("bytes") + ".NewBufferString(" + s + ")"
	case key == "*bufio.Reader":
		return c.std("bufio") + ".NewReader(" + plain + ")"
	case key == "io.ReadCloser":
		return c.std("io") + ".NopCloser(" + plain + ")"
	case knownType(key) == isReader:
		return plain
	}
	return c.no()
}

func (c *coder) writer(v *worker.Value, key string) string {
	switch {
	case key == "net/http.ResponseWriter":
		return c.std("net/http/httptest") + ".NewRecorder()"
	case v.Int != worker.WriteAll || key == "io.WriteCloser":
	case key == "*strings.Builder":
		return "new(" + c.std("strings") + ".Builder)"
	case key == "*bufio.Writer":
		return c.std("bufio") + ".NewWriter(" + c.std("io") + ".Discard)"
	case knownType(key) == isWriter:
		return "new(" + c.std("bytes") + ".Buffer)"
	}
	return c.no()
}

// request makes a request once, and hands a fresh copy of it to each call.
func (c *coder) request(v *worker.Value) string {
	method, target, ok := strings.Cut(v.Text, " ")
	if !ok || len(v.Elems) != len(v.Names)+1 {
		return c.no()
	}
	name := c.variable("reqN_")
	c.setup = append(c.setup, fmt.Sprintf("%s := %s.NewRequest(%q, %q, nil)", name, c.std("net/http/httptest"), method, "http://example.com"+target))
	for i, h := range v.Names {
		if h == "Host" {
			c.setup = append(c.setup, fmt.Sprintf("%s.Host, %s.URL.Host = %q, %q", name, name, v.Elems[i].Text, v.Elems[i].Text))
			continue
		}
		c.setup = append(c.setup, fmt.Sprintf("%s.Header.Add(%q, %q)", name, h, v.Elems[i].Text))
	}
	return fmt.Sprintf("honeRequest(%s, %s)", name, text(c, v.Elems[len(v.Names)].Text))
}
