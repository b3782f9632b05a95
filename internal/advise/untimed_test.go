package advise

import (
	"slices"
	"strings"
	"testing"
)

// Lines with a comment are not timed. Closures are as what calls them is.
const untimedCode = `package p

import "testing"

func BenchmarkReset(b *testing.B) { // no
	data := prepare()   // no
	again := func() int {
		return prepare()
	}
	b.ResetTimer()      // no
	for i := 0; i < b.N; i++ {
		use(data, again())
	}
}

func BenchmarkNever(b *testing.B) {
	data := prepare()
	for i := 0; i < b.N; i++ {
		use(data)
	}
}

func BenchmarkLoop(b *testing.B) { // no
	data := prepare()              // no
	for b.Loop() {
		use(data)
		b.StopTimer()              // no
		data = prepare()           // no
		b.StartTimer()             // no
		use(data)
	}
	check(data)                    // no
} // no

func BenchmarkSub(b *testing.B) {
	for _, n := range sizes {
		data := prepare(n)
		b.Run("", func(b *testing.B) { // no
			more := prepare(n)         // no
			b.ResetTimer()             // no
			for range b.N {
				use(data, more)
			}
		})
	}
}

func prepare(n ...int) int { return work(n) }

func helper(b *testing.B, n int) {
	work(n)
	b.ResetTimer()
}
`

func TestUntimed(t *testing.T) {
	var want []span
	for i, line := range strings.Split(untimedCode, "\n") {
		n := i + 1
		switch {
		case !strings.HasSuffix(line, "// no"):
		case len(want) > 0 && want[len(want)-1].to == n-1:
			want[len(want)-1].to = n
		default:
			want = append(want, span{n, n})
		}
	}
	if got := untimedIn(untimedCode); !slices.Equal(got, want) {
		t.Errorf("not timed are %v, want %v", got, want)
	}
	for _, text := range []string{"", "package p\n", "package p\n\nfunc BenchmarkBroken(b *testing.B) {"} {
		if got := untimedIn(text); len(got) > 0 {
			t.Errorf("%q: %v", text, got)
		}
	}
}
