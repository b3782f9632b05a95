package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/calls"
	"github.com/hone-perf/hone/internal/advise/facts/edit"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/report/missing"
)

var hashAtOnce = &advise.Rule{
	Name: "hash-at-once", Rank: 7, PerCall: true,
	Doc: "a hash is allocated for bytes that a function hashes at once",

	NoFix: missing.WrittenInParts,
	Find: func(p *advise.Pass) {
		advise.Each(p, func(st *ast.AssignStmt) {
			if st.Tok != token.DEFINE || len(st.Lhs) != 1 || len(st.Rhs) != 1 {
				return
			}
			call, ok := ast.Unparen(st.Rhs[0]).(*ast.CallExpr)
			if !ok || p.Callee(call) == nil {
				return
			}
			fn := p.Callee(call)
			sum, ok := hashSum(fn.FullName())
			h := p.Local(st.Lhs[0])
			if !ok || h == nil {
				return
			}
			f := advise.Finding{
				Title:  "hash allocated on every call",
				Claim:  fmt.Sprintf("%s allocates the state of the hash, and Sum its result", p.Src(call.Fun)),
				Advice: fmt.Sprintf("%s.%s hashes bytes at once, on the stack", fn.Pkg().Name(), sum),
				Callee: p.ProfileName(fn),
				Risk:   "none", Safe: true,
			}
			c := p.Cost(call, calls.Calling(p.Func, call))
			if p.Worth(c) {
				f.Fixes = summedAtOnce(p, st, h, p.Src(call.Fun.(*ast.SelectorExpr).X)+"."+sum)
			}
			p.Report(st, c, f)
		})
	},
}

// hashSum returns the function that hashes bytes at once, by what makes a hash.
func hashSum(name string) (string, bool) {
	switch name {
	case "crypto/md5.New", "crypto/sha1.New":
		return "Sum", true
	case "crypto/sha256.New":
		return "Sum256", true
	case "crypto/sha256.New224":
		return "Sum224", true
	case "crypto/sha512.New":
		return "Sum512", true
	case "crypto/sha512.New384":
		return "Sum384", true
	case "crypto/sha512.New512_224":
		return "Sum512_224", true
	case "crypto/sha512.New512_256":
		return "Sum512_256", true
	}
	return "", false
}

// summedAtOnce is a fix for a hash that is written to once, and asked for its sum once.
func summedAtOnce(p *advise.Pass, decl *ast.AssignStmt, h *types.Var, sum string) []report.Fix {
	var write ast.Stmt
	var written *ast.CallExpr
	var data string
	var result *ast.CallExpr
	for _, id := range p.Uses(h) {
		switch up := p.Parent(id).(type) {
		case *ast.SelectorExpr:
			call, ok := p.Parent(up).(*ast.CallExpr)
			switch {
			case ok && up.Sel.Name == "Write" && write == nil && len(call.Args) == 1:
				write, written, data = p.Statement(call), call, p.Src(call.Args[0])
			case ok && up.Sel.Name == "Sum" && result == nil && len(call.Args) == 1 && p.Info().Types[call.Args[0]].IsNil():
				result = call
			default:
				return p.No(missing.WrittenInParts)
			}
		case *ast.CallExpr:
			if p.Calls(up, "io.WriteString") == nil || up.Args[0] != ast.Expr(id) || write != nil {
				return p.No(missing.WrittenInParts)
			}
			write, written, data = p.Statement(up), up, "[]byte("+p.Src(up.Args[1])+")"
		default:
			return p.No(missing.WrittenInParts)
		}
	}
	if write == nil || result == nil || p.Loop(write) != p.Loop(decl) || p.Literal(result) != p.Literal(write) || p.Literal(write) != p.Literal(decl) || jumps(p.Func) {
		return p.No(missing.WrittenInParts)
	}
	switch st := write.(type) {
	case *ast.ExprStmt:
		if ast.Unparen(st.X) != ast.Expr(written) {
			return p.No(missing.WrittenInParts) // another function is given how much was written
		}
	case *ast.AssignStmt: // to blanks
		if len(st.Rhs) != 1 || ast.Unparen(st.Rhs[0]) != ast.Expr(written) || slices.ContainsFunc(st.Lhs, func(e ast.Expr) bool { id, ok := e.(*ast.Ident); return !ok || id.Name != "_" }) {
			return p.No(missing.WrittenInParts)
		}
	default:
		return p.No(missing.WrittenInParts)
	}
	block, ok := p.Parent(write).(*ast.BlockStmt)
	if !ok || result.Pos() < write.Pos() || result.Pos() > block.End() || p.Loop(result) != p.Loop(write) {
		return p.No(missing.WrittenInParts)
	}
	name := p.NewLocal("sum")
	return p.Fix(report.Mechanical, "hash the bytes at once", edit.New(decl.Pos(), edit.NextLine(p.Func, decl), ""),
		edit.Replace(write, fmt.Sprintf("%s := %s(%s)", name, sum, data)), edit.Replace(result, name+"[:]"))
}
