package report

import (
	"regexp"
	"testing"
)

func TestSimplePattern(t *testing.T) {
	tests := []struct{ name, want string }{
		{"runtime.gcDrain", "^runtime.gcDrain$"},
		{"memeqbody", "^memeqbody$"},
		{"internal/runtime/syscall/linux.Syscall6", "linux.Syscall6$"},
		{"compress/flate.(*compressor).findMatch", "flate.*compressor.*findMatch$"},
		{"example.com/sync/v4.(*Map[go.shape.int,go.shape.struct { A x/y.B }]).Load", "sync.*Map.*Load$"},
		{"example.com/tsdb.(*reader).Postings.func1", "tsdb.*reader.*Postings.func1$"},
		{"slices.Sort[go.shape.[]int]", "^slices.Sort"},
		{"std::vector<int, std::allocator<int> >::push_back(int&&)", "std::vector.*::push_back.*int"},
		{"operator()", "^operator"},
		{"(program)", "program"},
		{"<unknown>", `^<unknown>$`},
		{"[]", `^\[\]$`},
	}
	for _, tt := range tests {
		got := simplePattern(tt.name)
		if got != tt.want {
			t.Errorf("simplePattern(%q) = %q, want %q", tt.name, got, tt.want)
		}
		if !regexp.MustCompile(got).MatchString(tt.name) {
			t.Errorf("simplePattern(%q) = %q, which does not match it", tt.name, got)
		}
	}
}
