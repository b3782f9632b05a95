package profile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	library "github.com/google/pprof/profile"

	"github.com/hone-perf/hone/internal/testrun"
)

// legacyByLibrary does what parseLegacy does with the pprof library.
func legacyByLibrary(data []byte) (*Profile, error) {
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		return nil, errUnrecognized
	}
	lp, err := library.ParseData(data)
	if err != nil {
		doing, what, ok := strings.Cut(err.Error(), ": ")
		switch {
		case !ok:
			return nil, &FormatError{Doing: "parsing profile", Err: err}
		case what == errUnrecognized.Error():
			return nil, errUnrecognized
		}
		return nil, &FormatError{Doing: doing, Err: errors.New(what)}
	}
	return fromLibrary(lp)
}

// fromLibrary converts a profile of the pprof library.
func fromLibrary(lp *library.Profile) (*Profile, error) {
	h := Header{
		DefaultType:   lp.DefaultSampleType,
		DropFrames:    lp.DropFrames,
		KeepFrames:    lp.KeepFrames,
		TimeNanos:     lp.TimeNanos,
		DurationNanos: lp.DurationNanos,
		Period:        lp.Period,
		Comments:      lp.Comments,
		DocURL:        lp.DocURL,
	}
	for _, t := range lp.SampleType {
		h.SampleTypes = append(h.SampleTypes, ValueType{t.Type, t.Unit})
	}
	if lp.PeriodType != nil {
		h.PeriodType = ValueType{lp.PeriodType.Type, lp.PeriodType.Unit}
	}
	b := NewBuilder(h)
	mappings := make(map[*library.Mapping]int32)
	for i, m := range lp.Mapping {
		mappings[m] = int32(i)
		b.Mappings = append(b.Mappings, Mapping{
			ID: m.ID, Start: m.Start, Limit: m.Limit, Offset: m.Offset, File: m.File, BuildID: m.BuildID,
			HasFunctions: m.HasFunctions, HasFilenames: m.HasFilenames,
			HasLineNumbers: m.HasLineNumbers, HasInlineFrames: m.HasInlineFrames,
		})
	}
	functions := make(map[*library.Function]uint32)
	for i, f := range lp.Function {
		functions[f] = uint32(i)
		b.Functions = append(b.Functions, Function{f.ID, f.Name, f.SystemName, f.Filename, f.StartLine})
	}
	locations := make(map[*library.Location]uint32)
	for i, l := range lp.Location {
		locations[l] = uint32(i)
		loc := Location{ID: l.ID, Mapping: NoMapping, Folded: l.IsFolded, Address: l.Address}
		if l.Mapping != nil {
			loc.Mapping = mappings[l.Mapping]
		}
		for _, ln := range l.Line {
			loc.Lines = append(loc.Lines, Line{functions[ln.Function], ln.Line, ln.Column})
		}
		b.Locations = append(b.Locations, loc)
	}
	for _, s := range lp.Sample {
		var stack []uint32
		for _, l := range s.Location {
			stack = append(stack, locations[l])
		}
		var labels []Label
		if len(s.Label) > 0 || len(s.NumUnit) > 0 {
			return nil, errors.New("the old forms have no labels but numbers without units")
		}
		for k, vs := range s.NumLabel {
			for _, v := range vs {
				labels = append(labels, Label{Key: k, Numeric: true, Num: v})
			}
		}
		b.Add(stack, b.Labels(labels), s.Value)
	}
	return b.Profile()
}

// checkLegacy checks that parseLegacy makes of data what the pprof library makes of it.
func checkLegacy(t *testing.T, data []byte) {
	t.Helper()
	if _, err := library.ParseUncompressed(data); err == nil || strings.HasPrefix(err.Error(), "concatenated") || len(data) == 0 {
		return // profile.proto, which comes first
	}
	p, err := parseLegacy(data)
	var limit limitError
	if errors.As(err, &limit) {
		return // the library would take all the memory or time it can get
	}
	lp, lerr := legacyByLibrary(data)
	if fmt.Sprint(err) != fmt.Sprint(lerr) || (err == errUnrecognized) != (lerr == errUnrecognized) {
		t.Fatalf("parseLegacy of %.2000q: error is\n%.3000v, that of the pprof library\n%.3000v", data, err, lerr)
	}
	if err != nil {
		if p != nil {
			t.Fatalf("parseLegacy of %.2000q returns a profile with its error", data)
		}
		return
	}
	if got, want := dumpLegacy(t, p), dumpLegacy(t, lp); got != want {
		t.Fatalf("parseLegacy of %.2000q is\n%.3000s\nthe pprof library makes it\n%.3000s", data, got, want)
	}
}

