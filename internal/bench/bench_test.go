package bench

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf16"

	"golang.org/x/perf/benchfmt"
)

// read reads text that can be read.
func read(t testing.TB, in string) *File {
	t.Helper()
	f, err := Read(strings.NewReader(in), "x")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// short writes results and notes in a form that fits into tables of tests.
func short(f *File) string {
	var b strings.Builder
	for i := range f.Results {
		r := &f.Results[i]
		fmt.Fprintf(&b, "%d %s*%d %d", r.Line, r.Name, r.Procs, r.Iters)
		for _, v := range r.Values {
			fmt.Fprintf(&b, " %v %s", v.Value, v.Unit)
		}
		for _, c := range r.Config {
			fmt.Fprintf(&b, " %s=%s", c.Key, c.Value)
		}
		b.WriteByte('\n')
	}
	for _, n := range f.Notes {
		fmt.Fprintln(&b, n.In(""))
	}
	return b.String()
}

func TestRead(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{
			"as it is written",
			"goos: linux\npkg: a/b\nBenchmarkFoo-8   \t     100\t     12.5 ns/op\t  7 B/op\nBenchmarkBar-8   \t 3\t 4 ns/op\nPASS\nok  \ta/b\t1.2s\n",
			"3 Foo*8 100 12.5 ns/op 7 B/op goos=linux pkg=a/b\n4 Bar*8 3 4 ns/op goos=linux pkg=a/b\n",
		},
		{
			"configuration that changes and ends",
			"a: 1\nBenchmarkA 1 1 ns/op\na: 2\nb: x y\nBenchmarkA 1 1 ns/op\na:\nBenchmarkA 1 1 ns/op\n",
			"2 A*0 1 1 ns/op a=1\n5 A*0 1 1 ns/op a=2 b=x y\n7 A*0 1 1 ns/op b=x y\n",
		},
		{"lines that end as on Windows", "goos: windows\r\nBenchmarkA 1 1 ns/op\r\n", "2 A*0 1 1 ns/op goos=windows\n"},
		{
			"byte order mark", "\ufeffgoos: linux\nBenchmarkA 1 1 ns/op\n",
			"2 A*0 1 1 ns/op goos=linux\nmended: byte order mark before the first line (line 1)\n",
		},
		{
			"colors", "\x1b[32mBenchmarkA\x1b[0m 1 1 ns/op\n", "1 A*0 1 1 ns/op\n",
		},
		{
			"text between name and numbers",
			"BenchmarkA-8  \t2020/10/01 connected\nlevel: info\n     100\t   12 ns/op\t 3 B/op\nBenchmarkB-8 \t 1\t 1 ns/op\n",
			"1 A*8 100 12 ns/op 3 B/op\n4 B*8 1 1 ns/op\nmended: text between the name of a benchmark and its numbers (line 1)\n",
		},
		{
			"text without an end of line between name and numbers",
			"BenchmarkA-8  \tconnected 5      100\t   12 ns/op\nBenchmarkB-8 \tx\ny     7\t 1 ns/op\n",
			"1 A*8 100 12 ns/op\n2 B*8 7 1 ns/op\nmended: text between the name of a benchmark and its numbers (lines 1, 2)\n",
		},
		{
			"names that -v writes",
			"BenchmarkA\n    a_test.go:1: logged\nBenchmarkA-8 \t 1\t 1 ns/op\nBenchmarkB\n",
			"3 A*8 1 1 ns/op\n",
		},
		{
			"text that looks like numbers behind a name",
			"BenchmarkA-8 \tserving\n 100 3 files\nBenchmarkB-8 \t 1\t 1 ns/op\n",
			"3 B*8 1 1 ns/op\ndropped: benchmark without numbers (line 1)\n",
		},
		{
			"a benchmark that crashes",
			"BenchmarkA-8 \tpanic: no\n\ngoos: plan9\nFAIL\tp\t0.1s\nBenchmarkB-8 \t 1\t 1 ns/op\n",
			"5 B*8 1 1 ns/op goos=plan9\n" +
				"dropped: benchmark without numbers (line 1)\n" +
				"dropped: package that failed, with what it did not come to measure (line 4)\n",
		},
		{
			"a benchmark that fails",
			"BenchmarkA-8 \t--- FAIL: BenchmarkA-8\n    a_test.go:3: no\n",
			"dropped: benchmark that failed or was skipped (line 1)\n",
		},
		{
			"text before the name",
			"2026-01-02T03:04:05Z BenchmarkA-8  100  12 ns/op\ndone.BenchmarkB-8 \t 1\t 1 ns/op\n",
			"1 A*8 100 12 ns/op\n2 B*8 1 1 ns/op\nmended: text before the name of a benchmark (lines 1, 2)\n",
		},
		{
			"prose",
			"Benchmarks are hard\nBenchmark results of today\nwe ran BenchmarkA twice\nBenchmarkA 1 1 ns/op\n",
			"4 A*0 1 1 ns/op\nodd: text that begins with Benchmark (lines 1, 2)\n",
		},
		{
			"numbers that are none",
			"BenchmarkA 1 NaN ns/op 2 B/op\nBenchmarkA 1 +Inf ns/op\nBenchmarkA 1 -5 ns/op -3 x/op\nBenchmarkA -1 5 ns/op\nBenchmarkA 0 5 ns/op\nBenchmarkA 1 1e400 ns/op\n",
			"1 A*0 1 2 B/op\n3 A*0 1 -3 x/op\n5 A*0 0 5 ns/op\n" +
				"dropped: measurement that is not a number: NaN or infinite (lines 1, 2)\n" +
				"dropped: negative ns/op (line 3)\n" +
				"dropped: negative number of iterations (line 4)\n" +
				"dropped: malformed line: parsing measurement: value out of range (line 6)\n" +
				"odd: benchmark that ran 0 times (line 5)\n",
		},
		{
			"a table of benchcmp", "BenchmarkA 1718 1423 -17.17%\nBenchmarkA 5.5 6 +9.09%\nBenchmarkB 10 5 %\n",
			"3 B*0 10 5 %\nodd: row of a table that benchcmp printed (lines 1, 2)\n",
		},
		{
			"a unit twice", "BenchmarkA 1 5 ns/op 6 ns/op\n",
			"1 A*0 1 5 ns/op\ndropped: second measurement in the same unit on one line (line 1)\n",
		},
		{
			"a number without a unit", "BenchmarkA 1 5 ns/op 6\nBenchmarkA 1 5\nBenchmarkA 1\n",
			"1 A*0 1 5 ns/op\n" +
				"dropped: measurement without a unit (line 1)\n" +
				"dropped: malformed line: missing units (line 2)\n" +
				"dropped: malformed line: missing measurements (line 3)\n",
		},
		{
			"a file that ends in a unit", "BenchmarkA 1 5 ns/op 6 allocs/op\nBenchmarkA 1 5 ns/op 6 all",
			"1 A*0 1 5 ns/op 6 allocs/op\n2 A*0 1 5 ns/op\ndropped: measurement in whose unit the file ends (line 2)\n",
		},
		{
			"a file that ends in a whole line", "BenchmarkA 1 5 x/op\nBenchmarkA 1 5 x/op", "1 A*0 1 5 x/op\n2 A*0 1 5 x/op\n",
		},
		{
			"numbers that belong to names",
			"BenchmarkSort/n-10 1 1 ns/op\nBenchmarkSort/n-100 1 1 ns/op\nBenchmarkOther 1 1 ns/op\n",
			"1 Sort/n-10*0 1 1 ns/op\n2 Sort/n-100*0 1 1 ns/op\n3 Other*0 1 1 ns/op\n",
		},
		{
			"several values of GOMAXPROCS",
			"BenchmarkA 1 1 ns/op\nBenchmarkA-4 1 1 ns/op\nBenchmarkB 1 1 ns/op\nBenchmarkB-4 1 1 ns/op\n",
			"1 A*0 1 1 ns/op\n2 A*4 1 1 ns/op\n3 B*0 1 1 ns/op\n4 B*4 1 1 ns/op\n",
		},
		{
			"go test -json",
			`{"Action":"start","Package":"a"}
{"Action":"output","Package":"a","Output":"pkg: a\n"}
{"Action":"output","Package":"b","Output":"pkg: b\n"}
{"Action":"output","Package":"a","Test":"BenchmarkA","Output":"BenchmarkA-8 \t"}
some text
{"Action":"output","Package":"b","Output":"BenchmarkB-8 \t 1\t 2 ns/op\nPASS\n"}
{"Action":"output","Package":"a","Test":"BenchmarkA","Output":" 100\t 7 ns/op\n"}
{"Action":"output","Package":"a","Output":"FAIL\ta\t0.1s\n"}
{"Action":"fail","Package":"a"}
{"Action":"output","Package":"b","Output":"Bench
`,
			"4 A*8 100 7 ns/op pkg=a\n6 B*8 1 2 ns/op pkg=b\n" +
				"dropped: package that failed, with what it did not come to measure (line 8)\n" +
				"dropped: torn line of go test -json (line 10)\n",
		},
		{
			"a very long line", "BenchmarkA 1 1 " + strings.Repeat("x", maxLine) + "\nBenchmarkA 1 1 ns/op\n",
			"2 A*0 1 1 ns/op\ndropped: line longer than 60kB (line 1)\n",
		},
		{
			"text that is not UTF-8", "hello\nBenchmark\xff 1 1 ns/op\n",
			"2 \xff*0 1 1 ns/op\nodd: text that is not UTF-8 (line 2)\n",
		},
		{
			"what is known about units",
			"Unit x better=higher\nUnit x better=lower\nBenchmarkA 1 1 x\n",
			"3 A*0 1 1 x\ndropped: unit that was described otherwise before (line 2)\n",
		},
		{"nothing", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := short(read(t, tt.in)); got != tt.want {
				t.Errorf("Read(%q) gives\n%swant\n%s", tt.in, got, tt.want)
			}
		})
	}
}

