package patch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/report"
)

// TestMoved applies edits that were made for one text to what it became, and wants what both changes together say.
func TestMoved(t *testing.T) {
	tests := []struct {
		name           string
		was, is, edits string // edits are what the text becomes by them
		want           string
		err            error
	}{
		{"nothing in between", "a\nb\nc\n", "a\nb\nc\n", "a\nB\nc\n", "a\nB\nc\n", nil},
		{"lines before", "a\nb\nc\n", "0\n1\na\nb\nc\n", "a\nB\nc\n", "0\n1\na\nB\nc\n", nil},
		{"fewer lines before", "a\nb\nc\nd\n", "d\n", "a\nb\nc\nd\ne\n", "d\ne\n", nil},
		{"lines behind", "a\nb\nc\n", "a\nb\nc\nd\n", "A\nb\nc\n", "A\nb\nc\nd\n", nil},
		{"both insert at one place", "a\nb\n", "a\n1\nb\n", "a\n2\nb\n", "a\n1\n2\nb\n", nil},
		{"both insert the same", "a\nb\nc\n", "a\n1\nb\nc\n", "a\n1\nb\nC\n", "a\n1\nb\nC\n", nil},
		{"between", "a\nb\nc\n", "A\nb\nC\n", "a\nB\nc\n", "A\nB\nC\n", nil},
		{"the same line", "a\nb\nc\n", "a\nX\nc\n", "a\nB\nc\n", "", ErrOverlap},
		{"around it", "a\nb\nc\nd\n", "X\nd\n", "a\nb\nC\nd\n", "", ErrOverlap},
		{"a line within", "a\nb\nc\n", "a\nb\n1\nc\n", "a\nX\n", "", ErrOverlap},
		{"no newline in the end", "a\nb", "0\na\nb", "a\nB", "0\na\nB", nil},
		{"empty", "", "a\n", "b\n", "a\nb\n", nil},
	}
	for _, tt := range tests {
		edits, err := Moved("x", []byte(tt.was), []byte(tt.is), Edits("x", []byte(tt.was), []byte(tt.edits)))
		if !errors.Is(err, tt.err) {
			t.Errorf("%s: %v; want %v", tt.name, err, tt.err)
			continue
		}
		if err != nil {
			continue
		}
		got, err := Apply([]byte(tt.is), edits)
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: %q, %v; want %q", tt.name, got, err, tt.want)
		}
	}
}

// FuzzEdits holds that the edits between two texts make the one of the other.
func FuzzEdits(f *testing.F) {
	f.Add("a\nb\nc\n", "a\nX\nc\nd\n")
	f.Add("", "x")
	f.Add("x", "")
	f.Add("a\n\nb", "\n\nb\n")
	f.Fuzz(func(t *testing.T, was, is string) {
		if strings.ContainsAny(was+is, "\r") {
			return // the library that compares takes lines as they are
		}
		got, err := Apply([]byte(was), Edits("x", []byte(was), []byte(is)))
		if err != nil || string(got) != is {
			t.Errorf("%q to %q: %q, %v", was, is, got, err)
		}
	})
}

