package rules

import (
	"go/ast"
	"strings"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/code"
	"github.com/hone-perf/hone/internal/advise/facts/text"
	"github.com/hone-perf/hone/internal/report/missing"
)

// lacksFreePart says why a package cannot append to the free part of what a writer of package bytes or bufio holds, if it cannot.
func lacksFreePart(f *code.Func, w ast.Expr) missing.Reason {
	const name = "AvailableBuffer"
	minor := 21
	switch strings.TrimPrefix(f.TypeOf(w).String(), "*") {
	case "bufio.Writer":
		minor = 18
	case "bytes.Buffer":
	default:
		return missing.Reason{}
	}
	if f.Pkg.AtLeast(minor) {
		return missing.Reason{}
	}
	return missing.OlderGo.Of(minor, name)
}

// texts takes expressions of the function apart. Why one can't be is why there is no fix.
func texts(p *advise.Pass) *text.Reader {
	return &text.Reader{Func: p.Func, No: func(fact missing.Fact, of ...any) { p.No(fact, of...) }}
}
