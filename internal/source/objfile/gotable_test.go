package objfile

import (
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/testrun"
)

// everyFunction calls see for each function of f that Go's table knows.
func everyFunction(t *testing.T, f *File, see func(fn recording.Function)) {
	t.Helper()
	fns, err := f.Functions(func(*recording.Function) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	for _, fn := range fns {
		see(fn)
	}
}

// TestGoCodeRuntime compares what is read of this test program with what its runtime says.
func TestGoCodeRuntime(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only in ELF files the tree of inlined calls is found")
	}
	name, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f := open(t, name)
	here, _, _, _ := runtime.Caller(0)
	var shift uint64 // of a program that does not depend on its position
	everyFunction(t, f, func(fn recording.Function) {
		if fn.Name == runtime.FuncForPC(here).Name() {
			shift = uint64(runtime.FuncForPC(here).Entry()) - fn.Start
		}
	})
	seen, inlined := 0, 0
	everyFunction(t, f, func(fn recording.Function) {
		for pc := fn.Start; pc < fn.End-1; pc += uint64(testrun.Size(7, 53)) { // what returns to where a function begins was called in it
			fr, _ := runtime.CallersFrames([]uintptr{uintptr(pc+shift) + 1}).Next()
			got, ok := f.GoCode(pc)
			if fr.Function == "" {
				continue // C
			}
			if !ok {
				t.Fatalf("nothing is known of %#x in %s", pc, fn.Name)
			}
			g := got.Frames[0]
			if seen++; len(got.Frames) > 1 {
				inlined++
			}
			if printed(g.Func) != fr.Function || g.Line != fr.Line || g.File != fr.File && fr.File != "?" {
				t.Fatalf("%#x in %s is %s %s:%d; the runtime says %s %s:%d", pc, fn.Name, g.Func, g.File, g.Line, fr.Function, fr.File, fr.Line)
			}
			if last := got.Frames[len(got.Frames)-1]; last.Func != fn.Name {
				t.Fatalf("the outermost frame of %#x is %s; want %s", pc, last.Func, fn.Name)
			}
		}
	})
	if seen < 10000 || inlined < seen/10 {
		t.Errorf("of %d addresses %d are inlined", seen, inlined)
	}
}

// printed returns the name of a function as the runtime prints it, without type arguments.
func printed(name string) string {
	i, j := strings.Index(name, "["), strings.LastIndex(name, "]")
	if i < 0 || j < i {
		return name
	}
	return name[:i] + "[...]" + name[j+1:]
}

// TestGoCode checks that each way to build gives the same names, inlined ones too, and that DWARF agrees.
func TestGoCode(t *testing.T) {
	type named struct {
		code   []recording.Frame
		starts []int
	}
	var want []named
	for _, v := range []variant{
		{"plain", false, nil, nil},
		{"stripped", false, nil, []string{"-ldflags=-s -w"}},
		{"pie", false, nil, []string{"-buildmode=pie"}},
		{"pie-stripped", false, nil, []string{"-buildmode=pie", "-ldflags=-s -w"}},
		{"arm64-stripped", true, []string{"GOARCH=arm64"}, []string{"-ldflags=-s -w"}},
		{"arm64-pie-stripped", true, []string{"GOARCH=arm64"}, []string{"-buildmode=pie", "-ldflags=-s -w"}},
	} {
		t.Run(v.name, func(t *testing.T) {
			name, dir := build(t, v)
			f := open(t, name)
			var got []named
			var fromDWARF, agree int
			everyFunction(t, f, func(fn recording.Function) {
				if fn.Name != "main.main" && v.name != "plain" {
					return
				}
				code, err := f.Instructions(fn.Start, fn.End, true)
				if err != nil {
					t.Fatal(err)
				}
				for _, in := range code {
					c, ok := f.GoCode(in.Address)
					if !ok {
						t.Fatalf("nothing is known of %#x in %s", in.Address, fn.Name)
					}
					if c.Depth < 0 && !strings.HasPrefix(fn.Name, "go:") {
						t.Errorf("depth of the stack at %#x in %s is %d", in.Address, fn.Name, c.Depth)
					}
					var n named
					for _, fr := range c.Frames {
						n.code = append(n.code, recording.Frame(fr.Frame))
						n.starts = append(n.starts, fr.StartLine)
					}
					if v.name == "plain" && len(in.Frames) > 1 {
						if fromDWARF++; slices.Equal(n.code, in.Frames) {
							agree++
						}
					}
					if fn.Name != "main.main" {
						continue
					}
					for i := range n.code {
						if n.code[i].File == dir+"/main.go" {
							n.code[i].File = "main.go"
						}
					}
					if len(got) == 0 || !slices.Equal(got[len(got)-1].code, n.code) {
						got = append(got, n)
					}
				}
			})
			if v.name == "plain" {
				if fromDWARF < 1000 || agree < fromDWARF*97/100 {
					t.Errorf("DWARF knows %d inlined calls, and says the same of %d", fromDWARF, agree)
				}
				want = got
			}
			twice := recording.Frame{Func: "main.twice", File: "main.go", Line: 18}
			found := false
			for _, n := range got {
				if n.code[0] == twice && len(n.code) == 2 && n.code[1].Line == 22 && n.starts[0] == 18 && n.starts[1] == 20 {
					found = true
				}
			}
			if !found {
				t.Errorf("main.twice is not inlined into main.main in line 22: %v", got)
			}
			if v.env == nil && v.args != nil && v.name == "stripped" && !slices.EqualFunc(got, want, func(a, b named) bool {
				return slices.Equal(a.code, b.code) && slices.Equal(a.starts, b.starts)
			}) {
				t.Errorf("got %v; not stripped it is %v", got, want)
			}
		})
	}
}
