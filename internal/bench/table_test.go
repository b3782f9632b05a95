package bench

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

func shortTable(t *Table) string {
	var b strings.Builder
	for i := range t.Old.Results {
		o, n := &t.Old.Results[i], &t.New.Results[i]
		fmt.Fprintf(&b, "%d %s*%d", o.Line, o.Name, o.Procs)
		for k, v := range o.Values {
			fmt.Fprintf(&b, " %v->%v %s", v.Value, n.Values[k].Value, v.Unit)
		}
		for _, c := range o.Config {
			fmt.Fprintf(&b, " %s=%s", c.Key, c.Value)
		}
		b.WriteByte('\n')
	}
	for _, n := range t.Notes {
		fmt.Fprintln(&b, n.In(""))
	}
	return b.String()
}

func TestReadTable(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{
			"all blocks",
			`benchmark             old ns/op     new ns/op     delta
BenchmarkA-8          1000          500           -50.00%
BenchmarkB-8          5.00          5.00          +0.00%

benchmark        old MB/s     new MB/s     speedup
BenchmarkA-8     10.00        20.00        2.00x

benchmark        old allocs     new allocs     delta
BenchmarkA-8     4              0              -100.00%
BenchmarkB-8     0              0              +0.00%

benchmark        old bytes     new bytes     delta
BenchmarkB-8     0             16            +Inf%
`,
			"2 A*8 1000->500 ns/op 10->20 MB/s 4->0 allocs/op\n3 B*8 5->5 ns/op 0->0 allocs/op 0->16 B/op\n",
		},
		{
			"quoted and indented",
			"> benchmark old ns/op new ns/op delta\n>     BenchmarkA 100 50.0 -50.00%\n```\n    BenchmarkB 1 2 +100.00%\n```\n// BenchmarkC 100 110 +10.00%\n",
			"2 A*0 100->50 ns/op\n4 B*0 1->2 ns/op\n6 C*0 100->110 ns/op\n",
		},
		{
			"Markdown",
			"| benchmark | old ns/op | new ns/op | delta |\n|---|---|---|---|\n| BenchmarkA/n=1-4 | 100 | 50.0 | -50.00% |\n",
			"3 A/n=1*4 100->50 ns/op\n",
		},
		{
			"text behind the table and behind a row",
			"benchmark old allocs new allocs delta\nBenchmarkA 3 1 -66.67% (nice)\n\nThis changes 3 4 things.\nFoo 3 4 +33.33%\n",
			"2 A*0 3->1 allocs/op\nodd: text behind a row (line 2)\n",
		},
		{
			"names without the word, as people shorten them",
			"benchmark old ns/op new ns/op delta\nEncode/k=v 100 50.0 -50.00%\n",
			"2 Encode/k=v*0 100->50 ns/op\n",
		},
		{
			"wrapped",
			"benchmark    old ns/op\n  new ns/op   delta\nBenchmarkWithALongName\n   100    50.0   -50.00%\nBenchmarkB 100\n50.0 -50.00%\nBenchmarkC 100\n\nand so on\n",
			"3 WithALongName*0 100->50 ns/op\n5 B*0 100->50 ns/op\n" +
				"mended: row or heading on two lines (lines 1, 3, 5)\ndropped: row of a table that is cut short (line 7)\n",
		},
		{
			"a heading that is repeated, and runs of one benchmark",
			"benchmark old ns/op new ns/op delta\nBenchmarkA 100 50.0 -50.00%\nbenchmark old ns/op new ns/op delta\nBenchmarkA 100 60.0 -40.00%\n" +
				"benchmark old bytes new bytes delta\nBenchmarkA 1 1 +0.00%\nBenchmarkA 2 2 +0.00%\n",
			"2 A*0 100->50 ns/op 1->1 B/op\n4 A*0 100->60 ns/op 2->2 B/op\n",
		},
		{
			"two tables",
			"amd64:\nbenchmark old ns/op new ns/op delta\nBenchmarkA 100 50.0 -50.00%\nbenchmark old bytes new bytes delta\nBenchmarkA 1 1 +0.00%\n" +
				"arm64:\nbenchmark old ns/op new ns/op delta\nBenchmarkA 200 50.0 -75.00%\n",
			"3 A*0 100->50 ns/op 1->1 B/op table=1\n8 A*0 200->50 ns/op table=2\n",
		},
		{
			"no heading", "BenchmarkA 100 50.0 -50.00%\n", "dropped: row of a table without a heading (line 1)\n",
		},
		{
			"numbers that were edited",
			"benchmark old ns/op new ns/op delta\nBenchmarkA 1000 500 -40.00%\nBenchmarkB 0.00 5.00 +Inf%\nBenchmarkC 100 5.00 +Inf%\nBenchmarkD 0.00 0.00 NaN%\n",
			"2 A*0 1000->500 ns/op\n3 B*0 0->5 ns/op\n4 C*0 100->5 ns/op\n5 D*0 0->0 ns/op\n" +
				"odd: change that does not follow from its numbers (lines 2, 4, 5)\n",
		},
		{
			"numbers that were rounded",
			"benchmark old ns/op new ns/op delta\nBenchmarkA 1.23 1.24 +0.08%\nBenchmarkB 103 102 -0.19%\nBenchmarkC 3 5 +48.00%\n",
			"2 A*0 1.23->1.24 ns/op\n3 B*0 103->102 ns/op\n4 C*0 3->5 ns/op\n",
		},
		{"other text", "Benchmarks got faster.\nsee benchmark old new\n", ""},
		{"benchmark lines", "BenchmarkA 100 50 ns/op\n", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := readTable(tt.in)
			if err != nil {
				t.Fatal(err)
			}
			if short := shortTable(got); short != tt.want {
				t.Errorf("readTable(%q) gives\n%swant\n%s", tt.in, short, tt.want)
			}
		})
	}
}

func readTable(in string) (*Table, error) {
	text, err := ReadText(strings.NewReader(in), maxFile)
	return text.Table("x"), err
}

func FuzzReadTable(f *testing.F) {
	f.Add("benchmark old ns/op new ns/op delta\nBenchmarkA-8 100 50.0 -50.00%\n\nbenchmark old MB/s new MB/s speedup\nBenchmarkA-8 1.00 2.00 2.00x text\n")
	f.Add("> benchmark old\n> allocs new allocs delta\n```\nBenchmarkA\n1 0 -100.00%\n| X | 0 | 3 | +Inf% |\n")
	f.Fuzz(func(t *testing.T, in string) {
		got, err := readTable(in)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Old.Results) != len(got.New.Results) {
			t.Fatalf("%d results before, %d after", len(got.Old.Results), len(got.New.Results))
		}
		for i := range got.Old.Results {
			o, n := &got.Old.Results[i], &got.New.Results[i]
			if o.Full() != n.Full() || len(o.Values) != len(n.Values) || len(o.Values) == 0 {
				t.Fatalf("%+v became %+v", o, n)
			}
			for k := range o.Values {
				for _, v := range []Value{o.Values[k], n.Values[k]} {
					if !(v.Value >= 0) || math.IsInf(v.Value, 0) || v.Unit != o.Values[k].Unit {
						t.Fatalf("%+v became %+v", o, n)
					}
				}
			}
		}
	})
}