// dumpLegacy tells all that a profile of an old form can have in it.
func dumpLegacy(t *testing.T, p *Profile) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "%+q\n", p.Header.SampleTypes)
	h := p.Header
	h.SampleTypes = nil
	fmt.Fprintf(&b, "%+v\n%+v\n%v\n", h, p.Tables, p.Notes)
	for i := range p.NumSamples() {
		fmt.Fprint(&b, p.Stack(i, nil), " ", p.LabelSets()[p.Label(i)])
		for k := range p.SampleTypes {
			fmt.Fprint(&b, " ", p.Values(k)[i])
		}
		b.WriteString("\n")
	}
	// What is kept beside the columns shows when it is written.
	var out bytes.Buffer
	if err := p.WriteUncompressed(&out); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s%x", &b, out.Bytes())
}

const legacyMaps = "--- Memory map: ---\n" + legacyMapLines

const legacyMapLines = `build=/home/me
src=$build/src
00400000-00408000: r-xp 00000000 08:01 1234 $src/server
  7f0000000000-7f0000020000 r-xp 00000000 08:01 99 /lib/libc.so.6
7f0000020000-7f0000030000 r-xp 00020000 08:01 99 /lib/libc.so.6
7f0000030000-7f0000040000 rw-p 00000000 00:00 0
W0815 main.cc:12] 0x500000-0x600000 /bin/tool (@ff00) abc123
ffffffffff600000-ffffffffff601000 r-xp 00000000 00:00 0 [vsyscall]
`

