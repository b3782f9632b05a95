package advise

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/report"
)

var concatLoop = &Rule{
	Name: "concat-loop", Rank: 15,
	Doc: "a text grows in a loop, and is copied whole each time",

	NoFix: "the loop does more with the text than to add to it",
	Find: func(p *Pass) {
		type growth struct {
			loop ast.Stmt
			s    *types.Var
		}
		var order []growth
		all := map[growth][]*ast.AssignStmt{}
		each(p, func(st *ast.AssignStmt) {
			s, _ := p.addsText(st)
			if s == nil {
				return
			}
			// The outermost loop that the text lives longer than.
			var loop ast.Stmt
			for l := p.loop(st); l != nil && s.Pos() < l.Pos(); l = p.loop(l) {
				loop = l
			}
			if loop == nil {
				return
			}
			g := growth{loop, s}
			if all[g] == nil {
				order = append(order, g)
			}
			all[g] = append(all[g], st)
		})
		for _, g := range order {
			p.grownText(g.loop, g.s, all[g])
		}
	},
}

// grownText is about a text that some statements add to in a loop.
func (p *Pass) grownText(loop ast.Stmt, s *types.Var, all []*ast.AssignStmt) {
	var sum, most cost
	worst, front := all[0], false
	for _, st := range all {
		c := p.cost(st, allocates("concatstring"))
		sum.add(&c)
		if p.costs.weight(&c) > p.costs.weight(&most) {
			worst, most = st, c
		}
		_, add := p.addsText(st)
		front = front || add == nil
	}
	f := finding{
		title:  "text put together with + in a loop",
		claim:  fmt.Sprintf("each round copies all of %s to a new string, so the cost grows with the square of its length", s.Name()),
		advice: "write the parts to a strings.Builder, and take its String behind the loop",
		risk:   "none",
	}
	if front {
		f.claim += "; what is added comes in front, so a Builder alone does not help"
		f.advice = "find out how much is to be added, and add it once"
		f.noFix = "the loop does more than to add one text in front until there is enough"
		if len(all) == 1 {
			f.fixes = p.padded(loop, s, worst)
		}
	} else {
		f.fixes = p.built(loop, s, all)
	}
	p.report(worst, sum, f)
}

// addsText returns the variable that a statement adds a text to, and what it adds; nothing when that comes in front.
func (p *function) addsText(st *ast.AssignStmt) (s *types.Var, add ast.Expr) {
	if len(st.Lhs) != 1 || len(st.Rhs) != 1 {
		return nil, nil
	}
	s = p.local(st.Lhs[0])
	if s == nil || !isString(s.Type()) {
		return nil, nil
	}
	if st.Tok == token.ADD_ASSIGN {
		return s, st.Rhs[0]
	}
	sum, ok := ast.Unparen(st.Rhs[0]).(*ast.BinaryExpr)
	if st.Tok != token.ASSIGN || !ok || sum.Op != token.ADD {
		return nil, nil
	}
	first, last := p.summands(sum)[0], sum.Y
	switch {
	case p.local(first) == s:
		return s, sum
	case p.local(last) == s:
		return s, nil
	}
	return nil, nil
}

// summands returns what a sum is made of, from left to right.
func (p *function) summands(e ast.Expr) []ast.Expr {
	if b, ok := ast.Unparen(e).(*ast.BinaryExpr); ok && b.Op == token.ADD && !p.isConst(b) {
		return append(p.summands(b.X), p.summands(b.Y)...)
	}
	return []ast.Expr{e}
}

// mentionsVar reports whether a variable is named in a node.
func (p *function) mentionsVar(n ast.Node, v types.Object) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && p.info().ObjectOf(id) == v {
			found = true
		}
		return !found
	})
	return found
}

// isParamResult reports whether a variable is a named result, which others see when the function ends anyhow.
func (p *function) isParamResult(v *types.Var) bool {
	if p.decl.Type.Results == nil {
		return false
	}
	return v.Pos() >= p.decl.Type.Results.Pos() && v.Pos() < p.decl.Type.Results.End()
}

