package profile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	library "github.com/google/pprof/profile"
)

// folded writes sample type k of p as folded stacks.
func folded(t *testing.T, p *Profile, k int) string {
	t.Helper()
	return foldSlowly(acceptedByLibrary(t, p), k)
}

func TestParseFolded(t *testing.T) {
	tests := []struct {
		name, in, want string
	}{
		{
			name: "stacks",
			in:   "main;a;b 12\nmain;a 3\nmain;a;b 1\nother 5\n",
			want: "13: main a b\n3: main a\n5: other\n",
		},
		{
			name: "spaces, comments, ends of line",
			in:   "\ufeff# perf\r\n\r\n  java thread 1;void f(int, char);operator new\t7\r\n#a;b 3\njava thread 1; void f(int, char) ;operator new    -2  ",
			want: "5: java thread 1 void f(int, char) operator new\n",
		},
		{
			name: "inlined frames",
			in:   "main;a_[i];b_[i];c 1\nmain;a;d_[i] 2\ne_[i];f_[k];g_[j] 3\n_[i] 4\n",
			want: "1: main+a+b c\n2: main a+d\n3: e_[i] f_[k] g_[j]\n4: _[i]\n",
		},
		{
			name: "empty frames",
			in:   ";main;;a; 2\n;; 1\n",
			want: "2: main a\n1:\n",
		},
		{
			name: "frames that end in a number",
			in:   "main;worker 1 10\nmain;worker 10\n",
			want: "10: main worker 1\n10: main worker\n",
		},
		{
			name: "largest counts",
			in:   "a 9223372036854775807\nb -9223372036854775808\n",
			want: "9223372036854775807: a\n-9223372036854775808: b\n",
		},
	}
	for _, tt := range tests {
		p, err := ParseBytes([]byte(tt.in))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if got := describe(p); got != tt.want {
			t.Errorf("%s: got\n%swant\n%s", tt.name, got, tt.want)
		}
		if got, want := fmt.Sprint(p.SampleTypes), "[{samples count}]"; got != want {
			t.Errorf("%s: sample types are %s, want %s", tt.name, got, want)
		}
		for i, f := range p.Functions {
			if f.SystemName != f.Name || f.ID != uint64(i+1) || slices.ContainsFunc(p.Functions[:i], func(g Function) bool { return g.Name == f.Name }) {
				t.Errorf("%s: function %d is %v", tt.name, i, f)
			}
		}
		acceptedByLibrary(t, p)
	}
}

func TestParseFoldedErrors(t *testing.T) {
	tests := []struct {
		in, want string // want is "" when the input does not even look like folded stacks
	}{
		{"main;a 1\n\n# comment\nmain;b x\n", `line 4: count "x" is not a number`},
		{"main;a\n", `line 1: a stack and a count are needed, with a space between them`},
		{"main;a 1\n12\n", `line 2: a stack and a count are needed, with a space between them`},
		{"main;a b\n", `line 1: count "b" is not a number`},
		{"main;a 1.5\n", `line 1: count "1.5" is not a whole number below 2⁶³`},
		{"main;a 1\nb 9223372036854775808\n", `line 2: count "9223372036854775808" is not a whole number below 2⁶³`},
		{"main;a " + strings.Repeat("x", 100), `line 1: count "` + strings.Repeat("x", 40) + `" is not a number`},
		{"main;a 1 2\nmain;b 3 4\n", "two counts on each line, as difffolded writes: give the two profiles separately"},
		{"", ""},
		{"\n \n", ""},
		{"# main;a 1\n", ""},
		{"hello world\nmain;a 1\n", ""},
		{"main;a\x00 1\n", ""},
		{"main;\xff 1\n", ""},
		{"12\n", ""},
	}
	for _, tt := range tests {
		p, err := parseFolded([]byte(tt.in))
		if tt.want == "" {
			if err != errUnrecognized {
				t.Errorf("parseFolded(%q) = %v, %v, want %v", tt.in, p, err, errUnrecognized)
			}
			continue
		}
		var format *FormatError
		if !errors.As(err, &format) || !errors.Is(err, errUnrecognized) {
			t.Errorf("parseFolded(%q) = %v, %v, want a FormatError for %v", tt.in, p, err, errUnrecognized)
		} else if got, want := format.Detail, "folded stacks: "+tt.want; got != want {
			t.Errorf("parseFolded(%q): %s, want %s", tt.in, got, want)
		}
	}
}

