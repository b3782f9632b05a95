package profile

import (
	"bytes"
	"compress/gzip"
	"errors"
	"strings"
	"testing"
)

// TestWithin holds that a profile is read whole if it is within its bound, and not at all if it is not.
func TestWithin(t *testing.T) {
	var plain bytes.Buffer
	b := NewBuilder(Header{SampleTypes: []ValueType{{"cpu", "nanoseconds"}}})
	for range 5000 {
		b.Add(nil, 0, []int64{1})
	}
	p, err := b.Profile()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.WriteUncompressed(&plain); err != nil {
		t.Fatal(err)
	}
	gz := func(b []byte) []byte {
		var out bytes.Buffer
		w := gzip.NewWriter(&out)
		w.Write(b)
		w.Close()
		return out.Bytes()
	}
	text := []byte(strings.Repeat("main;work 1\n", 1000))
	for name, in := range map[string][]byte{"plain": plain.Bytes(), "folded": text} {
		size := int64(len(in))
		for what, raw := range map[string][]byte{"as it is": in, "packed": gz(in)} {
			whole, err := ParseBytes(raw)
			if err != nil {
				t.Fatal(err)
			}
			got, err := ParseWithin(raw, Bound{Unpacked: size})
			if err != nil || got.NumSamples() != whole.NumSamples() || got.Damage != nil {
				t.Errorf("%s %s within its size: %v", name, what, err)
			}
			for _, less := range []int64{1, size / 2, size - 1} {
				if got, err := ParseWithin(raw, Bound{Unpacked: less}); !errors.Is(err, ErrTooLarge) || got != nil {
					t.Errorf("%s %s within %d of %d: %v", name, what, less, size, err)
				}
			}
		}
	}
	// Samples with nothing in them take more memory than input.
	empty := bytes.Repeat([]byte{0x12, 0x00}, 8<<20)
	for _, raw := range [][]byte{empty, gz(empty)} {
		if _, err := ParseWithin(raw, Bound{Unpacked: 64 << 20, Memory: 32 << 20}); !errors.Is(err, ErrTooLarge) {
			t.Errorf("entries with nothing in them: %v", err)
		}
	}
}