// padded is a fix of a loop that puts the same text in front until there is enough: for len(s) < n { s = x + s }.
func (p *Pass) padded(loop ast.Stmt, s *types.Var, st *ast.AssignStmt) []report.Fix {
	l, ok := loop.(*ast.ForStmt)
	if !ok || l.Init != nil || l.Post != nil || len(l.Body.List) != 1 || l.Body.List[0] != st || p.statement(l) != l {
		return nil
	}
	cond, ok := l.Cond.(*ast.BinaryExpr)
	if !ok || cond.Op != token.LSS {
		return nil
	}
	length := p.builtin(cond.X, "len")
	n := p.local(cond.Y)
	if length == nil || p.local(length.Args[0]) != s || n == nil && !p.isConst(cond.Y) || !types.Identical(p.typeOf(cond.Y), types.Typ[types.Int]) {
		return nil
	}
	pad := ast.Unparen(st.Rhs[0]).(*ast.BinaryExpr).X
	text, isText := p.text(pad)
	arg, to := p.conversion(pad)
	rune := arg != nil && isString(to) && p.local(arg) != nil && isBasic(p.typeOf(arg), types.IsInteger) // such a text is never empty
	if !rune && (!isText || text == "") {
		return nil
	}
	return p.filledUp(l, s, pad, cond.Y, isText && len(text) == 1)
}

// filledUp is a fix that writes a text and what comes before it to memory for both. Each write doubles what is there, as
// strings.Repeat does, which would need memory of its own.
func (p *Pass) filledUp(l *ast.ForStmt, s *types.Var, pad, n ast.Expr, oneByte bool) []report.Fix {
	p.need("strings")
	b, size, x := p.localName("text"), p.localName("size"), p.src(pad)
	missing := fmt.Sprintf("%s - len(%s)", p.src(n), s.Name())
	begin := fmt.Sprintf("%s := %s\n", size, missing)
	if !oneByte {
		x = p.localName("pad")
		begin = fmt.Sprintf("%s := %s\n%s := (%s + len(%s) - 1) / len(%s) * len(%s)\n", x, p.src(pad), size, missing, x, x, x)
	}
	if !p.unit.atLeast(21) { // which has min
		return p.fix(report.Mechanical, "add it all at once", replace(l, fmt.Sprintf("if %s {\n%s%s = strings.Repeat(%s, %s/len(%s)) + %s\n}",
			p.src(l.Cond), begin, s.Name(), x, size, x, s.Name())))
	}
	write := strings.NewReplacer("TEXT", b, "SIZE", size, "REST", s.Name(), "PAD", x).Replace(strings.Join([]string{
		"var TEXT strings.Builder",
		"TEXT.Grow(SIZE + len(REST))",
		"TEXT.WriteString(PAD)",
		"for TEXT.Len() < SIZE {",
		"TEXT.WriteString(TEXT.String()[:min(TEXT.Len(), SIZE-TEXT.Len())])",
		"}",
		"TEXT.WriteString(REST)",
		"REST = TEXT.String()",
	}, "\n"))
	return p.fix(report.Mechanical, "add it all at once", replace(l, "if "+p.src(l.Cond)+" {\n"+begin+write+"\n}"))
}

var splitOne = &Rule{
	Name: "split-one", Rank: 25,
	Doc: "a text is split whole for one part of it, or to go through the parts once",

	NoFix: "the parts are used in a way that a function without a slice does not serve",
	Find: func(p *Pass) {
		each(p, func(call *ast.CallExpr) {
			if p.calls(call, "strings.Split", "strings.Fields") != nil {
				p.splitText(call)
			}
			if p.calls(call, "strings.Split", "strings.SplitN") != nil {
				p.splitPair(call)
			}
		})
	},
}

