package prove

import (
	"encoding/json"
	"go/ast"
	"go/constant"
	"go/types"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hone-perf/hone/internal/prove/worker"
)

// A dictionary holds what the code itself speaks of: its constants, and those of its tests.
type dictionary struct {
	near     string                    // the function that is asked about
	texts    map[string][]string       // string literals by the declaration they are in; "" has all
	numbers  map[string][]int64        // likewise
	floats   []float64                 //
	patterns []*syntax.Regexp          // that strings are matched with
	literals map[string][]worker.Value // composite literals, by type
	params   []string                  // names of form values
	headers  []string
	paths    []string
	bodies   []types.Type // structs that JSON is read into
}

// Functions whose first argument names a part of a request.
var (
	paramCalls  = []string{"FormValue", "PostFormValue", "PathValue", "FormFile"}
	headerCalls = []string{"Get", "Values", "Add", "Set", "Del"}
)

func newDictionary(s *surface) *dictionary {
	d := &dictionary{texts: make(map[string][]string), numbers: make(map[string][]int64), literals: make(map[string][]worker.Value)}
	for _, v := range []*side{s.old, s.new} {
		keys := make([]string, 0, len(v.decls))
		for k := range v.decls {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			d.read(s, v, v.pkg.TypesInfo, k, v.decls[k].node)
			for _, u := range v.decls[k].uses { // constants, tables and helpers belong to who uses them
				if v.decls[u] != nil {
					d.read(s, v, v.pkg.TypesInfo, k, v.decls[u].node)
				}
			}
			d.readType(v.decls[k])
		}
		if v.outer != nil {
			for _, f := range v.outer.Syntax {
				d.read(s, v, v.outer.TypesInfo, "", f)
			}
		}
		d.readCorpus(v.dir)
	}
	for k := range d.texts {
		d.texts[k] = unique(d.texts[k])
	}
	for k := range d.numbers {
		d.numbers[k] = unique(d.numbers[k])
	}
	d.params, d.headers, d.paths = unique(d.params), unique(d.headers), unique(d.paths)
	return d
}

func unique[T int64 | string](list []T) []T {
	slices.Sort(list)
	return slices.Compact(list)
}

// read takes the literals from a piece of code.
func (d *dictionary) read(s *surface, v *side, info *types.Info, key string, n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			d.readCall(info, n)
		case *ast.CompositeLit:
			if key == "" || v.decls[key].test { // what tests make is of use; what the code makes is its own
				if val, ok := literalValue(info, n, nil); ok {
					k := v.typeKey(info.TypeOf(n))
					if len(d.literals[k]) < 200 {
						d.literals[k] = append(d.literals[k], val)
					}
				}
			}
		case ast.Expr:
			d.readConstant(info, key, n)
		}
		return true
	})
}