// legacyTexts are texts of every old form, by what is in them.
var legacyTexts = []string{
	"heap profile: 3: 4096 [5: 6144] @ heap/1048576\n3: 4096 [5: 6144] @ 0x43b2ab 0x40a7c9\n# comment\n\n0: 0 [2: 2048] @ 0x43b2ab 0x1\n# runtime.MemStats\n# Alloc = 1\n",
	"heap profile: 3: 4096 [3: 4096] @ heap_v2/524288\n1: 16 [1: 16] @ 0x401000 0x402000\n2: 4080 [2: 4080] @ 0x401000\nMAPPED_LIBRARIES:\n" + legacyMaps,
	"heap profile: 3: 4096 [0: 0] @ heapz_v2/1\n3: 4096 [0: 0] @ 0x401000 0x0\n" + legacyMaps,
	"heap profile:  3: 4096 [ 5:  6144] @ heapprofile\n-1: -16 [1: 16] @ 0x401000 0x500010 0x700000\n  1: 16 [1: 16] @\n\nMAPPED_LIBRARIES:\n00400000-00500000 r-xp 00000000 08:01 1 /bin/a=b\n",
	"heap profile: 3: 4096 [3: 4096] @ growthz\n3: 4096 [3: 4096] @ 0x401000\n",
	"heap profile: 3: 4096 [3: 4096] @ fragmentationz\n3: 4096 [3: 4096] @ 0x401000\n" + legacyMaps,
	"heap profile: 1: 1 [1: 1] @ heapx/1\n",
	"heap profile: 1: 1 [1: 1] @ heap/99999999999999999999\n",
	"heap profile: 1: 1 [1: 1] @ heap//2\n1: 1 [1: 1] @ 0x1\n",
	"heap profile: 1: 1 [1: 1] @ heap/2\n0: 1 [1: 1] @ 0x1\n",
	"heap profile: 1: 1 [2: 1] @ heap/2\n1: 1 [0: 1] @ 0x1\n",
	"heap profile: 1: 1 [1: 1] @ heap/2\n1: 1 [1: 1] @ 0x11112222333344445\n",
	"heap profile: 1: 1 [1: 1] @ heap/2\n99999999999999999999: 1 [1: 1] @ 0x1\n",
	"heap profile: 1: 1 [1: 1] @ heap/2\n1: 1 [1: 1] 0x1\n",
	"goroutine profile: total 3\n2 @ 0x43b2ab 0x40a7c9\n# labels: {\"a\":\"b\"}\n#\t0x43b2aa\tmain.f+0x1\t/x.go:1\n\n1 @ 0x43b2ab 0x0 0x1\n--- other\n" + legacyMaps,
	"# comment\n\nthreadcreate profile: total 0\n",
	"threadcreate profile: total 1\n010 @ 0x1\n",
	"threadcreate profile: total 1\n08 @ 0x1\n",
	"threadcreate profile: total 1\n1 @\n",
	"threadcreate profile: total 1\n1 @ 0x11112222333344445\n",
	"--- threadz 1 ---\n\n--- Thread 7ff6e1bd3700 (name: main/14748) stack: ---\n  PC:  0x43b2ab 0x40a7c9\n       0x43b2ac\n--- Thread 7ff6e1bd3701 (name: worker/14749) stack: ---\n  [same as previous thread]\n--- Thread 7ff6e1bd3702 (name: worker/2) stack: ---\n 0x401001 0x401002 0x401001 0x3\n" + legacyMaps,
	"\n--- Thread 1f (name: a/b/1) stack: ---\n 0x1 0x2\n---- no stack trace for 3 threads\n" + legacyMaps,
	"--- threadz 1 ---\n--- Thread 1 (name: a/1) stack: ---\n 0x11112222333344445\n---- no stack trace for\n",
	"--- Thread 1 (name: a/1) stack: ---\n 0x1 0x2\n",
	"--- Thread 1 (name: a/1) stack: ---\n 0x1 0x2 MAPPED_LIBRARIES:",
	"--- contentionz 1 ---\ncycles/second = 3201000000\nsampling period = 100\nms since reset = 16502830\ndiscarded samples = 0\n  19490304       27 @ 0x4006a8 0x7f0000000005\n 768 1 @ 0x401234\n" + legacyMaps,
	"--- mutex:\ncycles/second=3000000000\nsampling period=1\n9000 2 @ 0x43b2ab 0x40a7c9\n#\t0x43b2aa\tmain.f\n123 @ 0x1\n",
	"--- contention:\ncycles/second=3000000000\n9000 2 @ 0x43b2ab\nno sample\n",
	"--- contention:\nsampling period=x\n9000 2 @ 0x43b2ab\n",
	"--- mutex:\n1 99999999999999999999 @ 0x1\n",
	"--- contentionz 1 ---\nformat = java\nresolution = microseconds\nsampling period = 100\nms since reset = 6019923\n            1     1 @ 0x00000003 0x00000004\n           14    2 @ 0x00000001 0x00000004\n\n   0x00000003 com.example.Main.run (Main.java:12)\n   0x00000004 com.example.Main.main (com.example (Main.java:-3)\n   0x00000001 malloc (/lib/libc.so)\n 0x00000001 again (x)",
	"--- heapz 1 ---\nformat = java\nresolution = bytes\n         7048     2 @ 0x00000003 0x00000006 0x00000008\n         4752     3 @ 0x00000006 0x00000009\n   0x00000003 0x3 generated stub/JIT\n   0x00000006 GC\n  0x8 (x)\n",
	"--- heapz 1 ---\nresolution = bytes\n7 0 @ 0x3\n",
	"--- heapz 1 ---\nformat = c\n",
	"--- heapz 1 ---\n7 1 @ 0x3\n",
	"--- contentionz 1 ---\nformat = java\n",
	"--- contentionz 1 ---\nformat = java\nms since reset = 1 0\n",
	"--- heapz 1 ---\nresolution = bytes\n7 1 @ 0x3\n0x11112222333344445 x\n",
}

// legacyLines are lines that are nearly something.
var legacyLines = []string{
	"# comment", "", "---", "--- Memory map: ---", "MAPPED_LIBRARIES:", "a=b", "build=/x", "$build=$build", "$=x",
	"400000 500000 x", "0x40x5 08:01 999 /foo", "1234 08:01 999 /foo", "400000-0xzz", "12345", "1", "40x1: x (@1) f",
	"0x400000-0x500000: r-xp /bin/a (@ff00) abc", "400000-500000 (@ff) ab", "400000-500000 rw-p 0 08:01 1", "5-4 r-xp 0:0 0 /b",
	"401000-500000 r-xp 1000 08:01 1 /bin/b", "500000-501000 r-xp 100000 08:01 1 /bin/b", "400000-500000 x /anon_hugepage (deleted)",
	"11112222333344445-2 x", "11112222333344445-2 rw", "a.cc:1] 400000-500000 $build/b", "x.cc:1]400000-500000 f", "f.so.x.so_1", "1-2 [heap]",
	"500000-600000 $a/lib.so", "0x0x12 1 @ 0x0x1", "1 2 @ ", "5-12: 3 [1: 2] @ 0x1", "--12: -3 [1:2]  @0x1", "12 @ 0x5", "1 2 3 @ 0x5 @ 7 8 @ 0x1",
	"7 8  @  0x1", "0x3 f  (a:1) (b:-2)", "0x3\tf (:1)", "0x3 f (x)", "0x3 (a (b:9)", "0xG", "\xff\xfe", "\u0085\u00a0x", "a\vb",
	"--- Thread 1 (name: /1) stack: ---", "--- threadz 1 ---", "---- no stack trace for", "same as previous thread",
	"format = java", "resolution=count", "sampling period = 0x10", "ms since reset = 9223372036854775807", "cycles/second = 1",
}

