package rules

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/advise/facts/flow"
	"github.com/hone-perf/hone/internal/advise/facts/owner"
	"github.com/hone-perf/hone/internal/advise/facts/text"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

var writerPerCall = &advise.Rule{
	Name: "writer-per-call", Rank: 35, PerCall: true,
	Doc: "a compressor or buffer is made for every call, though it can be used again",

	NoFix: missing.ResetNotFresh,
	Find: func(p *advise.Pass) {
		advise.Each(p, func(call *ast.CallExpr) {
			fn := p.Callee(call)
			if fn == nil {
				return
			}
			for _, r := range reusables {
				if fn.FullName() == r.new {
					madeAnew(p, call, r)
				}
			}
		})
	},
}

// A reusable is a type whose values can be used again.
type reusable struct {
	new   string // function that makes one, in the words of types.Func
	where []string
	typ   string // *gzip.Writer
	again string // statement that makes x as good as new for y
	fresh string // expression that makes one for nobody; %s are the arguments behind the first
	what  string
	form  form
}

// A form is what else there is to a function that makes a reusable.
type form int

const (
	plain form = iota
	level      // there is an error as well, for a level that does not exist
	reads      // there is an error as well, for what it reads at once, which Reset reads as well
	asks       // it is what it is given, where that is one of them already
	sized      // the same, where that is large enough
)

var reusables = []reusable{
	{"compress/gzip.NewWriter", []string{"compress/flate.NewWriter", "compress/gzip.NewWriterLevel", "compress/gzip.NewWriter"}, "*gzip.Writer", "%s.Reset(%s)", "gzip.NewWriter(nil%s)", "compressor", plain},
	{"compress/zlib.NewWriter", []string{"compress/flate.NewWriter", "compress/zlib.NewWriterLevelDict", "compress/zlib.NewWriter"}, "*zlib.Writer", "%s.Reset(%s)", "zlib.NewWriter(nil%s)", "compressor", plain},
	{"bufio.NewWriter", []string{"bufio.NewWriterSize", "bufio.NewWriter"}, "*bufio.Writer", "%s.Reset(%s)", "bufio.NewWriter(nil%s)", "buffer", asks},
	{"bufio.NewReader", []string{"bufio.NewReaderSize", "bufio.NewReader"}, "*bufio.Reader", "%s.Reset(%s)", "bufio.NewReader(nil%s)", "buffer", asks},
	{"bufio.NewWriterSize", []string{"bufio.NewWriterSize"}, "*bufio.Writer", "%s.Reset(%s)", "bufio.NewWriterSize(nil%s)", "buffer", sized},
	{"bufio.NewReaderSize", []string{"bufio.NewReaderSize"}, "*bufio.Reader", "%s.Reset(%s)", "bufio.NewReaderSize(nil%s)", "buffer", sized},
	{"compress/flate.NewWriter", []string{"compress/flate.NewWriter"}, "*flate.Writer", "%s.Reset(%s)", "flate.NewWriter(nil%s)", "compressor", level},
	{"compress/gzip.NewWriterLevel", []string{"compress/flate.NewWriter", "compress/gzip.NewWriterLevel"}, "*gzip.Writer", "%s.Reset(%s)", "gzip.NewWriterLevel(nil%s)", "compressor", level},
	{"compress/zlib.NewWriterLevel", []string{"compress/flate.NewWriter", "compress/zlib.NewWriterLevelDict"}, "*zlib.Writer", "%s.Reset(%s)", "zlib.NewWriterLevel(nil%s)", "compressor", level},
	{"compress/gzip.NewReader", []string{"compress/gzip.NewReader", "compress/flate.NewReader"}, "*gzip.Reader", "%s.Reset(%s)", "new(gzip.Reader)", "decompressor", reads},
	{"compress/flate.NewReader", []string{"compress/flate.NewReader"}, "io.ReadCloser", "%s.(flate.Resetter).Reset(%s, nil)", "flate.NewReader(nil%s)", "decompressor", plain},
}

