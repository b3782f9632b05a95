package render

import (
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/report"
)

// Names in a profile make no lines and no commands of their own.
func TestFindingLinesAreLines(t *testing.T) {
	a := &report.Advice{Findings: []report.Finding{{
		Title: "a, b: c", Claim: "100%\n::error::x", Where: report.Spot{File: "/a\n::set-env name=x::y,b.go", Line: 3},
	}}}
	for name, want := range map[string]string{
		"vim":    "/a ::set-env name=x::y,b.go:3:1: a, b: c: 100% ::error::x.\n",
		"github": "::notice file=/a%0A%3A%3Aset-env name=x%3A%3Ay%2Cb.go,line=3,title=hone%3A a%2C b%3A c::a, b: c: 100%25%0A::error::x.\n",
	} {
		var b strings.Builder
		if err := Write(&b, name, a, Options{}); err != nil || b.String() != want {
			t.Errorf("%s: %v\n%q\nwant\n%q", name, err, b.String(), want)
		}
		if err := Write(&b, name, topReport(), Options{}); err == nil {
			t.Errorf("%s writes what has no findings", name)
		}
	}
}