// legacySeeds are inputs of every old form: our own, those of the tests of whole commands, and those beside the
// repository.
func legacySeeds(t testing.TB) (seeds [][]byte) {
	for _, text := range legacyTexts {
		seeds = append(seeds, []byte(text))
	}
	for _, size := range []int{4, 8} {
		for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
			for java := range uint64(2) {
				w := func(b []byte, vs ...uint64) []byte {
					for _, v := range vs {
						if size == 4 {
							b = order.AppendUint32(b, uint32(v))
						} else {
							b = order.AppendUint64(b, v)
						}
					}
					return b
				}
				b := w(nil, 0, 3, java, 10000, 0)
				for i := range uint64(70) {
					handler := uint64(0x401777)
					if i == 33 {
						handler = 0x401999
					}
					b = w(b, 1+i%5, 5, 0x400100+i%9*16, handler, 0x401778, 0x400200+i%4*16, 0x400300)
				}
				b = w(b, 3, 4, 0x400500, 0x401777, 0x400500, 0x400300)
				b = w(b, 1, 0, 2, 1, 0, 1, 2, 7, 7)
				seeds = append(seeds, w(b, 1, 3, 1), w(b, 1, 2)) // cut
				b = w(b, 0, 1, 0)
				seeds = append(seeds, append(bytes.Clone(b), legacyMapLines...), append(b, "0x400300 a (b:1)\n0x401777 c (/d/e)\n0x400100 GC"...))
			}
		}
	}
	files, _ := filepath.Glob("../../testdata/oracle/legacy/*")
	for _, f := range slices.Concat(files, corpus(t, ""), corpus(t, "malformed")) {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := library.ParseUncompressed(data); err != nil && !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
			seeds = append(seeds, data)
		}
	}
	return seeds
}

// mutate changes data in a few places.
func mutate(rnd *rand.Rand, data []byte, seeds [][]byte) []byte {
	data = bytes.Clone(data)
	for range 1 + rnd.IntN(4) {
		at := rnd.IntN(len(data) + 1)
		line := at + max(0, bytes.IndexByte(data[at:], '\n')+1)
		switch rnd.IntN(8) {
		case 0: // cut
			data = data[:at]
		case 1: // leave out
			data = slices.Delete(data, at, min(len(data), at+1+rnd.IntN(8)))
		case 2: // put in
			const often = "0123456789abcfx @:[]-=/$#.()\t\r\n\v\x00\xff"
			data = slices.Insert(data, at, often[rnd.IntN(len(often))])
		case 3, 4: // a line that means something
			text := legacyLines[rnd.IntN(len(legacyLines))]
			data = slices.Insert(data, line, []byte(text+"\n")...)
		case 5: // some of another
			other := seeds[rnd.IntN(len(seeds))]
			from := rnd.IntN(len(other) + 1)
			data = slices.Insert(data, line, other[from:min(len(other), from+rnd.IntN(200))]...)
		case 6: // a byte
			if at < len(data) {
				data[at] = byte(rnd.IntN(256))
			}
		case 7: // the same again
			end := min(len(data), line+1+max(0, bytes.IndexByte(data[line:], '\n')))
			data = slices.Insert(data, line, bytes.Clone(data[line:end])...)
		}
	}
	return data
}

