package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"unicode/utf16"
)

// A benchFile is a generated file of benchmark lines.
type benchFile struct{ name, text string }

// generateBench makes two or three files about more or less the same benchmarks, with all that the format has, and
// mistakes.
func generateBench(seed uint64) []benchFile {
	return (&benchMaker{rand: rand.New(rand.NewPCG(seed, 1)), mistakes: true}).files()
}

// generateCleanBench is the same without mistakes.
func generateCleanBench(seed uint64) []benchFile {
	return (&benchMaker{rand: rand.New(rand.NewPCG(seed, 2))}).files()
}

type benchMaker struct {
	rand     *rand.Rand
	mistakes bool
}

func (m *benchMaker) chance(p float64) bool { return m.rand.Float64() < p }

func pick[T any](m *benchMaker, list ...T) T { return list[m.rand.IntN(len(list))] }

// A madeBench is a benchmark of a file, with a typical value for each of its units.
type madeBench struct {
	name  string
	units []string
	value []float64
}

func (m *benchMaker) files() []benchFile {
	var list []madeBench
	for range 1 + m.rand.IntN(7) {
		b := madeBench{name: m.name()}
		for _, unit := range []string{"ns/op", "MB/s", "B/op", "allocs/op", pick(m, "widgets", "p99-ns/op", "µs/op", "MB", "ns/GC", "x/s", "%")} {
			if unit == "ns/op" || m.chance(0.35) {
				b.units = append(b.units, unit)
				b.value = append(b.value, m.value())
			}
		}
		list = append(list, b)
	}
	names := []string{"old.txt", "new.txt", "third.txt"}
	if m.chance(0.7) {
		names = names[:2]
	}
	runs := pick(m, 1, 1, 2, 3, 5, 6, 8, 10, 10, 20, 55)
	var out []benchFile
	for _, name := range names {
		out = append(out, benchFile{name, m.text(list, runs)})
	}
	return out
}

func (m *benchMaker) name() string {
	name := pick(m, "A", "Encode", "Älter", "日本", "Parallel_x", "Z9")
	for range m.rand.IntN(3) {
		name += pick(m, "/k=1", "/k=two", "/size=64", "/size=1024", "/size=4KiB", "/sub", "/ünï=ø", "/a-b", "/x=1=2", "/")
	}
	return name + pick(m, "", "-8", "-8", "-16", "-100")
}

func (m *benchMaker) value() float64 {
	switch {
	case m.chance(0.1):
		return 0
	case m.chance(0.3):
		return float64(m.rand.IntN(2000))
	}
	return math.Pow(10, m.rand.Float64()*14-4)
}

func (m *benchMaker) text(list []madeBench, runs int) string {
	var b strings.Builder
	facts := func() {
		for _, f := range []string{"goos: linux", "goarch: amd64", "pkg: example.com/a", "pkg: example.com/b", "note: before", "note: after the change", "note:", "cpu: Some CPU @ 2.00GHz"} {
			if m.chance(0.3) {
				b.WriteString(f + "\n")
			}
		}
	}
	facts()
	if m.chance(0.4) {
		b.WriteString(pick(m, "Unit widgets better=higher\n", "Unit allocs/op assume=exact\n", "Unit ns/op assume=nothing better=lower\n", "Unit B/op assume=exact\n"))
	}
	shift := 1 + (m.rand.Float64()-0.4)*pick(m, 0, 0.01, 0.1, 1)
	noise := pick(m, 0, 0.001, 0.05, 0.5)
	missing := make(map[int]bool)
	for i := range list {
		missing[i] = m.chance(0.15)
	}
	for run := range runs {
		for i, bench := range list {
			if missing[i] || m.chance(0.03) {
				continue
			}
			fmt.Fprintf(&b, "Benchmark%s%s%d", bench.name, pick(m, " ", "\t", "   \t"), 1+m.rand.IntN(1e6))
			for k, unit := range bench.units {
				v := bench.value[k] * shift * (1 + noise*m.rand.Float64())
				number := fmt.Sprintf(pick(m, "%.4g", "%.2f", "%.0f", "%v"), v)
				if unit == "B/op" || unit == "allocs/op" {
					number = fmt.Sprintf("%.0f", math.Min(v, 1e15))
				}
				fmt.Fprintf(&b, "\t%s %s", number, unit)
			}
			b.WriteString(pick(m, "\n", "\n", "\n", " \n", "\r\n"))
			if m.mistakes && m.chance(0.03) {
				b.WriteString(m.mistake())
			}
		}
		if run > 0 && m.chance(0.05) {
			facts()
		}
	}
	b.WriteString("PASS\nok  \texample.com/a\t1.234s\n")
	return b.String()
}

func (m *benchMaker) mistake() string {
	return pick(m,
		"BenchmarkA\n", "BenchmarkA \n", "BenchmarkA 10\n", "BenchmarkA 10 5\n", "BenchmarkA x 5 ns/op\n", "BenchmarkA 10 5 ns/op 6\n",
		"BenchmarkA 10 5 ns/op 6 ns/op\n", "BenchmarkA-8 10 -5 ns/op\n", "BenchmarkA 0 5 ns/op\n", "BenchmarkA -3 5 ns/op\n", "BenchmarkA 10 1e400 ns/op\n",
		"Benchmarking 10 5 ns/op\n", "Benchmarks are hard\n", "Benchmark 10 5 ns/op\n", "  BenchmarkA 10 5 ns/op\n", "Unit\n", "Unit x better\n", "Unit ns/op better=higher\n",
		"--- FAIL: BenchmarkA\n", "FAIL\texample.com/a\t0.1s\n", "log: text\n", "BenchmarkA-8 \tlog text\n 100\t 5 ns/op\n", "BenchmarkA 10 +Inf ns/op\n", "\n", "key:\n", "Key: value\n",
		"BenchmarkÅ 99999999999999999999 5 ns/op\n", "BenchmarkA 10 0x1p-3 ns/op 18446744073709551615 B/op\n")
}

// asEvents is text as go test -json gives it out, with benchmarks in two pieces.
func asEvents(text string) []byte {
	var out strings.Builder
	for line := range strings.Lines(text) {
		pieces := []string{line}
		if i := strings.IndexAny(line, " \t"); strings.HasPrefix(line, "Benchmark") && i > 0 {
			pieces = []string{line[:i+1], line[i+1:]}
		}
		for _, p := range pieces {
			b, err := json.Marshal(map[string]string{"Action": "output", "Package": "example.com/a", "Output": p})
			if err != nil {
				panic(err) // strings always can
			}
			out.Write(append(b, '\n'))
		}
	}
	return []byte(out.String())
}

// asUTF16 is text as some shells write it.
func asUTF16(text string) []byte {
	var out []byte
	for _, u := range utf16.Encode([]rune("\ufeff" + text)) {
		out = binary.LittleEndian.AppendUint16(out, u)
	}
	return out
}