// TestReadWide holds that UTF-16 is read, as Windows shells write it.
func TestReadWide(t *testing.T) {
	const text = "goos: windows\r\nBenchmarkÄ-8 \t 1\t 2 ns/op\r\n"
	const want = "2 Ä*8 1 2 ns/op goos=windows\nmended: text in UTF-16, as some shells write it with > (line 1)\n"
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		for _, mark := range []string{"\ufeff", ""} {
			var in []byte
			for _, u := range utf16.Encode([]rune(mark + text)) {
				in = order.AppendUint16(in, u)
			}
			if got := short(read(t, string(in))); got != want {
				t.Errorf("%v, mark %q: got\n%swant\n%s", order, mark, got, want)
			}
		}
	}
}

// TestLimits holds that files that nobody writes take no more time or memory than others.
func TestLimits(t *testing.T) {
	var keys strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&keys, "key%d: value\nBenchmarkA 1 1 x\n", i)
	}
	tests := []struct{ name, in, want string }{
		{"configuration", keys.String(), "configuration beyond 64 keys"},
		{"measurements", "BenchmarkA 1" + strings.Repeat(" 1 a 1 b", 3000) + "\n", "second measurement in the same unit"},
		{"units", "BenchmarkA 1" + manyUnits(2000) + "\n", "measurements beyond 64 on one line"},
		{"names", strings.Repeat("Benchmark ", 5000) + "\n" + strings.Repeat("x"+strings.Repeat("Benchmark ", 5000)+"\n", 50), "text that begins with Benchmark"},
	}
	for _, tt := range tests {
		f := read(t, tt.in)
		if !strings.Contains(short(&File{Notes: f.Notes}), tt.want) {
			t.Errorf("%s: %v", tt.name, f.Notes)
		}
		for i := range f.Results {
			if r := &f.Results[i]; len(r.Values) > maxValues || len(r.Config) > maxFacts {
				t.Fatalf("%s: a result has %d values and %d facts", tt.name, len(r.Values), len(r.Config))
			}
		}
	}
}