func (p *Pass) splitText(call *ast.CallExpr) {
	name := p.callee(call).Name()
	c := p.cost(call, below("strings."+name))
	f := finding{
		title:  "text split for less than all of it",
		claim:  fmt.Sprintf("strings.%s makes a slice with all parts", name),
		callee: "strings." + name, risk: "none",
	}
	sep, known := "", false
	if name == "Split" {
		sep, known = p.text(call.Args[1])
		known = known && sep != ""
	}
	switch up := p.parent(call).(type) {
	case *ast.IndexExpr:
		if up.X != call || name != "Split" || p.src(up.Index) != "0" {
			return
		}
		f.claim += ", and only the first is used"
		f.advice = "strings.Cut finds it without a slice"
		if f.noFix = "the part is not given to a variable at once"; !known {
			f.noFix = notFixed(p.src(call.Args[1]))
		}
		assign, ok := p.parent(up).(*ast.AssignStmt)
		if known && ok && len(assign.Lhs) == 1 && len(assign.Rhs) == 1 && (assign.Tok == token.DEFINE || assign.Tok == token.ASSIGN) {
			f.fixes = p.fix(report.Mechanical, "cut it", newEdit(assign.Lhs[0].End(), assign.Lhs[0].End(), ", _, _"),
				newEdit(call.Pos(), up.End(), p.src(call.Fun.(*ast.SelectorExpr).X)+".Cut("+p.src(call.Args[0])+", "+p.src(call.Args[1])+")"))
		}
	case *ast.RangeStmt:
		if up.X != call || up.Key != nil && !isBlank(up.Key) {
			return
		}
		f.title = "text split into a slice to go through it once"
		f.claim += ", which the loop goes through once"
		f.advice = fmt.Sprintf("strings.%sSeq finds each part when it is its turn", name)
		if f.noFix = "the loop does not declare a variable for the parts"; !p.unit.atLeast(24) {
			f.noFix = fmt.Sprintf("the module is for a Go older than 1.24, which has no strings.%sSeq", name)
		}
		if up.Value != nil && up.Tok == token.DEFINE && p.unit.atLeast(24) {
			f.fixes = p.fix(report.Mechanical, "find each part when it is its turn", newEdit(up.Key.Pos(), up.Value.End(), p.src(up.Value)),
				newEdit(call.Fun.End(), call.Fun.End(), "Seq"))
		}
	case *ast.CallExpr:
		if p.builtin(up, "len") == nil || name != "Split" {
			return
		}
		f.claim += ", and they are only counted"
		f.advice = "strings.Count counts what is between them"
		f.noFix = notFixed(p.src(call.Args[1]))
		if known {
			f.fixes = p.fix(report.Mechanical, "count", replace(up, fmt.Sprintf("(%s.Count(%s, %s) + 1)", p.src(call.Fun.(*ast.SelectorExpr).X), p.src(call.Args[0]), p.src(call.Args[1]))))
		}
	default:
		return
	}
	p.report(call, c, f)
}

// notFixed says why what a separator is has to be known: Split takes a text apart letter by letter where it is empty.
func notFixed(sep string) string {
	return sep + " is not a constant, and Split does something else where it is empty"
}

var equalFold = &Rule{
	Name: "equal-fold", Rank: 24,
	Doc: "texts are made lower case, or upper case, only to be compared",

	NoFix: "EqualFold takes a few letters for the same that ToLower and ToUpper do not",
	Find: func(p *Pass) {
		each(p, func(e *ast.BinaryExpr) {
			if e.Op != token.EQL && e.Op != token.NEQ {
				return
			}
			a, b := p.folds(e.X), p.folds(e.Y)
			if a == nil && b == nil {
				return
			}
			f := finding{
				title:  "text made lower case to be compared",
				claim:  "a new string is made of each text that has a letter of the other case, only to be compared",
				advice: "strings.EqualFold compares without making any",
				risk:   "EqualFold takes a few letters beside a to z for the same that ToLower does not, such as ſ for s",
			}
			text, at := e.Y, a
			if at == nil {
				text, at = e.X, b
			}
			s, ok := p.text(text)
			switch {
			case !ok:
				f.noFix = fmt.Sprintf("%s is not a constant, and EqualFold takes a few letters for the same that %s does not", p.src(text), p.callee(at).Name())
			case a != nil && b != nil:
			case !foldsAlike(s, p.callee(at).Name()):
				f.noFix = fmt.Sprintf("EqualFold does not say the same of all texts that are compared with %q", s)
			default:
				not := map[token.Token]string{token.NEQ: "!"}[e.Op]
				f.risk = "none: no letter beside a to z is taken for one in this text by one and not by the other"
				f.fixes = p.fix(report.Mechanical, "compare without making a text", replace(e, fmt.Sprintf("%s%s.EqualFold(%s, %s)", not, p.src(at.Fun.(*ast.SelectorExpr).X), p.src(at.Args[0]), p.src(text))))
			}
			p.report(e, p.cost(e, below("strings.ToLower", "strings.ToUpper")), f)
		})
	},
}