func TestLegacy(t *testing.T) {
	seeds := legacySeeds(t)
	for _, data := range seeds {
		checkLegacy(t, data)
	}
	for _, line := range legacyLines {
		for _, before := range []string{"", "--- mutex:\n", "threadcreate profile: total 0\n--- Memory map: ---\n", "--- heapz 1 ---\nresolution = bytes\n7 1 @ 0x3\n"} {
			checkLegacy(t, []byte(before+line+"\n0x400100-0x400200 $build/x\n"))
		}
	}
	rounds := 5
	if testrun.InNightly() {
		rounds = 40
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, data := range seeds {
		if len(data) > 100_000 {
			continue
		}
		for range rounds {
			checkLegacy(t, mutate(rnd, data, seeds))
		}
	}
}

// Lines of a text may be 64 KB long at most.
func TestLegacyLongLines(t *testing.T) {
	for _, before := range []string{"", "\n", "heap profile: 1: 1 [1: 1] @ heap/2\n", "threadcreate profile: total 1\n",
		"threadcreate profile: total 1\n--- Memory map: ---\n", "--- mutex:\n", "--- mutex:\na=b\n", "--- threadz 1 ---\n",
		"--- threadz 1 --- --- Thread 1 (name: a/1) stack: ---\n", "--- Thread 1 (name: a/1) stack: ---\n", "--- heapz 1 ---\n"} {
		for _, n := range []int{65534, 65535, 65536, 70000} {
			for _, fill := range []string{" ", "#", "0x1 "} {
				for _, after := range []string{"", "\n", "\n---\n"} {
					checkLegacy(t, []byte(before+strings.Repeat(fill, n)[:n]+after))
				}
			}
		}
	}
}

// Small input must not be made to take long or much memory.
func TestLegacyLimits(t *testing.T) {
	testrun.Live(t, "reads texts that are made to take long")
	doubling := "x=" + strings.Repeat("0", 100) + "\n"
	last := "x"
	for i := range 40 {
		name := fmt.Sprintf("y%c%d", 'a'+i%26, i)
		doubling += fmt.Sprintf("%s=$%s$%s\n", name, last, last)
		last = name
	}
	var many strings.Builder
	for i := range 1100 {
		fmt.Fprintf(&many, "k%d=$k\n", i)
	}
	var apart, addrs strings.Builder
	for i := range 70_000 {
		fmt.Fprintf(&apart, "%x-%x\n", 4*i+1, 4*i+2)
	}
	for i := range 60_000 {
		fmt.Fprintf(&addrs, "1 @ 0x%x\n", uint64(1<<40)+uint64(i))
	}
	tests := []struct{ name, maps, addrs, want string }{
		{"attributes that double", doubling, "", "profile has more than 256kB of attributes of mappings"},
		{"many attributes", many.String(), "", "profile has more than 1024 attributes of mappings"},
		{"long lines", "x=" + strings.Repeat("v", 30000) + "\n" + strings.Repeat("$x", 30000) + "\n", "", "profile has more than 64MB of mappings with attributes"},
		{"many mappings", apart.String(), "", "profile has more than 65536 mappings"},
		{"many of both", apart.String()[:600_000], addrs.String(), "profile has more than 2147483648 pairs of an address and a mapping"},
	}
	for _, test := range tests {
		_, err := parseLegacy([]byte("threadcreate profile: total 0\n" + test.addrs + "--- Memory map: ---\n" + test.maps))
		if fmt.Sprint(err) != test.want {
			t.Errorf("%s: error is %.300v, want %s", test.name, err, test.want)
		}
	}
	deep := make([]byte, 0, 8<<20)
	for _, v := range []uint32{0, 3, 0, 1, 0, 1, maxDepth + 1} {
		deep = binary.LittleEndian.AppendUint32(deep, v)
	}
	if _, err := parseLegacy(deep[:cap(deep)]); fmt.Sprint(err) != "profile has more than 1048576 frames in one stack" {
		t.Errorf("a deep stack: error is %v", err)
	}
}

func FuzzLegacy(f *testing.F) {
	for _, data := range legacySeeds(f) {
		if len(data) < 5_000 {
			f.Add(data)
		}
	}
	for _, line := range legacyLines {
		f.Add([]byte("threadcreate profile: total 0\n--- Memory map: ---\n" + line + "\n"))
	}
	f.Fuzz(checkLegacy)
}

func BenchmarkLegacy(b *testing.B) {
	seeds := legacySeeds(b)
	data := slices.MaxFunc(seeds, func(x, y []byte) int { return len(x) - len(y) })
	text := []byte("heap profile: 1: 1 [2: 2] @ heap/1048576\n")
	for i := range 5000 {
		text = fmt.Appendf(text, "%d: %d [%d: %d] @", i%7, i%7*64, i%9, i%9*64)
		for k := range 20 {
			text = fmt.Appendf(text, " 0x%x", 0x400000+i*k%5000*16)
		}
		text = append(text, '\n')
	}
	for _, in := range []struct {
		name string
		data []byte
	}{{"cpu", data}, {"heap", text}} {
		for _, reader := range []struct {
			name  string
			parse func([]byte) (*Profile, error)
		}{{"hone", parseLegacy}, {"library", legacyByLibrary}} {
			b.Run(in.name+"/"+reader.name, func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(len(in.data)))
				for b.Loop() {
					if _, err := reader.parse(in.data); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