func (d *dictionary) readConstant(info *types.Info, key string, e ast.Expr) {
	tv, ok := info.Types[e]
	if !ok || tv.Value == nil {
		return
	}
	switch tv.Value.Kind() {
	case constant.String:
		text := constant.StringVal(tv.Value)
		if len(text) > 4096 {
			return
		}
		d.texts[""] = append(d.texts[""], text)
		d.texts[key] = append(d.texts[key], text)
		if path, ok := strings.CutPrefix(text, "/"); ok && !strings.ContainsAny(path, " \n<>\\^$*") {
			d.paths = append(d.paths, text)
		} else if _, path, ok := strings.Cut(text, " /"); ok && strings.Trim(text[:strings.IndexByte(text, ' ')], "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" {
			d.paths = append(d.paths, "/"+path)
		}
	case constant.Int:
		if n, exact := constant.Int64Val(tv.Value); exact {
			d.numbers[""] = append(d.numbers[""], n)
			d.numbers[key] = append(d.numbers[key], n)
		} else if n, exact := constant.Uint64Val(tv.Value); exact {
			d.numbers[""] = append(d.numbers[""], int64(n))
			d.numbers[key] = append(d.numbers[key], int64(n))
		}
	case constant.Float:
		f, _ := constant.Float64Val(tv.Value)
		d.floats = append(d.floats, f)
	}
}

// readCall learns what the arguments of well-known functions are.
func (d *dictionary) readCall(info *types.Info, call *ast.CallExpr) {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) == 0 {
		return
	}
	fn, _ := info.Uses[sel.Sel].(*types.Func)
	if fn == nil || fn.Pkg() == nil {
		return
	}
	name, pkg := fn.Name(), fn.Pkg().Path()
	text, constant := "", false
	if tv := info.Types[call.Args[0]]; tv.Value != nil && isBasic(tv.Type) {
		text, constant = strings.Trim(tv.Value.ExactString(), `"`), true
		if s, err := strconv.Unquote(tv.Value.ExactString()); err == nil {
			text = s
		}
	}
	recv := ""
	if r := fn.Signature().Recv(); r != nil {
		recv = types.TypeString(r.Type(), nil)
	}
	switch {
	case pkg == "net/http" && slices.Contains(paramCalls, name) && constant, recv == "net/url.Values" && constant:
		d.params = append(d.params, text)
	case recv == "net/http.Header" && slices.Contains(headerCalls, name) && constant:
		d.headers = append(d.headers, text)
	case pkg == "regexp" && constant:
		if re, err := syntax.Parse(text, syntax.Perl); err == nil {
			d.patterns = append(d.patterns, re.Simplify())
		}
	case pkg == "encoding/json" && (name == "Unmarshal" || name == "Decode"):
		t := info.TypeOf(call.Args[len(call.Args)-1])
		if t != nil {
			d.bodies = append(d.bodies, base(t))
		}
	}
}

// readType notes structs that are read from JSON.
func (d *dictionary) readType(decl *decl) {
	tn, ok := decl.obj.(*types.TypeName)
	if !ok || decl.test {
		return
	}
	if st, ok := tn.Type().Underlying().(*types.Struct); ok {
		for i := range st.NumFields() {
			if reflect.StructTag(st.Tag(i)).Get("json") != "" {
				d.bodies = append(d.bodies, tn.Type())
				return
			}
		}
	}
}

// readCorpus reads what fuzzing found earlier.
func (d *dictionary) readCorpus(dir string) {
	files, _ := filepath.Glob(filepath.Join(dir, "testdata", "fuzz", "*", "*"))
	for _, name := range files[:min(len(files), 500)] {
		text, err := os.ReadFile(name)
		if err != nil || len(text) > 64<<10 {
			continue
		}
		for line := range strings.SplitSeq(string(text), "\n") {
			kind, rest, ok := strings.Cut(strings.TrimSuffix(line, ")"), "(")
			if !ok {
				continue
			}
			switch kind {
			case "string", "[]byte":
				if s, err := strconv.Unquote(rest); err == nil {
					d.texts[""] = append(d.texts[""], s)
				}
			default:
				if n, err := strconv.ParseInt(rest, 0, 64); err == nil {
					d.numbers[""] = append(d.numbers[""], n)
				}
			}
		}
	}
}

// Values that are wrong more often than others.
var (
	oddStrings = []string{
		"", " ", "a", "A", "é", "日本", "\x00", "\x7f", "\x80", "\xff", "a\xffb", "İ", "ß", "\u212a", "ſ", "\u2028", "a b", "0", "-1", "+1",
		"1e9", "007", "0x10", "1_000", "9223372036854775807", "9223372036854775808", "true", "a,b", ",", ",,", "a,,b", "/", "//", "a/b/", "\n",
		"a\nb", "\r\n", " a ", "%", "%41", "a=b", "=", "\"", "'", "\\", "<b>", "null", "😀", "e\u0301", "a:b", ":", "a.b", "..", ".", "red",
		"foo bar", "Hello, World", "x y  z", "\t", "a\tb", "1.5", "-0", ".5", "5.", "1e400", "NaN", "{}", "[]", "[1,2]", `{"a":1}`, "a&b", "#",
		"ÀÉ", "ǅ", "\ufeffa", "a;b", "key=value", "-", "--a", "a-b", "_", "a_b", "aB", "ABC", "abcdefgh", "abcdefghi",
	}
	oddLengths = []int{2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 1000}
	oddChars   = []rune{'a', 'Z', '0', ' ', '\n', '\t', '\x00', '\x7f', 'é', 'ß', 'İ', '日', '😀', utf8.RuneError, unicode.MaxRune, -1, 0x80, 0xff, 0x100, 0x7ff, 0x800, 0xffff, 0x10000, 0xd800, ',', '/', '_', '-', '.'}
)