// foldSlowly writes a profile of the pprof library as folded stacks.
func foldSlowly(lp *library.Profile, k int) string {
	sums := make(map[string]int64)
	stacks := make(map[string][]string)
	for _, s := range lp.Sample {
		var names []string
		for _, l := range slices.Backward(s.Location) {
			for _, line := range slices.Backward(l.Line) {
				names = append(names, FoldedName(line.Function.Name))
			}
			if len(l.Line) == 0 {
				names = append(names, fmt.Sprintf("%#x", l.Address))
			}
		}
		if len(names) == 0 {
			names = []string{"[no stack]"}
		}
		line := strings.Join(names, ";")
		sums[line] += s.Value[k]
		stacks[line] = names
	}
	var lines []string
	for line, sum := range sums {
		if sum != 0 {
			lines = append(lines, line)
		}
	}
	slices.SortFunc(lines, func(a, b string) int { return slices.Compare(stacks[a], stacks[b]) })
	var out strings.Builder
	for _, line := range lines {
		fmt.Fprintf(&out, "%s %d\n", line, sums[line])
	}
	return out.String()
}

// checkFolded checks what is true of the folded stacks of any profile.
func checkFolded(t *testing.T, p *Profile) {
	t.Helper()
	for k := range p.SampleTypes {
		text := folded(t, p, k)
		if text == "" {
			continue
		}
		q, err := parseFolded([]byte(text))
		if err != nil {
			t.Fatalf("cannot read what was written: %v\n%.2000s", err, text)
		}
		if again := folded(t, q, 0); again != text {
			t.Fatalf("read and written again it is\n%.2000s\nnot\n%.2000s", again, text)
		}
		var got, want int64
		for _, v := range q.Values(0) {
			got += v
		}
		for _, v := range p.Values(k) {
			want += v
		}
		if got != want {
			t.Fatalf("sum is %d, want %d", got, want)
		}
	}
}

func TestFoldedCorpus(t *testing.T) {
	for _, f := range corpus(t, "") {
		t.Run(filepath.Base(f), func(t *testing.T) {
			data, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if len(data) > 150_000 {
				t.Skip("would take a second or more")
			}
			p, err := ParseBytes(data)
			if err != nil {
				t.Fatal(err)
			}
			checkFolded(t, p)
		})
	}
}

func FuzzFolded(f *testing.F) {
	for _, s := range []string{
		"main;a;b 12\nmain;a 3\n",
		"# comment\r\nmain;a_[i];b_[i];c 1\ne_[i];f_[k] -3\n",
		"a b 1 2\na 3\n",
		";;;  7\n#;#a_[i] 1\n[unknown];x_[i]_[i] 2",
		"\ufeffé;\u00a0x\u00a0 1\n\xff 2\nx\ty 3\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := parseFolded(data)
		if err != nil {
			return
		}
		var want int64
		for line := range strings.Lines(strings.TrimPrefix(string(data), "\ufeff")) {
			line = strings.TrimSpace(line)
			if line == "" || line[0] == '#' {
				continue
			}
			n, err := strconv.ParseInt(line[strings.LastIndexAny(line, " \t")+1:], 10, 64)
			if err != nil {
				t.Fatalf("%q was read as a stack", line)
			}
			want += n
		}
		var got int64
		for _, v := range p.Values(0) {
			got += v
		}
		if got != want {
			t.Fatalf("sum of all counts is %d, want %d", got, want)
		}
		checkFolded(t, p)
	})
}

// A line of folded stacks may be longer than those of other forms of text, which are tried first.
func TestFoldedLongLine(t *testing.T) {
	long := strings.Repeat(strings.Repeat("x", 100)+";", 2000)
	for _, text := range []string{long + "leaf 3\n", "main 1\n" + long + "leaf 3\n"} {
		p, err := ParseBytes([]byte(text))
		if err != nil || p.Depth(p.NumSamples()-1) != 2001 {
			t.Errorf("%+v, %v, want a stack of 2001 frames", p, err)
		}
	}
	for text, want := range map[string]string{
		"heap profile: " + strings.Repeat("1", 100<<10):                                   "a line has more than 64kB",
		"goroutine profile: total 1\n1 @ 0x1 0x2" + strings.Repeat(" 0x3", 20_000) + "\n": "a line has more than 64kB",
		long + "leaf 3\nmain x\n":                                                         "line 2: count",
	} {
		_, err := ParseBytes([]byte(text))
		var format *FormatError
		if !errors.As(err, &format) || !strings.Contains(format.Detail, want) {
			t.Errorf("%.40q…: %v, want %s", text, err, want)
		}
	}
}
