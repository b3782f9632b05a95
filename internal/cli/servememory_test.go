package cli

import "testing"

// A live heap can grow beyond the usual limit, and then the limit still leaves room for garbage.
func TestMemoryLimit(t *testing.T) {
	for _, tt := range []struct {
		live uint64
		want int64
	}{{0, 184 << 20}, {100 << 20, 184 << 20}, {200 << 20, 282 << 20}, {2 << 30, 5<<29 + 32<<20}} {
		if got := memoryLimit(tt.live); got != tt.want {
			t.Errorf("the limit for %d MB in use is %d MB, want %d", tt.live>>20, got>>20, tt.want>>20)
		}
	}
}
