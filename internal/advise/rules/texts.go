package rules

import (
	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/text"
	"github.com/hone-perf/hone/internal/report/missing"
)

// texts takes expressions of the function apart. Why one can't be is why there is no fix.
func texts(p *advise.Pass) *text.Reader {
	return &text.Reader{Func: p.Func, No: func(fact missing.Fact, of ...any) { p.No(fact, of...) }}
}