// str makes a string.
func (g *gen) str() string {
	d := g.dict
	near, all := d.texts[d.near], d.texts[""]
	var s string
	switch n := g.rng.IntN(100); {
	case n < 25 && len(near) > 0:
		s = pick(g, near)
	case n < 38 && len(all) > 0:
		s = pick(g, all)
	case n < 44 && len(d.patterns) > 0:
		s = g.matching(pick(g, d.patterns), 0)
	case n < 50 && len(d.bodies) > 0:
		s = g.json(pick(g, d.bodies), 0)
	case n < 75:
		s = pick(g, oddStrings)
	case n < 85:
		s = g.joined()
	default:
		s = g.random()
	}
	for g.chance(40) {
		s = g.mutateText(s)
	}
	return s
}

// joined puts words from the dictionary together.
func (g *gen) joined() string {
	var words []string
	sep := pick(g, []string{"", " ", ",", "\n", "/", ":", ";", "&", "=", ".", "-", ", ", "\t", "|"})
	for range 1 + g.rng.IntN(5) {
		switch near := g.dict.texts[g.dict.near]; {
		case len(near) > 0 && g.chance(50):
			words = append(words, pick(g, near))
		case g.chance(30):
			words = append(words, strconv.FormatInt(g.integer(types.Typ[types.Int16]), 10))
		default:
			words = append(words, pick(g, oddStrings))
		}
	}
	return strings.Join(words, sep)
}

// random makes a string of characters that the code knows.
func (g *gen) random() string {
	near := strings.Join(g.dict.texts[g.dict.near], "")
	n := g.rng.IntN(12)
	if g.chance(15) {
		n = pick(g, oddLengths)
	}
	var b strings.Builder
	for range n {
		switch c := g.rng.IntN(10); {
		case c < 4 && near != "":
			b.WriteByte(near[g.rng.IntN(len(near))])
		case c < 5:
			b.WriteRune(g.char())
		case c < 7:
			b.WriteByte(byte('0' + g.rng.IntN(10)))
		default:
			b.WriteByte("abcxyzABCXYZ _-,./\n"[g.rng.IntN(19)])
		}
	}
	return b.String()
}

// mutateText changes a string a little.
func (g *gen) mutateText(s string) string {
	cut := func() int { return g.rng.IntN(len(s) + 1) }
	if s == "" {
		return pick(g, oddStrings)
	}
	switch g.rng.IntN(13) {
	case 0:
		return s[:cut()]
	case 1:
		return s[cut():]
	case 2:
		return s + s
	case 3:
		i := cut()
		return s[:i] + string([]byte{pick(g, []byte{0, 0x7f, 0x80, 0xff, ' ', '\n', '0', 'a', 'Z', '"', '\\', ',', '+', '-', '.'})}) + s[i:]
	case 4:
		i := cut()
		return s[:i] + string(g.char()) + s[i:]
	case 5:
		i := g.rng.IntN(len(s))
		return s[:i] + s[i+1:]
	case 6:
		i := cut()
		return s[:i] + pick(g, oddStrings) + s[i:]
	case 7:
		if near := g.dict.texts[g.dict.near]; len(near) > 0 {
			i := cut()
			return s[:i] + pick(g, near) + s[i:]
		}
		return s + " "
	case 8:
		if len(s) < 200 {
			n := pick(g, oddLengths)
			return strings.Repeat(s, n/len(s)+1)[:n]
		}
		return strings.ToUpper(s)
	case 9:
		return pick(g, []string{" ", "\t", "\n", "+", "-", "0"}) + s
	case 10:
		return s + pick(g, []string{" ", "\n", "0", ",", "/", "é", "\xff", "\x00"})
	case 11:
		i := g.rng.IntN(len(s))
		b := []byte(s)
		b[i] ^= 1 << g.rng.IntN(8)
		return string(b)
	default:
		r := []rune(s)
		r[g.rng.IntN(len(r))] = g.char()
		return string(r)
	}
}

