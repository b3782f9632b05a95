package prove

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"os"
	"reflect"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/prove/worker"
)

// A dictionary holds what the code itself speaks of: its constants, and those of its tests.
type dictionary struct {
	near     string                    // the function that is asked about
	texts    map[string][]string       // string literals by the declaration they are in; "" has all
	numbers  map[string][]int64        // likewise
	chars    map[string][]rune         // of literals of characters
	fresh    literals                  // that only one of the versions has
	side     *literals                 // whose code is being read, nil for tests
	floats   []float64                 //
	patterns []*syntax.Regexp          // that strings are matched with
	literals map[string][]worker.Value // composite literals, by type
	params   []string                  // names of form values
	headers  map[string][]string       // likewise, names of headers
	paths    []string
	bodies   []types.Type // structs that JSON is read into
}

// literals are texts and numbers.
type literals struct {
	texts   []string
	numbers []int64
}

// onlyIn returns what one of two lists has and the other has not.
func onlyIn[T int64 | string](a, b []T) (out []T) {
	for _, lists := range [][2][]T{{unique(a), unique(b)}, {unique(b), unique(a)}} {
		for _, x := range lists[0] {
			if _, both := slices.BinarySearch(lists[1], x); !both {
				out = append(out, x)
			}
		}
	}
	return out
}

// Functions whose first argument names a part of a request.
var (
	paramCalls  = []string{"FormValue", "PostFormValue", "PathValue", "FormFile"}
	headerCalls = []string{"Get", "Values", "Add", "Set", "Del"}
)

func newDictionary(s *surface) *dictionary {
	d := &dictionary{texts: make(map[string][]string), numbers: make(map[string][]int64), chars: make(map[string][]rune), headers: make(map[string][]string), literals: make(map[string][]worker.Value)}
	var sides [2]literals
	for i, v := range []*side{s.old, s.new} {
		keys := make([]string, 0, len(v.decls))
		for k := range v.decls {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			if d.side = &sides[i]; v.decls[k].test {
				d.side = nil
			}
			d.read(s, v, v.pkg.TypesInfo, k, v.decls[k].node)
			for _, u := range v.decls[k].uses { // constants, tables and helpers belong to who uses them
				if v.decls[u] != nil {
					d.read(s, v, v.pkg.TypesInfo, k, v.decls[u].node)
				}
			}
			d.readType(v.decls[k])
		}
		d.side = nil
		if v.outer != nil {
			for _, f := range v.outer.Syntax {
				d.read(s, v, v.outer.TypesInfo, "", f)
			}
		}
		d.readCorpus(v.dir)
	}
	d.fresh = literals{onlyIn(sides[0].texts, sides[1].texts), onlyIn(sides[0].numbers, sides[1].numbers)}
	d.addMade(s)
	for k := range d.texts {
		d.texts[k] = unique(d.texts[k])
	}
	for k := range d.numbers {
		d.numbers[k] = unique(d.numbers[k])
	}
	for k := range d.chars {
		d.chars[k] = unique(d.chars[k])
	}
	for k := range d.headers {
		d.headers[k] = unique(d.headers[k])
	}
	d.params, d.paths = unique(d.params), unique(d.paths)
	return d
}

// addMade adds the keys of the structs that are made up for decoders.
func (d *dictionary) addMade(s *surface) {
	if len(s.made) == 0 {
		return
	}
	for _, st := range s.made {
		d.bodies = append(d.bodies, st)
	}
	d.texts[""] = append(d.texts[""], madeKeys...)
	for _, e := range s.entries {
		if e.key != "" && len(e.params) > 1 && slices.ContainsFunc(e.params, holdsAny) {
			d.texts[e.key] = append(d.texts[e.key], madeKeys...)
		}
	}
}

func unique[T int64 | rune | string](list []T) []T {
	slices.Sort(list)
	return slices.Compact(list)
}

// read takes the literals from a piece of code.
func (d *dictionary) read(s *surface, v *side, info *types.Info, key string, n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			d.readCall(info, key, n)
		case *ast.CompositeLit:
			if key == "" || v.decls[key].test { // what tests make is of use; what the code makes is its own
				if val, ok := literalValue(info, n, nil); ok {
					k := v.typeKey(info.TypeOf(n))
					if len(d.literals[k]) < 200 && s.sharedLiteral(v, &val, info.TypeOf(n)) {
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
		if d.side != nil {
			d.side.texts = append(d.side.texts, text)
		}
		if path, ok := strings.CutPrefix(text, "/"); ok && !strings.ContainsAny(path, " \n<>\\^$*") {
			d.paths = append(d.paths, text)
		} else if _, path, ok := strings.Cut(text, " /"); ok && strings.Trim(text[:strings.IndexByte(text, ' ')], "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" {
			d.paths = append(d.paths, "/"+path)
		}
	case constant.Int:
		if n, exact := constant.Int64Val(tv.Value); exact && isChar(info, e) {
			d.chars[key] = append(d.chars[key], rune(n))
			d.chars[""] = append(d.chars[""], rune(n))
		}
		if n, exact := constant.Int64Val(tv.Value); exact {
			if d.side != nil {
				d.side.numbers = append(d.side.numbers, n)
			}
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

// isChar reports whether an expression is written as a character, such as '#', or names a constant that may be.
func isChar(info *types.Info, e ast.Expr) bool {
	if lit, ok := e.(*ast.BasicLit); ok {
		return lit.Kind == token.CHAR
	}
	b, ok := info.TypeOf(e).Underlying().(*types.Basic)
	return ok && (b.Kind() == types.UntypedRune || b.Kind() == types.Int32 && b.Name() == "rune")
}

// readCall learns what the arguments of well-known functions are.
func (d *dictionary) readCall(info *types.Info, key string, call *ast.CallExpr) {
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
		d.headers[key] = append(d.headers[key], text)
		d.headers[""] = append(d.headers[""], text)
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
	files, _ := gocmd.Files(dir, "testdata/fuzz/*/*")
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