// soonGarbage says that what a call makes is needed no longer than the function runs, where that is known.
func soonGarbage(p *advise.Pass, call *ast.CallExpr) string {
	st, ok := p.Parent(call).(*ast.AssignStmt)
	if !ok || p.Local(st.Lhs[0]) == nil || !owner.StaysInside(p.Func, p.Local(st.Lhs[0])) {
		return ""
	}
	return ", which is garbage soon after"
}

// defaultBufferSize is that of package bufio.
const defaultBufferSize = "4096"

func madeAnew(p *advise.Pass, call *ast.CallExpr, r reusable) {
	// Compressors get their tables when they are first written to, which is on another line.
	c := p.Total(cost.Through(r.where...))
	name := p.Callee(call).Pkg().Name() + "." + p.Callee(call).Name()
	f := advise.Finding{
		Title:  r.what + " made for every call",
		Claim:  fmt.Sprintf("%s allocates a %s with all its tables and buffers%s; one that was used is as good as new after Reset", name, r.what, soonGarbage(p, call)),
		Advice: "keep those that nobody uses in a sync.Pool",
		Risk:   "what is in the pool stays in memory until the collector has run twice, and keeps what it wrote to last until it is reset",
		Callee: r.where[0],
	}
	f.Fixes = reused(p, call, r)
	p.Report(call, c, f)
}

// toldWhereMade reports whether samples are of what a compressor makes when it is first written to, and there is a finding of it where the
// function makes the compressor.
func toldWhereMade(p *advise.Pass, c *cost.Chain) bool {
	return slices.ContainsFunc(reusables, func(r reusable) bool { return c.Has(r.where...) && p.Knows(p.Name, r.where[0]) })
}

// reused is a fix that takes what a function makes from a pool, or, in a loop, makes it before the loop.
func reused(p *advise.Pass, call *ast.CallExpr, r reusable) []report.Fix {
	st, ok := p.Parent(call).(*ast.AssignStmt)
	switch {
	case !ok || st.Tok != token.DEFINE || len(st.Rhs) != 1 || p.Statement(st) != st || p.Local(st.Lhs[0]) == nil:
		return p.No(missing.NotInVariable, r.what)
	case p.Decl.Name.Name == "main" && p.Loop(st) == nil:
		return p.No(missing.MainRunsOnce)
	}
	x := p.Local(st.Lhs[0])
	if p.Info().Defs[code.AsIdent(st.Lhs[0])] == nil || !owner.StaysInside(p.Func, x) || !flow.OnlyRead(p.Func, x, st) {
		return p.No(missing.MayBeKept, x.Name())
	}
	more, settings := "", ""
	for _, a := range call.Args[1:] {
		if !p.IsConst(a) {
			return p.No(missing.ConstantSettings, p.Src(a), r.what)
		}
		more += ", " + p.Src(a)
		name := p.Src(a)[strings.LastIndexByte(p.Src(a), '.')+1:]
		if token.IsIdentifier(name) {
			settings += strings.ToUpper(name[:1]) + name[1:]
		}
	}
	edits, why := withoutError(p, st, r)
	if why.Fact != "" {
		return p.Because(why)
	}
	arg, given := call.Args[0], p.TypeOf(call.Args[0])
	again := fmt.Sprintf(r.again, x.Name(), p.Src(arg))
	mayBe := r.form >= asks && (types.IsInterface(given) || given.String() == r.typ)
	if r.form == reads {
		err, assign := st.Lhs[1], ":="
		if code.IsBlank(err) || p.Info().Defs[code.AsIdent(err)] == nil {
			assign = "="
		}
		again = fmt.Sprintf("%s %s %s", p.Src(err), assign, again)
	}
	fresh := r.fresh
	if strings.Contains(fresh, "%s") {
		fresh = fmt.Sprintf(fresh, more)
	}
	if r.form == level {
		fresh = fmt.Sprintf("func() %s {\nw, _ := %s // the level exists\nreturn w\n}", p.Pkg.Any(), fresh)
	} else {
		fresh = fmt.Sprintf("func() %s { return %s }", p.Pkg.Any(), fresh)
	}
	if loop := p.Loop(st); loop != nil {
		return beforeLoop(p, st, x, loop, again, r, more, edits, mayBe)
	}
	pkg, kind, _ := strings.Cut(strings.TrimPrefix(r.typ, "*"), ".")
	if r.typ == "io.ReadCloser" {
		pkg, kind = "flate", "Reader"
	}
	pool, declare := edit.DeclareShared(p.Func, text.LowerFirst(strings.TrimPrefix(pkg, "bufio")+settings+kind+"s"),
		fmt.Sprintf("// %%s holds values of type %s that are not in use.", r.typ), "var %s = sync.Pool{New: "+fresh+"}")
	p.Need("sync")
	if r.typ == "io.ReadCloser" {
		p.Need("io")
	}
	get := fmt.Sprintf("%s := %s.Get().(%s)\ndefer %s.Put(%s)\n%s", x.Name(), pool, r.typ, pool, x.Name(), again)
	if mayBe {
		simple, _ := ast.Unparen(arg).(*ast.Ident)
		if !types.IsInterface(given) || simple == nil {
			return p.No(missing.MayBeOneAlready, p.Src(arg), strings.TrimPrefix(r.typ, "*"))
		}
		size := defaultBufferSize
		if r.form == sized {
			size = p.Src(call.Args[1])
		}
		okName := p.LocalName("ok")
		get = fmt.Sprintf("%s, %s := %s.(%s)\nif !%s || %s.Size() < %s {\n%s = %s.Get().(%s)\ndefer %s.Put(%s)\n%s\n}",
			x.Name(), okName, p.Src(arg), r.typ, okName, x.Name(), size, x.Name(), pool, r.typ, pool, x.Name(), again)
	}
	return p.Fix(report.Ownership, "take it from a pool", slices.Concat(edits, declare, []edit.Edit{edit.Replace(st, get)})...)
}