// related makes a string that has to do with s.
func (g *gen) related(s string) string {
	switch g.rng.IntN(8) {
	case 0:
		return s
	case 5, 6: // the same but for a character, or its case
		if s == "" {
			return s
		}
		b := []byte(s)
		if i := g.rng.IntN(len(b)); g.chance(50) {
			b[i] ^= 0x20
		} else {
			b[i] = byte(g.rng.IntN(256))
		}
		return string(b)
	case 1:
		return strings.ToUpper(s)
	case 2:
		return strings.ToLower(s)
	case 3:
		return s[g.rng.IntN(len(s)+1):]
	case 4:
		return s[:g.rng.IntN(len(s)+1)]
	}
	return g.mutateText(s)
}

// char makes a character.
func (g *gen) char() rune {
	if near := strings.Join(g.dict.texts[g.dict.near], ""); near != "" && g.chance(30) {
		r := []rune(near)
		return r[g.rng.IntN(len(r))]
	}
	if g.chance(30) {
		return rune(' ' + g.rng.IntN(95))
	}
	return pick(g, oddChars)
}

// integer makes a number that fits t.
func (g *gen) integer(t *types.Basic) int64 {
	near, all := g.dict.numbers[g.dict.near], g.dict.numbers[""]
	var n int64
	switch c := g.rng.IntN(100); {
	case !g.sized && c < 95:
		n = int64(g.rng.IntN(12)) - 2
	case c < 40:
		n = int64(g.rng.IntN(24)) - 3
	case c < 58 && len(near) > 0:
		n = pick(g, near) + int64(g.rng.IntN(3)) - 1
	case c < 66 && len(all) > 0:
		n = pick(g, all) + int64(g.rng.IntN(3)) - 1
	case c < 78:
		n = int64(g.rng.IntN(1200)) - 100
	case c < 90:
		n = 1<<g.rng.IntN(11) + int64(g.rng.IntN(3)) - 1
	case g.sized && c < 95:
		n = 1<<g.rng.IntN(63) + int64(g.rng.IntN(3)) - 1
	case g.sized:
		n = pick(g, []int64{math.MinInt64, math.MaxInt64, math.MinInt32, math.MaxInt32, math.MaxUint32, -1, math.MinInt64 + 1, math.MinInt16, math.MaxInt16, math.MinInt8, math.MaxInt8, math.MaxUint16})
	default:
		n = int64(g.rng.IntN(100))
	}
	if g.chance(8) {
		n = -n
	}
	return fitInteger(n, t)
}

// fitInteger cuts n to what fits t.
func fitInteger(n int64, t *types.Basic) int64 {
	switch t.Kind() {
	case types.Int8:
		return int64(int8(n))
	case types.Int16:
		return int64(int16(n))
	case types.Int32:
		return int64(int32(n))
	case types.Uint8:
		return int64(uint8(n))
	case types.Uint16:
		return int64(uint16(n))
	case types.Uint32:
		return int64(uint32(n))
	}
	return n
}

