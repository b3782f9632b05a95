package latency

import (
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"time"
)

// A Histogram counts times. It has buckets whose width grows with the time, so that a time is known to within 0.4 %,
// whether it is a microsecond or an hour, and the size is the same for ten requests and ten billion. The zero Histogram
// is empty; it gets its buckets with the first time.
type Histogram struct {
	counts []int64
	n      int64
	sum    float64 // nanoseconds
	min    int64
	max    int64
}

const (
	fine     = 8         // bits of a time that are kept
	steps    = 1 << fine // buckets for each doubling
	longest  = 42        // bits of the longest time that has a bucket of its own: 73 minutes
	nBuckets = (longest - fine + 1) * steps
)

// bucketOf returns the bucket of a time in nanoseconds. Those below steps have one each.
func bucketOf(ns int64) int {
	if ns < steps {
		return int(max(ns, 0))
	}
	shift := bits.Len64(uint64(ns)) - fine - 1
	return min(shift*steps+int(ns>>shift), nBuckets-1)
}

// lowOf returns the shortest time that belongs to a bucket.
func lowOf(b int) int64 {
	if b < 2*steps {
		return int64(b)
	}
	shift := b/steps - 1
	return int64(b-shift*steps) << shift
}

// highOf returns the longest time that belongs to a bucket.
func highOf(b int) int64 { return lowOf(b+1) - 1 }

// Add counts a time.
func (h *Histogram) Add(d time.Duration) { h.AddN(d, 1) }

// AddN counts a time n times.
func (h *Histogram) AddN(d time.Duration, n int64) {
	if h.counts == nil {
		h.counts = make([]int64, nBuckets)
	}
	ns := max(int64(d), 0)
	if h.n == 0 || ns < h.min {
		h.min = ns
	}
	h.max = max(h.max, ns)
	h.counts[bucketOf(ns)] += n
	h.n += n
	h.sum += float64(ns) * float64(n)
}

// Merge adds what another histogram counted.
func (h *Histogram) Merge(o *Histogram) {
	if o.n == 0 {
		return
	}
	if h.counts == nil {
		h.counts = make([]int64, nBuckets)
	}
	for i, c := range o.counts {
		h.counts[i] += c
	}
	if h.n == 0 || o.min < h.min {
		h.min = o.min
	}
	h.max = max(h.max, o.max)
	h.n += o.n
	h.sum += o.sum
}

// Reset forgets all times and keeps the memory.
func (h *Histogram) Reset() {
	clear(h.counts)
	*h = Histogram{counts: h.counts}
}

// Count returns how many times were counted.
func (h *Histogram) Count() int64 { return h.n }

// Min and Max return the shortest and the longest time, exactly.
func (h *Histogram) Min() time.Duration { return time.Duration(h.min) }

// Max returns the longest time, exactly.
func (h *Histogram) Max() time.Duration { return time.Duration(h.max) }

// Mean returns the mean, which is exact, too; 0 of nothing.
func (h *Histogram) Mean() time.Duration {
	if h.n == 0 {
		return 0
	}
	return time.Duration(h.sum / float64(h.n))
}

// Deviation returns the standard deviation, from the middles of buckets.
func (h *Histogram) Deviation() time.Duration {
	if h.n < 2 {
		return 0
	}
	mean, sum := h.sum/float64(h.n), 0.0
	for b, c := range h.counts {
		if c > 0 {
			d := float64(lowOf(b)+highOf(b))/2 - mean
			sum += d * d * float64(c)
		}
	}
	return time.Duration(math.Sqrt(sum / float64(h.n-1)))
}

// Quantile returns the time that a share q of all times does not exceed: the longest of its bucket, but never more than
// the longest of all. 0 of nothing.
func (h *Histogram) Quantile(q float64) time.Duration {
	if h.n == 0 {
		return 0
	}
	rank := max(int64(math.Ceil(q*float64(h.n)-1e-6)), 1)
	seen := int64(0)
	for b, c := range h.counts {
		if seen += c; seen >= rank {
			if b == nBuckets-1 {
				break // it has no end
			}
			return time.Duration(min(max(highOf(b), h.min), h.max))
		}
	}
	return time.Duration(h.max)
}

// A Bucket is how many times lie between two.
type Bucket struct {
	Low, High time.Duration
	N         int64
}

// Each yields the buckets that have any times, in order.
func (h *Histogram) Each(yield func(Bucket) bool) {
	for b, c := range h.counts {
		if c == 0 {
			continue
		}
		high := highOf(b)
		if b == nBuckets-1 {
			high = max(h.max, lowOf(b))
		}
		if !yield(Bucket{time.Duration(lowOf(b)), time.Duration(high), c}) {
			return
		}
	}
}

// histogramJSON is how a histogram is kept. A bucket is the shortest time that belongs to it, and how many there are.
type histogramJSON struct {
	Count   int64      `json:"count"`
	Min     int64      `json:"min_ns"`
	Max     int64      `json:"max_ns"`
	Sum     float64    `json:"sum_ns"`
	Buckets [][2]int64 `json:"buckets,omitempty"`
}

// MarshalJSON writes the buckets that have something in them.
func (h Histogram) MarshalJSON() ([]byte, error) {
	out := histogramJSON{Count: h.n, Min: h.min, Max: h.max, Sum: h.sum}
	for b, c := range h.counts {
		if c != 0 {
			out.Buckets = append(out.Buckets, [2]int64{lowOf(b), c})
		}
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON wrote, and refuses what cannot be.
func (h *Histogram) UnmarshalJSON(text []byte) error {
	var in histogramJSON
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	*h = Histogram{}
	if in.Min < 0 || in.Min > in.Max || in.Sum < 0 {
		return fmt.Errorf("a histogram from %d to %d ns with a sum of %g", in.Min, in.Max, in.Sum)
	}
	if len(in.Buckets) == 0 {
		if in.Count != 0 {
			return fmt.Errorf("a histogram of %d times has no buckets", in.Count)
		}
		return nil
	}
	h.counts = make([]int64, nBuckets)
	last := -1
	for _, p := range in.Buckets {
		b := bucketOf(p[0])
		switch {
		case p[0] < 0 || lowOf(b) != p[0]:
			return fmt.Errorf("no bucket of a histogram begins at %d ns", p[0])
		case b <= last:
			return fmt.Errorf("the bucket at %d ns is out of order", p[0])
		case p[1] <= 0 || p[1] > math.MaxInt64-h.n:
			return fmt.Errorf("the bucket at %d ns has %d times", p[0], p[1])
		}
		h.counts[b] = p[1]
		h.n += p[1]
		if last < 0 && b != bucketOf(in.Min) {
			return fmt.Errorf("the shortest time is %d ns, but the first bucket begins at %d ns", in.Min, p[0])
		}
		last = b
	}
	if h.n != in.Count {
		return fmt.Errorf("a histogram of %d times has %d in its buckets", in.Count, h.n)
	}
	if last != bucketOf(in.Max) {
		return fmt.Errorf("the longest time is %d ns, but the last bucket begins at %d ns", in.Max, lowOf(last))
	}
	h.min, h.max, h.sum = in.Min, in.Max, in.Sum
	return nil
}