// FuzzMoved holds that edits of lines far from each other give one text, whichever goes first, and that of both at once. No line is there twice, so
// that there is one way to tell which lines are new.
func FuzzMoved(f *testing.F) {
	f.Add(uint8(9), uint8(1), uint8(2), uint8(0), uint8(2), uint8(1), uint8(5))
	f.Add(uint8(4), uint8(0), uint8(0), uint8(3), uint8(1), uint8(0), uint8(2))
	f.Add(uint8(2), uint8(0), uint8(1), uint8(1), uint8(0), uint8(0), uint8(1))
	f.Fuzz(func(t *testing.T, n, first, firstLen, between, secondLen, firstNew, secondNew uint8) {
		begin := int(first)
		end := begin + int(firstLen)
		begin2 := end + 1 + int(between)
		end2 := begin2 + int(secondLen)
		size := max(end2, int(n))
		lines := func(prefix string, from, to int) (text string) {
			for i := from; i < to; i++ {
				text += fmt.Sprintf("%s%d\n", prefix, i)
			}
			return text
		}
		with := func(one, two bool) []byte {
			mid := func(replaced bool, prefix string, n uint8, from, to int) string {
				if replaced {
					return lines(prefix, 0, int(n))
				}
				return lines("", from, to)
			}
			return []byte(lines("", 0, begin) + mid(one, "a", firstNew, begin, end) + lines("", end, begin2) + mid(two, "b", secondNew, begin2, end2) + lines("", end2, size))
		}
		was, want := with(false, false), string(with(true, true))
		a, b := Edits("x", was, with(true, false)), Edits("x", was, with(false, true))
		if got, err := Apply(was, slices.Concat(a, b)); err != nil || string(got) != want {
			t.Fatalf("both at once: %q, %v; want %q", got, err, want)
		}
		for _, order := range [][2][]report.Edit{{a, b}, {b, a}} {
			is, err := Apply(was, order[0])
			if err != nil {
				t.Fatal(err)
			}
			moved, err := Moved("x", was, is, order[1])
			if err != nil {
				t.Fatalf("%q to %q, and then %v: %v", was, is, order[1], err)
			}
			if got, err := Apply(is, moved); err != nil || string(got) != want {
				t.Errorf("%q to %q, and then %v: %q, %v; want %q", was, is, order[1], got, err, want)
			}
		}
	})
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		at := filepath.Join(dir, name)
		if err := os.WriteFile(at, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
		return at
	}
	a, b := file("a.go", "old a"), file("b.go", "old b")
	p := &Patch{Dir: dir}
	p.Set(a, []byte("old a"), []byte("new a"))
	p.Set(b, []byte("old b"), []byte("new b"))
	if err := os.WriteFile(b, []byte("changed"), 0o640); err != nil {
		t.Fatal(err)
	}
	var changed *ChangedError
	if _, err := p.Write(); !errors.As(err, &changed) || changed.Name != "b.go" {
		t.Errorf("writing over a change: %v", err)
	}
	holds(t, a, "old a")
	holds(t, b, "changed")
	file("b.go", "old b")
	link := filepath.Join(dir, "link.go")
	if err := os.Symlink(a, link); err != nil {
		t.Fatal(err)
	}
	q := &Patch{Dir: dir}
	q.Set(link, []byte("old a"), []byte("new a"))
	q.Set(b, []byte("old b"), []byte("new b"))
	names, err := q.Write()
	if err != nil || len(names) != 2 {
		t.Fatalf("wrote %v, %v", names, err)
	}
	holds(t, a, "new a") // what the link leads to
	holds(t, b, "new b")
	if st, err := os.Lstat(b); err != nil || st.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	left, err := filepath.Glob(filepath.Join(dir, ".hone-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
	if err := os.Remove(b); err != nil {
		t.Fatal(err)
	}
	if _, err := q.Write(); !errors.As(err, &changed) {
		t.Errorf("writing a file that is gone: %v", err)
	}
}

// TestReadOnly holds that what cannot be written is said before anything is: for a file that nobody may write, and, as for a
// superuser there is none such, for one in a folder that takes no new files.
func TestReadOnly(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a.go")
	if err := os.WriteFile(name, []byte("a"), 0o444); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		if name = "/proc/version"; runtime.GOOS != "linux" {
			t.Skip("a superuser may write all files here")
		}
	}
	was, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	p := &Patch{Dir: filepath.Dir(name)}
	p.Set(name, was, []byte("b"))
	if _, err := p.Write(); err == nil || !strings.Contains(err.Error(), filepath.Base(name)+" cannot be written: ") {
		t.Errorf("writing %s: %v", name, err)
	}
}

func holds(t *testing.T, name, want string) {
	t.Helper()
	if got, err := os.ReadFile(name); err != nil || string(got) != want {
		t.Errorf("%s holds %q, %v; want %q", filepath.Base(name), got, err, want)
	}
}

// A diff leaves alone what stays between two changed lines, though it is there more than once.
func TestDiffIsFine(t *testing.T) {
	const was = "func f() error {\n\tx := a[0]\n\tif err != nil {\n\t\treturn err\n\t}\n\ty := a[1]\n\tif err != nil {\n\t\treturn err\n\t}\n\treturn nil\n}\n"
	is := strings.NewReplacer("a[0]", "before", "a[1]", "after").Replace(was)
	const want = `--- a/f.go
+++ b/f.go
@@ -1,9 +1,9 @@
 func f() error {
-	x := a[0]
+	x := before
 	if err != nil {
 		return err
 	}
-	y := a[1]
+	y := after
 	if err != nil {
 		return err
 	}
`
	if got := Diff("f.go", []byte(was), []byte(is)); got != want {
		t.Errorf("Diff gives\n%s", got)
	}
	for _, tt := range []struct{ was, is, want string }{
		{"a\nb", "a\nc", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n"},
		{"x\ny\nx\n", "y\nx\ny\n", "@@ -1,3 +1,3 @@\n-x\n y\n x\n+y\n"},
	} {
		_, got, _ := strings.Cut(Diff("f", []byte(tt.was), []byte(tt.is)), "+++ b/f\n")
		if got != tt.want {
			t.Errorf("%q → %q: %q, want %q", tt.was, tt.is, got, tt.want)
		}
	}
}

func TestLine(t *testing.T) {
	const was = "a\nb\nc\nd\ne\n"
	const is = "new\na\nB1\nB2\nB3\nd\ne\n" // b and c became three lines
	for _, tt := range []struct {
		from, to string
		line, at int
		same     bool
	}{
		{was, was, 3, 3, true},
		{was, is, 1, 2, true}, {was, is, 2, 3, false}, {was, is, 3, 4, false}, {was, is, 4, 6, true}, {was, is, 5, 7, true},
		{is, was, 1, 1, false}, {is, was, 2, 1, true}, {is, was, 3, 2, false}, {is, was, 5, 3, false}, {is, was, 6, 4, true}, {is, was, 7, 5, true},
	} {
		if at, same := Line("x.go", []byte(tt.from), []byte(tt.to), tt.line); at != tt.at || same != tt.same {
			t.Errorf("line %d of %q is line %d of %q, the same %v; want %d, %v", tt.line, tt.from, at, tt.to, same, tt.at, tt.same)
		}
	}
}