func (g *gen) float() float64 {
	switch c := g.rng.IntN(10); {
	case c < 3:
		return float64(g.rng.IntN(20) - 4)
	case c < 5 && len(g.dict.floats) > 0:
		return pick(g, g.dict.floats)
	case c < 6:
		return pick(g, []float64{0, math.Copysign(0, -1), 0.5, -0.5, 1.5, 2.5, 0.1, 1e-9, 1e21, math.Inf(1), math.Inf(-1), math.NaN(), math.MaxFloat64, 0.005, 1.005, 99.995})
	case c < 8:
		return float64(g.rng.IntN(2000)-1000) / pick(g, []float64{2, 4, 8, 10, 100, 1000, 3})
	}
	return (g.rng.Float64() - 0.5) * math.Pow10(g.rng.IntN(12)-3)
}

// matching makes a string that a pattern matches.
func (g *gen) matching(re *syntax.Regexp, depth int) string {
	if depth > 20 {
		return ""
	}
	repeat := func(lo, hi int) string {
		var b strings.Builder
		for range lo + g.rng.IntN(max(hi-lo, 0)+1) {
			b.WriteString(g.matching(re.Sub[0], depth+1))
		}
		return b.String()
	}
	switch re.Op {
	case syntax.OpLiteral:
		return string(re.Rune)
	case syntax.OpCharClass:
		if len(re.Rune) < 2 {
			return ""
		}
		i := g.rng.IntN(len(re.Rune)/2) * 2
		return string(re.Rune[i] + rune(g.rng.IntN(min(int(re.Rune[i+1]-re.Rune[i]), 200)+1)))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return string(pick(g, []rune{'a', 'é', ' ', '0', '-'}))
	case syntax.OpStar:
		return repeat(0, 4)
	case syntax.OpPlus:
		return repeat(1, 4)
	case syntax.OpQuest:
		return repeat(0, 1)
	case syntax.OpRepeat:
		hi := re.Max
		if hi < 0 {
			hi = re.Min + 3
		}
		return repeat(re.Min, hi)
	case syntax.OpCapture:
		return g.matching(re.Sub[0], depth+1)
	case syntax.OpConcat:
		var b strings.Builder
		for _, sub := range re.Sub {
			b.WriteString(g.matching(sub, depth+1))
		}
		return b.String()
	case syntax.OpAlternate:
		return g.matching(pick(g, re.Sub), depth+1)
	}
	return ""
}

