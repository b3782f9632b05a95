package profile

import "testing"

// TestRoom asks what room a builder makes when a small part of the input is said to have been read.
func TestRoom(t *testing.T) {
	for _, tt := range []struct{ types, samples, most int }{
		{2, 10_000, 64 << 20},
		{1000, 9_000, 4 * 9_000 * (8*1000 + 4)},
	} {
		b := NewBuilder(Header{SampleTypes: make([]ValueType, tt.types)})
		b.share = func() float64 { return 1e-9 * float64(len(b.stack)+1) }
		values := make([]int64, tt.types)
		for range tt.samples {
			b.Add([]uint32{0}, 0, values)
		}
		if got := cap(b.stack) * (8*tt.types + 4); got > tt.most {
			t.Errorf("%d types: room of %d bytes for %d samples, want %d at most", tt.types, got, tt.samples, tt.most)
		}
		if tt.types == 2 && cap(b.stack) < 100*tt.samples {
			t.Errorf("%d types: room for %d samples, of billions", tt.types, cap(b.stack))
		}
	}
}