func manyUnits(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, " 1 u%d", i)
	}
	return b.String()
}

func TestReadFails(t *testing.T) {
	broken := errors.New("broken")
	f, err := Read(iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader("Benchmark"))), "x")
	if !errors.Is(err, iotest.ErrTimeout) || f == nil {
		t.Errorf("Read gives %v, %v", f, err)
	}
	if _, err := Read(iotest.ErrReader(broken), "x.txt"); !errors.Is(err, broken) || !strings.Contains(err.Error(), "x.txt") {
		t.Errorf("Read gives %v", err)
	}
}

func TestNoteNamesLines(t *testing.T) {
	f := read(t, strings.Repeat("BenchmarkA 1 1\n", 12))
	if got, want := f.Notes[0].In("a.txt"), "dropped: malformed line: missing units (a.txt:1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 2 more)"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if lost(f) != 12 {
		t.Errorf("lost %d, want 12", lost(f))
	}
}

func TestSamples(t *testing.T) {
	f := read(t, "pkg: a\nBenchmarkA-2 1 5 ns/op 3 MB/s\nBenchmarkB-2 1 1 ns/op\nBenchmarkA-2 1 6 ns/op\npkg: b\nBenchmarkA-2 1 7 ns/op\n")
	tests := []struct {
		keys []string
		want string
	}{
		{nil, "[] A*2 sec/op [5e-09 6e-09 7e-09], [] A*2 B/s [3e+06], [] B*2 sec/op [1e-09]"},
		{
			[]string{"pkg", "no"},
			"[{pkg a}] A*2 sec/op [5e-09 6e-09], [{pkg a}] A*2 B/s [3e+06], [{pkg a}] B*2 sec/op [1e-09], [{pkg b}] A*2 sec/op [7e-09]",
		},
	}
	for _, tt := range tests {
		var got []string
		for _, s := range Samples(f.Results, tt.keys...) {
			got = append(got, fmt.Sprintf("%v %s*%d %s %.4g", s.Config, s.Name, s.Procs, s.Unit, s.Values))
		}
		if got := strings.Join(got, ", "); got != tt.want {
			t.Errorf("Samples by %v are\n%s\nwant\n%s", tt.keys, got, tt.want)
		}
	}
}

