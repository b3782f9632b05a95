package rules

import (
	"go/ast"

	"github.com/hone-perf/hone/internal/advise"
	"github.com/hone-perf/hone/internal/advise/facts/cost"
)

// Of the sizes of texts that samples tell.
const (
	leastRoom  = 32      // that is worth a word; smaller objects share memory, and samples of them do not tell how large they are
	mostRoom   = 64      // more is what the inputs of one profile need, and who reads the code asks why; the steps up to there are most of all steps
	mostUsual  = 4 << 10 // of larger texts those steps are a small part
	fewSamples = 4       // of one size are chance
)

// byGrowing and byAdding say in how many arrays a text is that grows from half of a size to that size: as append makes them larger, and where a new
// text is made for each part of it, all of which are of a like size. The last step is half of that on average where texts are made by adding.
func byGrowing(size int64) float64 {
	switch {
	case size <= 512:
		return 1
	case size <= 2048:
		return 2
	}
	return 3
}

func byAdding(size int64) float64 { return float64(size) }

// The shares of texts that are usual.
const (
	halfOfGrowing = 0.5
	halfOfAdding  = 0.25
)

// roomFor returns with how much room texts of a usual size begin, or 0 for none.
func roomFor(usual int64) int64 { return min(usual, mostRoom) }

// usualSize returns how many bytes at least half of the texts took that are put together at some nodes, as a power of two: profiles tell how large
// the arrays were that they were in on the way. It is 0 where there are too few samples to tell, and where texts are very small or large.
func usualSize[N ast.Node](p *advise.Pass, nodes []N, match func(*cost.Chain) bool, arrays func(size int64) float64, share float64) int64 {
	sizes := map[int64]*cost.Cost{}
	lines := map[int]bool{}
	for _, n := range nodes {
		for l := p.Line(n.Pos()); l <= p.Line(n.End()); l++ {
			if p.Lines[l] == nil || lines[l] {
				continue
			}
			lines[l] = true
			for _, c := range p.Lines[l].Chains {
				if match(c) && c.Size >= leastRoom && c.Cost[cost.ObjectsMade] > 0 {
					if sizes[c.Size] == nil {
						sizes[c.Size] = &cost.Cost{}
					}
					sizes[c.Size].Add(&c.Cost)
				}
			}
		}
	}
	texts := map[int64]float64{} // that were so large, and larger ones on their way
	most := 0.0
	for size, c := range sizes {
		n := float64(c[cost.ObjectsMade])
		if n*n >= fewSamples*p.Costs.Spread(c, cost.ObjectsMade) {
			texts[size] = n / arrays(size)
			most = max(most, texts[size])
		}
	}
	usual := int64(0)
	for size, n := range texts {
		if n >= share*most {
			usual = max(usual, size)
		}
	}
	if usual > mostUsual {
		return 0
	}
	return usual
}