// withoutError returns edits that leave out what a function does with an error that is nil where the level exists, or why that cannot be done.
func withoutError(p *advise.Pass, st *ast.AssignStmt, r reusable) (edits []edit.Edit, why missing.Reason) {
	if r.form != level {
		return nil, missing.Reason{}
	}
	if v := p.Info().Types[st.Rhs[0].(*ast.CallExpr).Args[1]].Value; v == nil || !constant.Compare(v, token.GEQ, constant.MakeInt64(-2)) || !constant.Compare(v, token.LEQ, constant.MakeInt64(9)) {
		return nil, missing.NoSuchLevel.Of()
	}
	if len(st.Lhs) != 2 || code.IsBlank(st.Lhs[1]) {
		return nil, missing.Reason{}
	}
	return withoutCheck(p, st)
}

// beforeLoop is a fix that makes something before a loop, and resets it in each round.
func beforeLoop(p *advise.Pass, st *ast.AssignStmt, x *types.Var, loop ast.Stmt, again string, r reusable, more string, edits []edit.Edit, mayBe bool) []report.Fix {
	at := p.Statement(loop)
	switch {
	case at == nil || p.FuncOf(loop) != p.FuncOf(st):
		return p.No(missing.LoopInStatement)
	case mayBe:
		return p.No(missing.GivenMayBeOne, strings.TrimPrefix(r.typ, "*"))
	case definedAgain(p, x):
		return p.No(missing.AnotherName, x.Name())
	}
	made := r.fresh
	if strings.Contains(made, "%s") {
		made = fmt.Sprintf(made, more)
	}
	names := x.Name()
	if r.form == level {
		names += ", _"
	}
	return p.Fix(report.Ownership, "make it before the loop", append(edits, edit.Before(at, fmt.Sprintf("%s := %s\n", names, made)), edit.Replace(st, again))...)
}

// definedAgain reports whether a function has two variables of one name.
func definedAgain(p *advise.Pass, x *types.Var) bool {
	found := false
	ast.Inspect(p.Decl, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && id.Name == x.Name() {
			if o := p.Info().ObjectOf(id); o != x {
				found = true
			}
		}
		return !found
	})
	return found
}
