package worker

import (
	"fmt"
	"reflect"
	"runtime/debug"
	"strings"
	"testing"
)

func somePlaces() *places {
	findMemory()
	return &places{names: true, Source: &Source{
		Path: "example.com/m/v1", Name: "v1", Names: map[string]bool{"Shape": false, "square": true, "Area": false, "grow": true},
		Files: map[string]bool{"shape.go": true}, Moved: map[string]string{"example.com/m/v1": "example.com/m/v2", "v1": "v2"},
	}}
}

// A text loses what says where something is, and nothing else.
func TestTextWithoutPlaces(t *testing.T) {
	p := somePlaces()
	code, object := reflect.ValueOf(TestTextWithoutPlaces).Pointer(), new([8]int)
	tests := []struct{ in, want string }{
		{"", ""},
		{fmt.Sprintf("at %#x, 3", code), "at (an address), 3"},
		{fmt.Sprintf("%p=%p", object, &inData), "(an address)=(an address)"},
		{fmt.Sprint([]any{object, 7}), fmt.Sprintf("[%s 7]", anAddress)},
		{"0xdeadbeef 0x4 #4a3b20 1234567890123 0xffffffffffffffffff", "0xdeadbeef 0x4 #4a3b20 1234567890123 0xffffffffffffffffff"},
		{"a v1.Shape, *v1.square, (v1.square).grow, v1.2, rev1.Shape and v1.Other", "a v2.Shape, v2.(unexported), (v2.(unexported)).grow, v1.2, rev1.Shape and v1.Other"},
		{"example.com/m/v1.(*Shape).Area example.com/m/v1.(*Shape).grow example.com/m/v1.Area.func2.1", "example.com/m/v2.(*Shape).Area example.com/m/v2.(unexported) example.com/m/v2.(unexported)"},
		{"example.com/m/v1/shape.go:12: no", "(a line): no"},
		{"shape.go:7: x; other.go:7; shape.go; example.com/m/v1/shape.go", "(a line): x; other.go:7; shape.go; (a file of the package)"},
		{"goroutine 17 [running]:\nmain.f(0x1)\n\t/a/b.go:12 +0x1d\ncreated by main.g in goroutine 1\n\t/a/b.go:9 +0x2\nend", "goroutine # [running]:\n(frames)\nend"},
		{"failed\nm.F\n\ta/b.go:12\nm.G\n\ta/b.go:3", "failed\n(frames)\n"},
		{"failed\nm.F\n\ta/b.go:12 (v1.square)", "failed\n(frames)\n (v2.(unexported))"},
		{"é ünï 漢字 .go .go: v1. v1", "é ünï 漢字 .go .go: v1. v1"},
	}
	for _, tt := range tests {
		if got := p.text(tt.in); got != tt.want {
			t.Errorf("text(%q)\n is %q\nwant %q", tt.in, got, tt.want)
		}
	}
	if got := p.text(string(debug.Stack())); strings.Count(got, "\n") > 2 {
		t.Errorf("of a stack there is left %q", got)
	}
	p.names = false // an argument speaks of files: the answer may, too
	if got := p.text("shape.go:7: x"); got != "shape.go:7: x" {
		t.Errorf("a line of an argument became %q", got)
	}
}

func FuzzTextWithoutPlaces(f *testing.F) {
	p := somePlaces()
	f.Add("v1.(*square).x example.com/m/v1/shape.go:1 0x12345678 goroutine 1\na\n\tb.go:1")
	f.Fuzz(func(t *testing.T, s string) {
		if once := p.text(s); len(once) > 20*len(s)+100 {
			t.Errorf("%q became %q", s, once)
		}
	})
}