// TestWrite holds that what was written is read as it was.
func TestWrite(t *testing.T) {
	const in = "Unit x better=higher\nUnit x assume=exact\ngoos: linux\nBenchmarkA-8 1 5 ns/op 0 B/op 3 x\ngoos: plan9\nBenchmarkB/k=v 1 2.5 MB/s\ngoos:\nBenchmarkB/k=v 1000000 1e-300 ns/op\n"
	f := read(t, in)
	var out bytes.Buffer
	if err := Write(&out, f); err != nil {
		t.Fatal(err)
	}
	again := read(t, out.String())
	if a, b := unplaced(f), unplaced(again); !reflect.DeepEqual(a, b) {
		t.Errorf("%v\nwas written as\n%s\nand read as %v", a, out.String(), b)
	}
	if len(again.Units) != 2 || again.Units.GetBetter("x") != 1 {
		t.Errorf("units: %v", again.Units)
	}
}

// unplaced returns results without the places where they were read.
func unplaced(f *File) []Result {
	out := slices.Clone(f.Results)
	for i := range out {
		out[i].Line = 0
	}
	return out
}

// FuzzRead holds that what gives no notes is read as benchfmt does, that what was written is read again, and that
// text means the same in go test -json.
func FuzzRead(f *testing.F) {
	for _, s := range []string{
		"goos: linux\nBenchmarkA-8   \t     100\t     12.5 ns/op\t  7 B/op\n",
		"BenchmarkA-8  \t2020/10/01 connected\n     100\t   12 ns/op\nBenchmarkB\nBenchmarkB \t 1\t 1 ns/op\n",
		"{\"Action\":\"output\",\"Package\":\"a\",\"Output\":\"BenchmarkA-8 \\t 1 1 x\\n\"}\n",
		"\xff\xfeB\x00", "Unit x better=higher\nBenchmarkA 1 1 x", "BenchmarkA 1 1 ns/op 5\na: b\nPASS\n",
		"text BenchmarkA 1 1 ns/op\r\nBenchmark x\nFAIL\tp\n", "BenchmarkA-1 1 1 ns/op\nBenchmarkA-2 1 -0 x\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		got := read(t, in)
		for i := range got.Results {
			r := &got.Results[i]
			if len(r.Values) == 0 || r.Line <= 0 || r.Iters < 0 {
				t.Errorf("result %+v", r)
			}
			for _, v := range r.Values {
				if math.IsNaN(v.Value) || math.IsInf(v.Value, 0) || v.Unit == "" {
					t.Errorf("value %+v", v)
				}
			}
		}
		if len(got.Notes) == 0 && !strings.Contains(in, "\x1b") && !strings.Contains(in, `"Action"`) {
			if a, b := withBenchfmt(in), fullNames(got); a != b {
				t.Errorf("benchfmt reads\n%s\nRead\n%s", a, b)
			}
		}

		var out bytes.Buffer
		if err := Write(&out, got); err != nil {
			t.Fatal(err)
		}
		again := read(t, out.String())
		if a, b := unplaced(got), unplaced(again); len(got.Notes) == 0 && fullNames(&File{Results: a}) != fullNames(&File{Results: b}) {
			t.Errorf("%v\nwas written as\n%s\nand read as %v, %v", a, out.String(), b, again.Notes)
		}

		if strings.Contains(in, `"Action"`) || lost(got) > 0 || wide([]byte(in)) != nil || strings.HasPrefix(in, "\xff\xfe") || strings.HasPrefix(in, "\xfe\xff") {
			return
		}
		var events bytes.Buffer
		for rest := strings.TrimPrefix(in, "\ufeff"); rest != ""; {
			n := min(len(rest), 7)
			b, err := json.Marshal(event{Action: "output", Package: "p", Output: rest[:n]})
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&events, "%s\n", b)
			rest = rest[n:]
		}
		if a, b := fullNames(got), fullNames(read(t, events.String())); a != b && isASCII(in) {
			t.Errorf("as text\n%s\nas events\n%s", a, b)
		}
	})
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r > 127 }) < 0
}