func (p *function) folds(e ast.Expr) *ast.CallExpr {
	return p.calls(ast.Unparen(e), "strings.ToLower", "strings.ToUpper")
}

// foldsAlike reports whether ToLower or ToUpper of a text is equal to s just when EqualFold says so. Letters beside a to z come
// in for i (İ is i in lower case; ı is I in upper case), k (the sign for kelvin, in upper case) and s (ſ).
func foldsAlike(s, fn string) bool {
	for _, r := range s {
		lower := r >= 'a' && r <= 'z'
		upper := r >= 'A' && r <= 'Z'
		switch {
		case r >= 0x80, fn == "ToLower" && upper, fn == "ToUpper" && lower:
			return false
		case strings.ContainsRune("iksIKS", r):
			return false
		}
	}
	return true
}

// twins are functions of the packages bytes and strings that do the same, where the last argument of both is a text, or
// bytes (true).
var twins = map[string]bool{
	"Contains": true, "HasPrefix": true, "HasSuffix": true, "Index": true, "LastIndex": true, "Count": true, "EqualFold": true,
	"ContainsAny": false, "IndexAny": false, "ContainsRune": false, "IndexRune": false, "IndexByte": false, "LastIndexByte": false,
}

var conversionCopy = &Rule{
	Name: "conversion-copy", Rank: 9,
	Doc: "a text is copied to bytes, or bytes to a text, for a function that has a twin for the other",

	NoFix: "the function has no twin that takes what there is",
	Find: func(p *Pass) {
		each(p, func(call *ast.CallExpr) {
			if s := p.bytesOf(call); s != nil && !p.isConst(s) {
				p.copiedText(call, s)
			} else if b := p.stringOf(call); b != nil {
				p.copiedBytes(call, b)
			}
		})
	},
}

// copiedText is about []byte(s).
func (p *Pass) copiedText(conv *ast.CallExpr, s ast.Expr) {
	f := finding{
		title: "text copied to bytes without need",
		claim: "[]byte(…) allocates and copies the text", risk: "none",
	}
	up, ok := p.parent(conv).(*ast.CallExpr)
	if !ok {
		return
	}
	at := slices.Index(up.Args, ast.Expr(conv))
	fn := p.callee(up)
	switch {
	case p.builtin(up, "append") != nil && up.Ellipsis.IsValid() && at == 1, p.builtin(up, "copy") != nil && at == 1:
		f.advice = "append and copy take texts, too"
		f.fixes = p.fix(report.Mechanical, "take the text as it is", replace(conv, p.src(s)))
	case fn != nil && fn.Pkg() != nil && fn.Pkg().Path() == "bytes" && at == 0 && len(up.Args) == 2 && hasTwin(fn):
		f.advice = "package strings has the same for texts"
		second := up.Args[1]
		text := p.src(second)
		if twins[fn.Name()] {
			if inner := p.bytesOf(ast.Unparen(second)); inner != nil {
				text = p.src(inner)
			} else {
				text = "string(" + text + ")"
			}
		}
		p.need("strings")
		f.fixes = p.fix(report.Mechanical, "take the function for texts", replace(up, fmt.Sprintf("strings.%s(%s, %s)", fn.Name(), p.src(s), text)))
	case p.calls(up, "bytes.NewReader") != nil:
		f.advice = "strings.NewReader reads a text without a copy"
		f.noFix = "the reader is not given to an interface, and a *strings.Reader is of another type"
		if outer, ok := p.parent(up).(*ast.CallExpr); ok && p.interfaceParam(outer, up) {
			p.need("strings")
			f.fixes = p.fix(report.Mechanical, "read the text", replace(up, "strings.NewReader("+p.src(s)+")"))
		}
	case fn != nil && at >= 0 && !up.Ellipsis.IsValid() && at < fn.Signature().Params().Len():
		shown := p.shownInErrors(fn, at)
		if shown == nil {
			return
		}
		f.title = "text copied to the heap for errors that show it"
		f.claim = fmt.Sprintf("%s only looks at the bytes, which would need no copy, if package fmt were not given them for the text of an error", fn.Name())
		f.advice = "give fmt a copy, string(…), which is made only when there is an error"
		var edits []edit
		for _, e := range shown {
			f.also = append(f.also, e)
			edits = append(edits, before(e, "string("), after(e, ")"))
		}
		f.noFix = fn.Name() + " is in another file"
		if _, file := p.declOf(fn); file == p.file {
			f.fixes = p.fix(report.Mechanical, "give package fmt a copy", edits...)
		}
	default:
		return
	}
	p.report(conv, p.cost(conv, allocates("stringtoslicebyte")), f)
}