// json makes a JSON text for a type.
func (g *gen) json(t types.Type, depth int) string {
	if depth > 4 || g.chance(4) {
		return "null"
	}
	quote := func(s string) string {
		b, err := json.Marshal(s)
		if err != nil {
			return `""`
		}
		return string(b)
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		switch info := u.Info(); {
		case info&types.IsString != 0:
			return quote(g.word())
		case info&types.IsBoolean != 0:
			return pick(g, []string{"true", "false"})
		case info&types.IsInteger != 0:
			return strconv.FormatInt(g.integer(u), 10)
		}
		return strconv.FormatFloat(float64(g.rng.IntN(1000))/8, 'g', -1, 64)
	case *types.Pointer:
		return g.json(u.Elem(), depth)
	case *types.Slice:
		var parts []string
		for range g.rng.IntN(4) {
			parts = append(parts, g.json(u.Elem(), depth+1))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case *types.Map:
		var parts []string
		for range g.rng.IntN(3) {
			parts = append(parts, quote(g.word())+":"+g.json(u.Elem(), depth+1))
		}
		return "{" + strings.Join(parts, ",") + "}"
	case *types.Struct:
		var parts []string
		for i := range u.NumFields() {
			f := u.Field(i)
			name, _, _ := strings.Cut(reflect.StructTag(u.Tag(i)).Get("json"), ",")
			if name == "-" || !f.Exported() || g.chance(15) {
				continue
			}
			if name == "" {
				name = f.Name()
			}
			parts = append(parts, quote(name)+":"+g.json(f.Type(), depth+1))
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	return pick(g, []string{"null", "1", `"a"`, "{}", "[]"})
}

// word makes a string as people would write.
func (g *gen) word() string {
	near := g.dict.texts[g.dict.near]
	switch c := g.rng.IntN(10); {
	case c < 3 && len(near) > 0:
		return pick(g, near)
	case c < 4 && len(g.dict.patterns) > 0:
		return g.matching(pick(g, g.dict.patterns), 0)
	case c < 8:
		return pick(g, oddStrings)
	}
	return g.random()
}

var methods = []string{"GET", "GET", "GET", "POST", "POST", "PUT", "DELETE", "HEAD", "PATCH", "OPTIONS"}

// request makes an HTTP request: paths, form values and headers are those that the code names.
func (g *gen) request() worker.Value {
	d := g.dict
	method := pick(g, methods)
	path := "/"
	if len(d.paths) > 0 && g.chance(80) {
		path = g.path(pick(g, d.paths))
	} else if g.chance(10) {
		path = "/" + escape(g.word())
	}
	var pairs []string
	if len(d.params) > 0 {
		for range g.rng.IntN(3) {
			pairs = append(pairs, escape(pick(g, d.params))+"="+escape(g.formValue()))
		}
	}
	form := strings.Join(pairs, "&")
	v := worker.Value{Kind: worker.Request}
	add := func(name, value string) {
		v.Names = append(v.Names, name)
		v.Elems = append(v.Elems, worker.Value{Kind: worker.String, Text: value})
	}
	body := ""
	if method == "POST" || method == "PUT" || method == "PATCH" {
		switch c := g.rng.IntN(10); {
		case c < 4 && len(d.bodies) > 0:
			body = g.json(pick(g, d.bodies), 0)
			add("Content-Type", "application/json")
		case c < 7 && form != "":
			body, form = form, ""
			add("Content-Type", "application/x-www-form-urlencoded")
		default:
			body = g.str()
		}
		if g.chance(10) {
			body = g.mutateText(body)
		}
	}
	for range g.rng.IntN(3) {
		if len(d.headers) > 0 {
			add(pick(g, d.headers), headerValue(g.headerValue()))
		}
	}
	if form != "" {
		path += "?" + form
	}
	v.Text = method + " " + path
	v.Elems = append(v.Elems, worker.Value{Kind: worker.String, Text: body})
	return v
}

// path fills the wildcards of a route, and sometimes goes astray.
func (g *gen) path(route string) string {
	var out []string
	for part := range strings.SplitSeq(route, "/") {
		if strings.HasPrefix(part, "{") && strings.HasSuffix(part, "}") {
			part = escape(pick(g, []string{"1", "42", "a", "0", "-1", "x y", "é", ""}))
		}
		out = append(out, part)
	}
	path := strings.Join(out, "/")
	switch g.rng.IntN(12) {
	case 0:
		path += "/"
	case 1:
		path += "/" + escape(g.word())
	case 2:
		path = strings.TrimSuffix(path, "/")
	case 3:
		path += escape(g.word())
	}
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return strings.NewReplacer(" ", "%20", "?", "%3F", "#", "%23").Replace(path)
}

func (g *gen) formValue() string {
	switch c := g.rng.IntN(10); {
	case c < 3:
		return pick(g, []string{"red", "7", "a", "", "é", "a b", "<b>", "0", "-1", "true", "10", "x", "Anna", "1.5"})
	case c < 5 && len(g.dict.patterns) > 0:
		return g.matching(pick(g, g.dict.patterns), 0)
	}
	return g.word()
}

func (g *gen) headerValue() string {
	if g.chance(40) {
		return pick(g, []string{"gzip", "gzip, deflate", "application/json", "text/html", "*/*", "en", "bytes=0-9", "close", "identity", "Bearer x", "no-cache", "gzip;q=0"})
	}
	return g.word()
}

// headerValue takes out what cannot be in a header.
func headerValue(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, s)
}

// escape writes s as it is written in an address.
func escape(s string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~"
	var b strings.Builder
	for i := range len(s) {
		if strings.IndexByte(plain, s[i]) >= 0 {
			b.WriteByte(s[i])
			continue
		}
		b.WriteByte('%')
		b.WriteByte("0123456789ABCDEF"[s[i]>>4])
		b.WriteByte("0123456789ABCDEF"[s[i]&15])
	}
	return b.String()
}