// withBenchfmt reads in as benchfmt does, and writes what it read.
func withBenchfmt(in string) string {
	var b strings.Builder
	for r := benchfmt.NewReader(strings.NewReader(in), "x"); r.Scan(); {
		if rec, ok := r.Result().(*benchfmt.Result); ok {
			writeRecord(&b, rec)
		}
	}
	return b.String()
}

func fullNames(f *File) string {
	var b strings.Builder
	for i := range f.Results {
		writeRecord(&b, f.Results[i].Record())
	}
	return b.String()
}

func writeRecord(b *strings.Builder, r *benchfmt.Result) {
	fmt.Fprintf(b, "%q %d", r.Name, r.Iters)
	for _, v := range r.Values {
		if v.OrigUnit != "" {
			fmt.Fprintf(b, " %v %s", v.OrigValue, v.OrigUnit)
		} else {
			fmt.Fprintf(b, " %v %s", v.Value, v.Unit)
		}
	}
	keys := slices.Clone(r.Config)
	slices.SortFunc(keys, func(a, b benchfmt.Config) int { return strings.Compare(a.Key, b.Key) })
	for _, c := range keys {
		fmt.Fprintf(b, " %s=%q", c.Key, c.Value)
	}
	b.WriteByte('\n')
}

// lost returns how much of a file was left out.
func lost(f *File) int {
	n := 0
	for _, note := range f.Notes {
		if note.Grade == Dropped {
			n += note.Count
		}
	}
	return n
}