func hasTwin(fn *types.Func) bool {
	_, ok := twins[fn.Name()]
	return ok && fn.Signature().Recv() == nil
}

// interfaceParam reports whether an argument is given to a function for an interface.
func (p *function) interfaceParam(call *ast.CallExpr, arg ast.Expr) bool {
	sig, ok := p.typeOf(call.Fun).(*types.Signature)
	i := slices.Index(call.Args, arg)
	if !ok || i < 0 || sig.Params().Len() == 0 {
		return false
	}
	if i >= sig.Params().Len() || sig.Variadic() && i == sig.Params().Len()-1 {
		return false
	}
	return types.IsInterface(sig.Params().At(i).Type()) && !isTypeParam(sig.Params().At(i).Type())
}

func isTypeParam(t types.Type) bool {
	_, ok := t.(*types.TypeParam)
	return ok
}

// copiedBytes is about string(b).
func (p *Pass) copiedBytes(conv *ast.CallExpr, b ast.Expr) {
	f := finding{
		title: "bytes copied to a text without need",
		claim: "string(…) allocates and copies the bytes", risk: "none",
	}
	up, ok := p.parent(conv).(*ast.CallExpr)
	if !ok {
		return
	}
	at := slices.Index(up.Args, ast.Expr(conv))
	fn := p.callee(up)
	switch {
	case fn == nil:
		return
	case p.calls(up, "(*strings.Builder).WriteString", "(*bytes.Buffer).WriteString", "(*bufio.Writer).WriteString") != nil:
		f.advice = "Write takes bytes"
		f.fixes = p.fix(report.Mechanical, "write the bytes", newEdit(up.Fun.(*ast.SelectorExpr).Sel.Pos(), up.End(), "Write("+p.src(b)+")"))
	case p.calls(up, "io.WriteString") != nil && at == 1:
		f.advice = "Write takes bytes"
		f.noFix = p.src(up.Args[0]) + " is no variable, whose Write could be called"
		if !p.addressed(up.Args[0]) {
			f.fixes = p.fix(report.Mechanical, "write the bytes", replace(up, fmt.Sprintf("%s.Write(%s)", p.src(up.Args[0]), p.src(b))))
		}
	case fn.Pkg() != nil && fn.Pkg().Path() == "strings" && at == 0 && len(up.Args) == 2 && hasTwin(fn):
		f.advice = "package bytes has the same for bytes"
		second := p.src(up.Args[1])
		if twins[fn.Name()] {
			second = "[]byte(" + second + ")"
		}
		p.need("bytes")
		f.fixes = p.fix(report.Mechanical, "take the function for bytes", replace(up, fmt.Sprintf("bytes.%s(%s, %s)", fn.Name(), p.src(b), second)))
	case p.calls(up, "strings.NewReader") != nil:
		f.advice = "bytes.NewReader reads bytes without a copy, as long as nobody changes them"
		f.noFix = fmt.Sprintf("somebody may change %s before all of it is read", p.src(b))
	default:
		return
	}
	p.report(conv, p.cost(conv, allocates("slicebytetostring")), f)
}

func (p *function) addressed(e ast.Expr) bool {
	_, ok := ast.Unparen(e).(*ast.UnaryExpr)
	return ok
}
