package ab

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/hone-perf/hone/internal/latency"
	"github.com/hone-perf/hone/internal/order"
)

// A series is one of the times of all requests, in a size that does not grow: what ab prints in whole milliseconds needs
// no list.
type series struct {
	h       latency.Histogram
	n       float64
	sum     float64 // microseconds, as ab counts
	squares float64
}

func (s *series) add(d time.Duration) {
	d = d.Truncate(time.Microsecond)
	s.h.Add(d)
	x := float64(d.Microseconds())
	s.n++
	s.sum += x
	s.squares += x * x
}

// A line is what ab prints of a series, in milliseconds.
type line struct {
	min, mean, median, max int64
	deviation              float64
}

func (s *series) line() line {
	if s.n == 0 {
		return line{}
	}
	mean := math.Trunc(s.sum / s.n) // ab divides whole numbers
	l := line{min: millis(s.h.Min()), mean: roundMillis(mean), max: millis(s.h.Max())}
	if s.n > 1 {
		l.deviation = math.Sqrt(max(s.squares-2*mean*s.sum+s.n*mean*mean, 0)/(s.n-1)) / 1000
	}
	// The middle; of an odd number ab takes the mean of the middle and the one behind it.
	n := int64(s.n)
	l.median = millis(s.at(n / 2))
	if n > 1 && n%2 == 1 {
		l.median = millis((s.at(n/2) + s.at(n/2+1)) / 2)
	}
	return l
}

// table returns the least, the mean and the most as the tables of -w have them, in milliseconds.
func (s *series) table() [3]int64 {
	if s.n == 0 {
		return [3]int64{}
	}
	return [3]int64{millis(s.h.Min()), roundMillis(s.sum) / int64(s.n), millis(s.h.Max())}
}

// at returns the time at a place of the sorted list, from 0 on.
func (s *series) at(i int64) time.Duration {
	return s.h.Quantile(float64(min(i, int64(s.n)-1)+1) / s.n)
}

// millis rounds as ab does.
func millis(d time.Duration) int64 { return (d.Microseconds() + 500) / 1000 }

func roundMillis(us float64) int64 { return (int64(us) + 500) / 1000 }

// writeCSV writes the file of -e.
func (b *bench) writeCSV(w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, "Percentage served,Time in ms")
	s := &b.times[total]
	for i := int64(0); i <= 100 && s.n > 0; i++ {
		at := int64(0.5 + s.n*float64(i)/100)
		if i == 100 {
			at = int64(s.n) - 1
		}
		fmt.Fprintf(out, "%d,%.3f\n", i, float64(s.at(at).Microseconds())/1000)
	}
	return out.Flush()
}

// writeGnuplot writes the file of -g: a line for each request, the shortest first.
func (b *bench) writeGnuplot(w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, "starttime\tseconds\tctime\tdtime\tttime\twait")
	order.Stable(b.rows, func(x, y row) int { return int(x.total) - int(y.total) })
	ms := func(us int32) int64 { return roundMillis(float64(us)) }
	for _, r := range b.rows {
		at := b.began.Add(time.Duration(r.start) * time.Microsecond).In(b.sys.Zone)
		fmt.Fprintf(out, "%s\t%d\t%d\t%d\t%d\t%d\n", at.Format("Mon Jan 02 15:04:05 2006"), at.Unix(), ms(r.connect), ms(r.total-r.connect), ms(r.total), ms(r.waited))
	}
	return out.Flush()
}
