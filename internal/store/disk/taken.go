package disk

import (
	"cmp"
	"math"
	"strings"

	"github.com/hone-perf/hone/internal/store"
)

// A taken is a profile of which the samples are rows of a dict.
type taken struct {
	id       store.ID
	row      uint32 // of the dict: its own labels
	start    int64
	end      int64
	time     int64 // as the profile says, for its sender's clock may be wrong
	duration int64
	flags    uint8
	totals   []int64
	packed   []byte // rows, from encodeRows

	// Of the sum of many profiles: how many went in, and in how many rounds: profiles / rounds is the number of processes, and levels are the mean times the rounds.
	profiles int
	rounds   int
}

// Flags of a profile.
const (
	flagCounters = 1 << iota
	flagClock
	flagBaseline // it is only there for counters of the next one to be compared with
	flagCovered  // of a sum: from start to end is as long as there were processes; those of earlier versions end with their hour or day
)

func (t *taken) counters() bool { return t.flags&flagCounters != 0 }

// A sectionKey is what profiles in a section share.
type sectionKey struct {
	kind   string
	labels string // of the series, as text
	shape  uint32
}

// A section is profiles of one series and shape, ordered by their own labels and time.
type section struct {
	kind   string
	labels store.Labels
	shape  uint32
	taken  []*taken
}

func (s *section) key() sectionKey { return sectionKey{s.kind, s.labels.String(), s.shape} }

func compareKeys(a, b sectionKey) int {
	return cmp.Or(strings.Compare(a.kind, b.kind), strings.Compare(a.labels, b.labels), cmp.Compare(a.shape, b.shape))
}

// encodeAbout packs all that is known of profiles but their rows, column by column.
func encodeAbout(taken []*taken, types int) []byte {
	var e encoder
	e.uint(uint64(len(taken)))
	last := int64(0)
	for _, t := range taken {
		e.int(t.start - last)
		last = t.start
	}
	for _, t := range taken {
		e.int(t.end - t.start)
	}
	for _, t := range taken {
		e.int(t.time - t.start)
	}
	for _, t := range taken {
		e.int(t.duration)
	}
	lastRow := int64(0)
	for _, t := range taken {
		e.int(int64(t.row) - lastRow)
		lastRow = int64(t.row)
	}
	for _, t := range taken {
		e.uint(uint64(t.flags))
	}
	for _, t := range taken {
		e.uint(uint64(t.profiles))
	}
	for _, t := range taken {
		e.uint(uint64(t.rounds))
	}
	for k := range types {
		last := int64(0)
		for _, t := range taken {
			e.int(t.totals[k] - last)
			last = t.totals[k]
		}
	}
	for _, t := range taken {
		e.b = append(e.b, t.id[:]...)
	}
	return e.b
}

// decodeAbout reads what encodeAbout packed.
func decodeAbout(plain []byte, types, rows int) ([]taken, error) {
	d := decoder{b: plain}
	out := make([]taken, d.count())
	last := int64(0)
	for i := range out {
		last += d.int()
		out[i].start = last
	}
	for i := range out {
		out[i].end = out[i].start + d.int()
	}
	for i := range out {
		out[i].time = out[i].start + d.int()
	}
	for i := range out {
		out[i].duration = d.int()
	}
	row := int64(0)
	for i := range out {
		row += d.int()
		if row < 0 || row >= int64(rows) {
			return nil, errDamaged
		}
		out[i].row = uint32(row)
	}
	for i := range out {
		out[i].flags = uint8(d.uint())
	}
	for i := range out {
		out[i].profiles = int(min(d.uint(), math.MaxInt32))
	}
	for i := range out {
		out[i].rounds = int(min(d.uint(), math.MaxInt32))
	}
	totals := make([]int64, types*len(out))
	for i := range out {
		out[i].totals = totals[i*types : (i+1)*types : (i+1)*types]
	}
	for k := range types {
		last := int64(0)
		for i := range out {
			last += d.int()
			out[i].totals[k] = last
		}
	}
	for i := range out {
		if len(d.b) < len(out[i].id) {
			return nil, errDamaged
		}
		copy(out[i].id[:], d.b)
		d.b = d.b[len(out[i].id):]
	}
	return out, d.err
}
