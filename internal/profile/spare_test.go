package profile_test

import (
	"bytes"
	"testing"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/profile/profiletest"
)

// What is read with the memory of another profile is the same as what is read with new memory.
func TestRelease(t *testing.T) {
	var files, want [][]byte
	for i, samples := range []int{3000, 200, 9000, 1200, 40} {
		var raw, text bytes.Buffer
		if err := profiletest.Write(&raw, profiletest.Config{Samples: samples, Functions: 300 + 40*i, Run: uint64(i)}); err != nil {
			t.Fatal(err)
		}
		p, err := profile.ParseBytes(raw.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Write(&text); err != nil {
			t.Fatal(err)
		}
		files, want = append(files, raw.Bytes()), append(want, text.Bytes())
	}
	for range 3 {
		for i, raw := range files {
			p, err := profile.ParseBytes(raw)
			if err != nil {
				t.Fatal(err)
			}
			var text bytes.Buffer
			if err := p.Write(&text); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(text.Bytes(), want[i]) {
				t.Fatalf("profile %d is another one after others were released", i)
			}
			p.Release()
		}
	}
}
