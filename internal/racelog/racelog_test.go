package racelog

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func read(t testing.TB, in string) *Log {
	t.Helper()
	l, err := Read(strings.NewReader(in))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func file(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// brief writes a race in a line: who did what where, and where goroutines come from.
func brief(r *Race) string {
	var parts []string
	for i := range r.Accesses {
		a := &r.Accesses[i]
		what := "read"
		if a.Write {
			what = "write"
		}
		if a.Atomic {
			what = "atomic " + what
		}
		at := User(a.Stack)
		parts = append(parts, fmt.Sprintf("%s by %d in %s:%d of %d", what, a.Goroutine, at.Func, at.Line, len(a.Stack)))
	}
	if r.Global != "" {
		parts = append(parts, fmt.Sprintf("global %s %d %s:%d", r.Global, r.Size, r.Declared.File, r.Declared.Line))
	}
	if r.Heap != nil {
		parts = append(parts, fmt.Sprintf("heap %d by %d in %s:%d", r.Size, r.Heap.Goroutine, User(r.Heap.Stack).Func, User(r.Heap.Stack).Line))
	}
	for _, g := range r.Goroutines {
		state := "running"
		if g.Finished {
			state = "finished"
		}
		parts = append(parts, fmt.Sprintf("%d %s since %s:%d", g.ID, state, User(g.Created).Func, User(g.Created).Line))
	}
	return strings.Join(parts, "; ")
}

// TestReal reads what Go 1.26.8 said.
func TestReal(t *testing.T) {
	l := read(t, "some output\n"+file(t, "races.txt")+"more output\n")
	want := []string{
		"read by 9 in main.main.func1:22 of 1; write by 8 in main.main.func1:22 of 1; 9 running since main.main:20; 8 finished since main.main:20",
		"read by 1 in main.(*store).see:14 of 3; write by 10 in main.(*store).see:14 of 3; 10 finished since main.main:27",
		"read by 1 in main.(*store).see:14 of 2; write by 10 in main.(*store).see:14 of 2; 10 finished since main.main:27",
		"read by 1 in main.main:33 of 1; write by 12 in main.main.func2:32 of 1; 12 running since main.main:32",
		"read by 1 in main.main:38 of 1; write by 13 in sync/atomic.AddInt64:289 of 2; 13 finished since main.main:36",
	}
	if len(l.Races) != len(want) || len(l.Crashes) != 0 {
		t.Fatalf("%d races, %d crashes; want %d and none", len(l.Races), len(l.Crashes), len(want))
	}
	for i := range want {
		if got := brief(&l.Races[i]); got != want[i] {
			t.Errorf("race %d: %s\nwant %s", i, got, want[i])
		}
	}
	if f := l.Races[1].Accesses[0].Stack[0]; f.Func != "runtime.mapaccess1_faststr" || f.File != "/usr/local/go/src/internal/runtime/maps/runtime_faststr.go" || f.Line != 101 {
		t.Errorf("the innermost frame is %+v", f)
	}
	var g Grouper
	for run := range 2 {
		for _, r := range l.Races {
			if isNew := g.Add(r, run); isNew && run > 0 {
				t.Errorf("%s is new in the second run", brief(&r))
			}
		}
	}
	if n := len(g.Pairs()); n != 4 { // the map and its element are written on the same line
		t.Errorf("there are %d pairs of places; want 4", n)
	}
	if p := g.Pairs()[1]; p.Count != 4 || len(p.Sources) != 2 {
		t.Errorf("the map has %d reports of %d runs; want 4 of 2", p.Count, len(p.Sources))
	}
}

// TestLostReader reads what Go 1.27 says of v := m[k]: the function with that line is not on the stack, which goes on with its callers. Whoever they
// are, it is one pair of places.
func TestLostReader(t *testing.T) {
	var g Grouper
	for i, caller := range []string{"main.a()\n      /src/main.go:9 +0x44", "main.b()\n      /src/main.go:12 +0x44"} {
		const library = "/go/src/internal/runtime/maps/runtime_faststr.go"
		l := read(t, "WARNING: DATA RACE\nRead at 0x00c00007d200 by goroutine 10:\n  runtime.mapaccess2_faststr()\n      "+library+":120 +0x0\n  runtime.mapaccess1_faststr()\n      "+
			library+":115 +0x17\n  "+caller+"\n\nPrevious write at 0x00c00007d200 by goroutine 9:\n  runtime.mapassign_faststr()\n      "+library+":261 +0x0\n  main.count()\n      /src/main.go:20 +0x88\n\n")
		if len(l.Races) != 1 {
			t.Fatalf("%d races, want 1", len(l.Races))
		}
		r := l.Races[0]
		if at, ok := r.Accesses[0].Place(); ok {
			t.Errorf("the map is read at %v, want nowhere", at)
		}
		if at, ok := r.Accesses[1].Place(); !ok || at.Line != 20 {
			t.Errorf("the map is written at %v, %v; want line 20", at, ok)
		}
		if isNew := g.Add(r, i); isNew != (i == 0) {
			t.Errorf("report %d: new is %v", i, isNew)
		}
	}
}

// TestForms reads what other versions, and the detector of C++, write.
func TestForms(t *testing.T) {
	const head = "WARNING: DATA RACE\nWrite at 0x00c0000b4010 by goroutine 7:\n  main.inc()\n      /src/main.go:9 +0x44\n\n"
	tests := []struct{ name, in, want string }{
		{"global", head + "Previous read at 0x00c0000b4010 by main goroutine:\n  main.main()\n      /src/main.go:20 +0x1\n\nGlobal var main.visitors of size 8 at 0x5f3a40 declared at /src/main.go:5\n\n",
			"write by 7 in main.inc:9 of 1; read by 1 in main.main:20 of 1; global main.visitors 8 /src/main.go:5"},
		{"location", head + "Location is global 'main.visitors' of size 8 at 0x5f3a40 (app+0x5f3a40)\n",
			"write by 7 in main.inc:9 of 1; global main.visitors 8 :0"},
		{"heap", head + "Heap block of size 48 at 0x00c0000b4000 allocated by goroutine 3:\n  main.make()\n      /src/main.go:3 +0x2\n",
			"write by 7 in main.inc:9 of 1; heap 48 by 3 in main.make:3"},
		{"lost stack", head + "Previous write at 0x00c0000b4010 by goroutine 6:\n  [failed to restore the stack]\n\n",
			"write by 7 in main.inc:9 of 1; write by 6 in :0 of 0"},
		{"atomic", strings.Replace(head, "Write", "Atomic write", 1), "atomic write by 7 in main.inc:9 of 1"},
		{"torn", "WARNING: DATA RACE\nWrite at 0x1 by goroutine 7:\nhello\n  main.inc()\n      /src/main.go:9 +0x44\n", "write by 7 in :0 of 0"},
		{"windows", strings.ReplaceAll(strings.Replace(head, "/src/main.go", `C:\src\main.go`, 1), "\n", "\r\n"), "write by 7 in main.inc:9 of 1"},
		{"generic", strings.Replace(head, "main.inc()", "main.(*list[go.shape.int]).add()", 1), "write by 7 in main.(*list[go.shape.int]).add:9 of 1"},
	}
	for _, tt := range tests {
		l := read(t, tt.in)
		if len(l.Races) != 1 {
			t.Errorf("%s: %d races", tt.name, len(l.Races))
			continue
		}
		if got := brief(&l.Races[0]); got != tt.want {
			t.Errorf("%s: %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

func TestCrashes(t *testing.T) {
	dump := "goroutine 8 gp=0xc0 m=nil [sync.Mutex.Lock, 2 minutes]:\nsync.(*Mutex).Lock(...)\n\t/go/src/sync/mutex.go:46\nexample.com/x.move({0x1, 0x2}, 0x3)\n\t/src/x.go:12 +0x33\ncreated by example.com/x.TestMove in goroutine 7\n\t/src/x_test.go:9 +0x1\n"
	tests := []struct {
		in   string
		kind CrashKind
	}{
		{"panic: test timed out after 5s\n\trunning tests:\n\t\tTestMove (5s)\n\t\tTestOther/a (1s)\n\n" + dump, Timeout},
		{"fatal error: concurrent map writes\n\n" + dump, Map},
		{"fatal error: concurrent map iteration and map write\n" + dump, Map},
		{"fatal error: sync: unlock of unlocked mutex\n" + dump, Misuse},
		{"panic: sync: negative WaitGroup counter\n\n" + dump, Misuse},
		{"panic: runtime error: index out of range [recovered]\n\tpanic: again\n\n" + dump, Panic},
	}
	for _, tt := range tests {
		l := read(t, "ok so far\n"+tt.in)
		if len(l.Crashes) != 1 || l.Crashes[0].Kind != tt.kind {
			t.Errorf("%q: %+v; want one %s", tt.in, l.Crashes, tt.kind)
			continue
		}
		c := l.Crashes[0]
		if len(c.Goroutines) != 1 || len(c.Goroutines[0].Stack) != 2 || !c.Goroutines[0].Waits() {
			t.Errorf("%s: %+v", tt.kind, c)
			continue
		}
		g := c.Goroutines[0]
		if at := User(g.Stack); at != (Frame{"example.com/x.move", "/src/x.go", 12}) {
			t.Errorf("%s: it waits at %+v", tt.kind, at)
		}
		if g.Created == nil || *g.Created != (Frame{"example.com/x.TestMove", "/src/x_test.go", 9}) {
			t.Errorf("%s: it was started at %+v", tt.kind, g.Created)
		}
		if tt.kind == Timeout && strings.Join(c.Running, " ") != "TestMove TestOther/a" {
			t.Errorf("tests %v were running", c.Running)
		}
	}
	l := read(t, file(t, "deadlock.txt"))
	if len(l.Crashes) != 1 || l.Crashes[0].Kind != Deadlock || len(l.Crashes[0].Goroutines) != 2 {
		t.Fatalf("%+v", l.Crashes)
	}
	for i, line := range []int{13, 9} {
		if at := User(l.Crashes[0].Goroutines[i].Stack); at.Line != line {
			t.Errorf("goroutine %d waits at %+v; want line %d", i, at, line)
		}
	}
}

// TestBounds holds that there is an end to what is kept.
func TestBounds(t *testing.T) {
	one := "WARNING: DATA RACE\nWrite at 0x1 by goroutine 7:\n" + strings.Repeat("  main.inc()\n      /src/main.go:9 +0x44\n", 2*maxFrames)
	l := read(t, one)
	if n := len(l.Races[0].Accesses[0].Stack); n != maxFrames {
		t.Errorf("the stack has %d frames; want %d", n, maxFrames)
	}
	many := strings.Repeat("WARNING: DATA RACE\nRead at 0x1 by goroutine 7:\n", maxRaces+5)
	if l := read(t, many); len(l.Races) != maxRaces || len(l.Notes) != 1 {
		t.Errorf("%d races, notes %q", len(l.Races), l.Notes)
	}
	if l := read(t, strings.Repeat("x", 10<<20)); len(l.Races)+len(l.Crashes) > 0 {
		t.Errorf("%+v", l)
	}
}

// FuzzRead holds that whatever is read is bounded, and can be grouped.
func FuzzRead(f *testing.F) {
	f.Add(file(f, "races.txt"))
	f.Add(file(f, "deadlock.txt"))
	f.Add("WARNING: DATA RACE\nWrite at 0x1 by goroutine 7:\n  main.inc()\n      /src/main.go:9 +0x44\n\nGlobal var x of size 8 at 0x1 declared at x.go:1\n")
	f.Fuzz(func(t *testing.T, in string) {
		l := read(t, in)
		var g Grouper
		for i, r := range l.Races {
			if len(r.Accesses) == 0 || len(r.Accesses) > 4 || len(r.Goroutines) > 8 {
				t.Errorf("%+v", r)
			}
			g.Add(r, i)
		}
		n := 0
		for _, p := range g.Pairs() {
			n += p.Count
		}
		if n != len(l.Races) {
			t.Errorf("%d of %d reports are in groups", n, len(l.Races))
		}
		for _, c := range l.Crashes {
			for i := range c.Goroutines {
				c.Goroutines[i].Waits()
				User(c.Goroutines[i].Stack)
			}
		}
	})
}
