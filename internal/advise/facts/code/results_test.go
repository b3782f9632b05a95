package code

import (
	"go/parser"
	"go/token"
	"testing"
)

// TestCallsResult holds that a test may look at what a method returns, but not call it.
func TestCallsResult(t *testing.T) {
	for _, c := range []struct {
		body string
		want bool
	}{
		{"p.start()", false},
		{"fn := p.start(); if fn != nil { t.Error(fn) }", false},
		{"if p.start() == nil { return }", false},
		{"p.start()()", true},
		{"(p.start())()", true},
		{"fn := p.start(); fn()", true},
		{"var fn = p.start(); fn = fn()", true},
		{"s.fn = p.start()", true},
		{"fn := p.start; _ = fn", true},
		{"run(p.start)", true},
		{"p.stop()()", false},
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "", "package p; func _() { "+c.body+" }", 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := callsResult(f, "start"); got != c.want {
			t.Errorf("%s: %v, want %v", c.body, got, c.want)
		}
	}
}
