package latency

import (
	"io"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// WriteHGRM writes the percentiles of h in milliseconds in the form of HdrHistogram, which its plotter at
// hdrhistogram.github.io and others draw.
func WriteHGRM(w io.Writer, h *Histogram) error {
	const (
		digits   = 3
		perHalf  = 5 // lines for each halving of what is left to 100 %
		inMillis = 1e6
	)
	out := hdr.New(1, max(int64(h.Max()), 2), digits)
	for b := range h.Each {
		middle := (b.Low + b.High) / 2
		if err := out.RecordValues(int64(min(max(middle, h.Min()), h.Max())), b.N); err != nil {
			return err
		}
	}
	_, err := out.PercentilesPrint(w, perHalf, inMillis)
	return err
}
