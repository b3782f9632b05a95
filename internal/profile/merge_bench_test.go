package profile_test

import (
	"bytes"
	"testing"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/profile/profiletest"
)

// runs returns the profiles of several runs of one program.
func runs(b *testing.B, n int) (files [][]byte) {
	for run := range n {
		var buf bytes.Buffer
		c := profiletest.Config{Samples: 4000, Functions: 7000, Run: uint64(run)}
		if err := profiletest.Write(&buf, c); err != nil {
			b.Fatal(err)
		}
		files = append(files, buf.Bytes())
	}
	return files
}

func BenchmarkMerge(b *testing.B) {
	var profiles []*profile.Profile
	for _, f := range runs(b, 20) {
		p, err := profile.ParseBytes(f)
		if err != nil {
			b.Fatal(err)
		}
		profiles = append(profiles, p)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := profile.Merge(profiles...); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	f := runs(b, 1)[0]
	b.ReportAllocs()
	b.SetBytes(int64(len(f)))
	for b.Loop() {
		if _, err := profile.ParseBytes(f); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkStackHashes(b *testing.B) {
	p, err := profile.ParseBytes(runs(b, 1)[0])
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		p.StackHashes()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(p.NumSamples()), "ns/sample")
}
