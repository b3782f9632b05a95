package main

import (
	"fmt"
	"slices"
	"testing"
)

// graph returns the graph with these edges; the first block is where it is entered.
func graph(blocks int, edges ...[2]int) *CFG {
	cfg := new(CFG)
	for range blocks {
		cfg.CreateNode()
	}
	for _, e := range edges {
		cfg.Connect(e[0], e[1])
	}
	return cfg
}

func TestFindHavlakLoops(t *testing.T) {
	tests := []struct {
		name  string
		cfg   *CFG
		loops []string // header, how many blocks and inner loops; sorted
	}{
		{"empty", graph(0), nil},
		{"one block", graph(1), nil},
		{"no loop", graph(3, [2]int{0, 1}, [2]int{1, 2}), nil},
		{"self", graph(2, [2]int{0, 1}, [2]int{1, 1}), []string{"1: 1+0"}},
		{"two blocks", graph(3, [2]int{0, 1}, [2]int{1, 2}, [2]int{2, 1}), []string{"1: 2+0"}},
		{"two ways back", graph(4, [2]int{0, 1}, [2]int{1, 2}, [2]int{1, 3}, [2]int{2, 1}, [2]int{3, 1}), []string{"1: 3+0"}},
		{"nested", graph(4, [2]int{0, 1}, [2]int{1, 2}, [2]int{2, 2}, [2]int{2, 3}, [2]int{3, 1}), []string{"1: 2+1", "2: 1+0"}},
		{"two entries", graph(3, [2]int{0, 1}, [2]int{0, 2}, [2]int{1, 2}, [2]int{2, 1}), []string{"1: 2+0 irreducible"}},
		{"out of reach", graph(3, [2]int{0, 1}, [2]int{2, 1}), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			lsg := NewLSG()
			n := FindHavlakLoops(tt.cfg, lsg)
			var loops []string
			for _, loop := range lsg.Loops {
				s := fmt.Sprintf("%d: %d+%d", loop.Header.Name, len(loop.Blocks), len(loop.Children))
				if !loop.IsReducible {
					s += " irreducible"
				}
				loops = append(loops, s)
			}
			slices.Sort(loops)
			if n != len(tt.loops) || !slices.Equal(loops, tt.loops) {
				t.Errorf("%d loops: %q; want %q", n, loops, tt.loops)
			}
		})
	}
}

// TestGraph finds the loops of one tree, twice: nothing is left over from the first time.
func TestGraph(t *testing.T) {
	cfg := NewGraph(1)
	for range 2 {
		lsg := NewLSG()
		if n := FindHavlakLoops(cfg, lsg); n != 7600 {
			t.Errorf("%d loops; want 7600", n)
		}
		lsg.CalculateNesting()
		if n := lsg.Root.NestingLevel; n != 4 {
			t.Errorf("nested %d deep; want 4", n)
		}
	}
}

func BenchmarkFindHavlakLoops(b *testing.B) {
	for _, trees := range []int{1, 10} {
		b.Run(fmt.Sprintf("loops=%d", trees*7600), func(b *testing.B) {
			cfg := NewGraph(trees)
			b.ReportAllocs()
			for b.Loop() {
				FindHavlakLoops(cfg, NewLSG())
			}
		})
	}
}
