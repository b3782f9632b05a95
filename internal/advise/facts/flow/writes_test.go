package flow_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/advise/facts/code/codetest"
	"github.com/hone-perf/hone/internal/advise/facts/flow"
)

// TestWrites holds that each way to write to a variable is known, and what it is that is written to: the variable itself, or what it leads to.
func TestWrites(t *testing.T) {
	for _, tt := range []struct{ code, want string }{
		{"n = 1", "n"},
		{"n += 1", "n"},
		{"n++", "n"},
		{"(n)--", "n"},
		{"n, list[0] = 1, 2", "n list→"},
		{"for n = range 3 {}", "n"},
		{"for list[0] = range 3 {}", "list→"},
		{"for _, n = range list {}", "n"},
		{"q = &n", "q n&"},
		{"list[0]++", "list→"},
		{"room[0]++", "room"},
		{"s := room[:]; _ = s", "s room&"},
		{"s := list[1:]; _ = s", "s"},
		{"list[1:][0] = 2", "list→"},
		{"copy(list, list)", "list→"},
		{"copy(room[:], list)", "room→ room&"},
		{"clear(list)", "list→"},
		{"delete(m, 1)", "m→"},
		{"m[1] = 2", "m→"},
		{"v.n = 1", "v.n"},
		{"p.n = 1", "p.n→"},
		{"v.p.n++", "v.n.p→"},
		{"*q = 1", "q→"},
		{"v.inc()", "v&"},
		{"f := v.inc; f()", "f v&"},
		{"p.inc()", ""},
		{"v.get()", ""},
		{"v.t.inc()", "v.t&"},
		{"func() { n++ }()", "n"},
		{"outside = 1", "outside"},
		{"s := n; _ = s", "s"},
		{"_ = n + list[0] + m[1] + v.n + room[1]", ""},
	} {
		all := codetest.Funcs(t, "package a\ntype t struct { n int }\nfunc (x *t) inc() { }\ntype T struct { n int; p *t; t t }\nfunc (x *T) inc() { }\nfunc (x T) get() { }\nvar outside int\n"+
			"func f(n int, list []int, m map[int]int, room [4]int, v T, p *T, q *int) {\n"+tt.code+"\n}", nil)
		f := all[len(all)-1]
		var got []string
		flow.Writes(f, f.Decl.Body, func(w flow.Write) bool {
			if w.Root == nil { // of a blank
				return true
			}
			name := w.Root.Name()
			for _, field := range w.Fields {
				name += "." + field.Name()
			}
			if !w.Inside {
				name += "→"
			}
			if w.Address {
				name += "&"
			}
			got = append(got, name)
			return true
		})
		want := strings.Fields(tt.want)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s writes to %v, want %v", tt.code, got, want)
		}
	}
}
