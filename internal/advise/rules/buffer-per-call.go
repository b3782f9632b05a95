package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/advise/facts/flow"
	"github.com/hone-perf/hone/internal/advise/facts/kind"
	"github.com/hone-perf/hone/internal/advise/facts/owner"
	"github.com/hone-perf/hone/internal/advise/facts/text"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

var bufferPerCall = &advise.Rule{
	Name: "buffer-per-call", Rank: 2, PerCall: true,
	Doc: "a buffer is allocated on every call, although it does not outlive the call",

	NoFix: missing.PoolTooSmall,
	Find: func(p *advise.Pass) {
		advise.Each(p, func(call *ast.CallExpr) {
			if p.Builtin(call, "make") == nil || !kind.IsBytes(p.TypeOf(call)) {
				return
			}
			st, ok := p.Parent(call).(*ast.AssignStmt)
			if !ok || st.Tok != token.DEFINE || len(st.Lhs) != 1 || p.Statement(st) != st {
				return
			}
			b := p.Local(st.Lhs[0])
			if b == nil || !scratchBytes(p.Func, b) {
				return
			}
			f := advise.Finding{
				Title:  "buffer allocated on every call",
				Claim:  fmt.Sprintf("%s is passed to an interface method, so the compiler must assume that it is kept, and puts it on the heap; but Write must not keep its argument, and nothing else holds it", b.Name()),
				Advice: "keep unused buffers in a sync.Pool",
				Risk:   "a Write that keeps what it is given, against what io.Writer says, would see other data later; one large string makes a large buffer that stays in the pool for a while",
			}
			switch loop := p.Loop(st); {
			case loop != nil:
				f.Title = "buffer allocated in every iteration"
				f.Advice = "allocate it before the loop, and cut it to [:0] in each iteration"
				f.NoFix = missing.RoundTooSmall.Of()
				if len(call.Args) == 3 && p.Src(call.Args[1]) == "0" && p.Statement(loop) == loop && p.IsConst(call.Args[2]) && onlyOneNamed(p.Func, b) {
					f.Fixes = p.Fix(report.Ownership, "make it before the loop", edit.Before(loop, p.Src(st)+"\n"), edit.Replace(st, fmt.Sprintf("%s = %s[:0]", b.Name(), b.Name())))
				}
			case len(call.Args) == 3 && p.Src(call.Args[1]) == "0" && p.IsConst(call.Args[2]) && p.Literal(st) == nil:
				pool, edits := edit.DeclareShared(p.Func, text.LowerFirst(p.Decl.Name.Name)+"Buffers", "// %s holds buffers that are not in use.",
					"var %s = sync.Pool{New: func() "+p.Pkg.Any()+" {\n\tb := "+strings.ReplaceAll(p.Src(call), "%", "%%")+"\n\treturn &b\n}}")
				ref := p.LocalName(b.Name() + "p")
				p.Need("sync")
				take := fmt.Sprintf("%s := %s.Get().(*[]byte)\n%s := (*%s)[:0]", ref, pool, b.Name(), ref)
				back := fmt.Sprintf("*%s = %s\n%s.Put(%s)", ref, b.Name(), pool, ref)
				// A deferred function would keep the slice in memory, where each append has to fetch it. Who panics in between loses a buffer.
				if last := lastUse(p.Func, st, b); last != nil {
					edits = append(edits, edit.Replace(st, take), edit.After(last, "\n"+back))
				} else {
					edits = append(edits, edit.Replace(st, take+"\ndefer func() {\n"+back+"\n}()"))
				}
				f.Fixes = p.Fix(report.Ownership, "take it from a pool", edits...)
			}
			p.Report(st, p.Cost(st, cost.Allocates("makeslice", "newobject")), f)
		})
	},
}

// lastUse returns the last statement that uses a variable, when it is in the block that declares it and what is between them leads to it, or
// nil.
func lastUse(f *code.Func, decl ast.Stmt, v *types.Var) ast.Stmt {
	block, ok := f.Parent(decl).(*ast.BlockStmt)
	if !ok {
		return nil
	}
	behind := block.List[slices.Index(block.List, decl)+1:]
	last := -1
	for i, s := range behind {
		if f.MentionsVar(s, v) {
			last = i
		}
	}
	if last < 0 || slices.ContainsFunc(behind[:last+1], func(s ast.Stmt) bool { return flow.MayEnd(f, s) }) {
		return nil
	}
	return behind[last]
}

// scratchBytes reports whether a slice of bytes is only appended to, measured and written, at least once.
func scratchBytes(f *code.Func, b *types.Var) bool {
	if flow.Captured(f, b, f.Decl.Body) {
		return false
	}
	written := false
	for _, id := range f.Uses(b) {
		switch up := f.Parent(id).(type) {
		case *ast.AssignStmt:
			if !slices.Contains(up.Lhs, ast.Expr(id)) || len(up.Rhs) != 1 {
				return false
			}
			call, ok := up.Rhs[0].(*ast.CallExpr)
			if !ok || len(call.Args) == 0 || f.Local(call.Args[0]) != b || !appending(f, call) {
				return false
			}
		case *ast.CallExpr:
			switch {
			case owner.IsWrite(f, up):
				written = true
			case appending(f, up) && up.Args[0] == id:
				switch outer := f.Parent(up).(type) {
				case *ast.CallExpr:
					if !owner.IsWrite(f, outer) {
						return false
					}
					written = true
				case *ast.AssignStmt:
					if len(outer.Lhs) != 1 || f.Local(outer.Lhs[0]) != b {
						return false
					}
				default:
					return false
				}
			case f.Builtin(up, "len") != nil, f.Builtin(up, "cap") != nil, f.StringOf(up) != nil:
			default:
				return false
			}
		default:
			return false
		}
	}
	return written
}

// appending reports whether a call appends to its first argument and returns that.
func appending(f *code.Func, call *ast.CallExpr) bool {
	if f.Builtin(call, "append") != nil {
		return true
	}
	fn := f.Callee(call)
	return fn != nil && fn.Pkg() != nil && strings.HasPrefix(fn.Name(), "Append") && slices.Contains([]string{"strconv", "fmt", "unicode/utf8", "encoding/hex"}, fn.Pkg().Path())
}
