package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/advise/facts/flow"
	"github.com/hone-perf/hone/internal/advise/facts/owner"
	"github.com/hone-perf/hone/internal/advise/facts/text"
	"github.com/hone-perf/hone/internal/report"
)

var writerPerCall = &advise.Rule{
	Name: "writer-per-call", Rank: 35, PerCall: true,
	Doc: "a compressor or buffer is made for every call, though it can be used again",

	NoFix: "Reset does not make this type as good as new with the same settings",
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
	new     string // function that makes one, in the words of types.Func
	where   []string
	typ     string // *gzip.Writer
	again   string // statement that makes x as good as new
	newNone string // expression that makes one for nobody
	what    string
}

var reusables = []reusable{
	{"compress/gzip.NewWriter", []string{"compress/flate.NewWriter", "compress/gzip.NewWriterLevel", "compress/gzip.NewWriter"}, "*gzip.Writer", "%s.Reset(%s)", "gzip.NewWriter(nil)", "compressor"},
	{"compress/zlib.NewWriter", []string{"compress/flate.NewWriter", "compress/zlib.NewWriterLevelDict", "compress/zlib.NewWriter"}, "*zlib.Writer", "%s.Reset(%s)", "zlib.NewWriter(nil)", "compressor"},
	{"bufio.NewWriter", []string{"bufio.NewWriterSize", "bufio.NewWriter"}, "*bufio.Writer", "%s.Reset(%s)", "bufio.NewWriter(nil)", "buffer"},
	{"bufio.NewReader", []string{"bufio.NewReaderSize", "bufio.NewReader"}, "*bufio.Reader", "%s.Reset(%s)", "bufio.NewReader(nil)", "buffer"},
	{"compress/flate.NewWriter", []string{"compress/flate.NewWriter"}, "", "", "", "compressor"},
	{"compress/gzip.NewWriterLevel", []string{"compress/flate.NewWriter", "compress/gzip.NewWriterLevel"}, "", "", "", "compressor"},
	{"compress/zlib.NewWriterLevel", []string{"compress/flate.NewWriter", "compress/zlib.NewWriterLevelDict"}, "", "", "", "compressor"},
	{"bufio.NewWriterSize", []string{"bufio.NewWriterSize"}, "", "", "", "buffer"},
	{"bufio.NewReaderSize", []string{"bufio.NewReaderSize"}, "", "", "", "buffer"},
	{"compress/gzip.NewReader", []string{"compress/gzip.NewReader", "compress/flate.NewReader"}, "", "", "", "decompressor"},
	{"compress/flate.NewReader", []string{"compress/flate.NewReader"}, "", "", "", "decompressor"},
}

// soonGarbage says that what a call makes is needed no longer than the function runs, where that is known.
func soonGarbage(p *advise.Pass, call *ast.CallExpr) string {
	st, ok := p.Parent(call).(*ast.AssignStmt)
	if !ok || p.Local(st.Lhs[0]) == nil || !owner.StaysInside(p.Func, p.Local(st.Lhs[0])) {
		return ""
	}
	return ", which is garbage soon after"
}

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
	st, ok := p.Parent(call).(*ast.AssignStmt)
	switch {
	case r.typ == "":
	case !ok || st.Tok != token.DEFINE || len(st.Lhs) != 1 || p.Statement(st) != st:
		f.NoFix = fmt.Sprintf("the %s is not given to a variable of the function, so where it is used last is not known", r.what)
	case p.Loop(st) != nil:
		f.NoFix = fmt.Sprintf("it is made in a loop, and a deferred Put would keep the %s of each round until the function returns", r.what)
	case p.Decl.Name.Name == "main":
		f.NoFix = "main runs once"
	default:
		arg := p.TypeOf(call.Args[0])
		if strings.HasPrefix(r.new, "bufio.") && (types.IsInterface(arg) || arg.String() == r.typ) {
			p.Why = "what it is given may be a " + strings.TrimPrefix(r.typ, "*") + " already, which is then used as it is"
		} else if x := p.Local(st.Lhs[0]); x != nil && owner.StaysInside(p.Func, x) && flow.OnlyRead(p.Func, x, st) {
			pkg, kind, _ := strings.Cut(strings.TrimPrefix(r.typ, "*"), ".")
			pool := p.NewName(text.LowerFirst(strings.TrimPrefix(pkg, "bufio") + kind + "s"))
			p.Need("sync")
			f.Fixes = p.Fix(report.Ownership, "take it from a pool",
				edit.Declare(p.Func, fmt.Sprintf("// %s holds those that nobody uses at the moment.\nvar %s = sync.Pool{New: func() any { return %s }}", pool, pool, r.newNone)),
				edit.Replace(st, fmt.Sprintf("%s := %s.Get().(%s)\ndefer %s.Put(%s)\n"+r.again, x.Name(), pool, r.typ, pool, x.Name(), x.Name(), p.Src(call.Args[0]))))
		} else {
			p.Why = "it may be kept by somebody else when the function has returned"
		}
	}
	p.Report(call, c, f)
}
