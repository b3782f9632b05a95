package rules

import (
	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/text"
)

// texts takes expressions of the function apart. Why one can't be is why there is no fix.
func texts(p *advise.Pass) *text.Reader {
	return &text.Reader{Func: p.Func, No: func(format string, args ...any) { p.No(format, args...) }}
}
