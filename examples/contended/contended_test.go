package main

import (
	"context"
	"testing"
	"time"
)

func TestModes(t *testing.T) {
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			want := 4 * 2500
			if m.name == "channel" {
				want = 2500
			}
			if got := m.run(t.Context(), 4, 2500); got != want {
				t.Errorf("%d steps; want %d", got, want)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			defer cancel()
			if got := m.run(ctx, 2, 0); got == 0 {
				t.Error("nothing is done in 10 ms")
			}
			if err := ctx.Err(); err == nil {
				t.Error("ends before the time is over")
			}
		})
	}
}

func BenchmarkModes(b *testing.B) {
	for _, m := range modes {
		b.Run(m.name, func(b *testing.B) {
			for b.Loop() {
				m.run(b.Context(), 4, 1000)
			}
		})
	}
}
