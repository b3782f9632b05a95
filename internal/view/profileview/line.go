package profileview

import (
	"github.com/hone-perf/hone/internal/escape"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/report"
)

// LineCosts returns what lines of a file cost by each sample type of a profile, by line. A stack that has a line twice costs it
// once; a line costs by itself what is spent there and in nothing that it calls, but for what the profile leaves out.
func LineCosts(p *profile.Profile, file string, from, to int) map[int][]report.LineCost {
	own := make([]bool, len(p.Functions))
	for i := range p.Functions {
		own[i] = escape.SameFile(p.Functions[i].File, file)
	}
	out := make(map[int][]report.LineCost)
	for k, t := range p.SampleTypes {
		flat, cum := make(map[int]int64), make(map[int]int64)
		var total int64
		var buf []uint32
		for i, v := range p.Values(k) {
			total += v
			if v == 0 {
				continue
			}
			buf = p.Stack(i, buf[:0])
			var seen map[int]bool
			leaf := true
			for _, l := range buf {
				for _, ln := range p.Locations[l].Lines {
					if n := int(ln.Line); own[ln.Function] && from <= n && n <= to {
						if leaf {
							flat[n] += v
						}
						if !seen[n] {
							if seen == nil {
								seen = make(map[int]bool)
							}
							seen[n] = true
							cum[n] += v
						}
					}
					leaf = false
				}
			}
		}
		for n, c := range cum {
			out[n] = append(out[n], report.LineCost{Metric: t.Type, Unit: t.Unit, Flat: flat[n], Cum: c, Total: total})
		}
	}
	return out
}
