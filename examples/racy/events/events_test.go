package events

import (
	"slices"
	"testing"
)

func TestCollect(t *testing.T) {
	got := Collect(func() []string { return []string{"stop", "start"} })
	if want := []string{"start", "stop"}; !slices.Equal(got, want) {
		t.Errorf("Collect() = %v; want %v", got, want)
	}
}

func TestCollectSeveral(t *testing.T) {
	got := Collect(func() []string { return []string{"start"} }, func() []string { return []string{"stop"} })
	if len(got) == 0 || !slices.IsSorted(got) {
		t.Errorf("Collect() = %v", got)
	}
}

func BenchmarkCollect(b *testing.B) {
	source := func() []string { return []string{"stop", "start"} }
	b.ReportAllocs()
	for b.Loop() {
		Collect(source)
	}
}
