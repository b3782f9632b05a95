package latency

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// Every time is in the bucket that says so, and buckets follow each other without a gap.
func TestBuckets(t *testing.T) {
	for b := range nBuckets - 1 {
		low, high := lowOf(b), highOf(b)
		if low > high || bucketOf(low) != b || bucketOf(high) != b || bucketOf(high+1) != b+1 {
			t.Fatalf("bucket %d is from %d to %d, but these are in %d and %d, and %d in %d", b, low, high, bucketOf(low), bucketOf(high), high+1, bucketOf(high+1))
		}
		if low > 0 && float64(high-low)/float64(low) > 1.0/steps {
			t.Fatalf("bucket %d from %d to %d is too wide", b, low, high)
		}
	}
	if low := time.Duration(lowOf(nBuckets - 1)); low < time.Hour {
		t.Errorf("times from %v on share a bucket", low)
	}
	for _, ns := range []int64{-1, math.MinInt64, math.MaxInt64} {
		bucketOf(ns) // does not crash
	}
}

// Quantiles are those of the sorted list, to within the width of a bucket.
func TestQuantiles(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var h Histogram
	var all []time.Duration
	sum := time.Duration(0)
	for range 20_000 {
		d := time.Duration(math.Exp(rnd.Float64()*20) * 100)
		h.Add(d)
		all = append(all, d)
		sum += d
	}
	slices.Sort(all)
	for _, q := range []float64{0, 0.001, 0.5, 0.9, 0.99, 0.999, 0.9999, 1} {
		want := all[max(int(math.Ceil(q*float64(len(all)))), 1)-1]
		got := h.Quantile(q)
		if got < want || float64(got-want) > float64(want)/steps+1 {
			t.Errorf("quantile %v is %v, want %v", q, got, want)
		}
	}
	if h.Min() != all[0] || h.Max() != all[len(all)-1] || h.Quantile(1) != h.Max() {
		t.Errorf("from %v to %v, want %v to %v", h.Min(), h.Max(), all[0], all[len(all)-1])
	}
	if want := sum / time.Duration(len(all)); (h.Mean() - want).Abs() > time.Microsecond {
		t.Errorf("mean %v, want %v", h.Mean(), want)
	}
}

// Merging gives what adding all to one gives.
func TestMerge(t *testing.T) {
	var a, b, all, empty Histogram
	for i := range time.Duration(1000) {
		h := &a
		if i%3 == 0 {
			h = &b
		}
		h.Add(i * i)
		all.Add(i * i)
	}
	var sum Histogram
	for _, h := range []*Histogram{&empty, &a, &b, &empty} {
		sum.Merge(h)
	}
	if !reflect.DeepEqual(sum, all) {
		t.Errorf("merged %v, want %v", sum, all)
	}
	sum.Reset()
	if sum.Count() != 0 || sum.Max() != 0 || sum.Quantile(0.5) != 0 || sum.Mean() != 0 {
		t.Errorf("after Reset: %v", sum)
	}
	sum.Add(7)
	if sum.Min() != 7 || sum.Max() != 7 {
		t.Errorf("after Reset and Add: %v", sum)
	}
}

func full() *Log {
	l := &Log{
		Target: "http://localhost:1/", Engine: "portable", Rate: 100, Conns: 3, Duration: time.Second, Timeout: time.Second, Took: time.Second,
		Counts: Counts{
			Asked: 100, Sent: 99, Unsent: 1, Answered: 90, Good: 80, Unfinished: 2,
			Status: map[int]int64{200: 80, 404: 10}, Errors: map[Cause]int64{Reset: 7}, Unexpected: map[string]int64{OtherStatus: 10},
		},
		Rows: []Row{{For: time.Second, Sent: 99, Answered: 90, P50: 1, P90: 2, P99: 3, Max: 3}},
	}
	for i := range 90 {
		l.Service.Add(time.Duration(i) * time.Millisecond)
		l.Response.Add(time.Duration(i) * time.Second)
	}
	l.Cut.Add(2 * time.Hour) // longer than there are buckets for
	return l
}

// What was written is read again.
func TestRoundTrip(t *testing.T) {
	want := full()
	var b bytes.Buffer
	if err := want.Write(&b); err != nil {
		t.Fatal(err)
	}
	got, err := Read(&b)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

// What cannot be is refused, with the reason.
func TestRefused(t *testing.T) {
	tests := []struct{ old, new, err string }{
		{`"format":1`, `"format":2`, "install a newer one"},
		{`"format":1`, `"format":0`, "names no format"},
		{`"asked":100`, `"asked":-1`, "count is negative"},
		{`"200":80`, `"200":-80`, "happened -80 times"},
		{`"count":90`, `"count":91`, "has 90 in its buckets"},
		{`[0,1]`, `[0,0]`, "has 0 times"},
		{`"rate":100`, `"rate":-100`, "negative"},
		{`"p50_ns":1`, `"p50_ns":5`, "row 1 cannot be"},
		{`"max_ns":89000000`, `"max_ns":79000000`, "longest time"},
		{`"min_ns":0`, `"min_ns":-4`, "histogram from -4"},
		{`[0,1]`, `[1000001,1]`, "no bucket"},
	}
	var b bytes.Buffer
	if err := full().Write(&b); err != nil {
		t.Fatal(err)
	}
	for _, test := range tests {
		if !strings.Contains(b.String(), test.old) {
			t.Errorf("no %s in %s", test.old, &b)
		}
		_, err := Read(strings.NewReader(strings.Replace(b.String(), test.old, test.new, 1)))
		if err == nil || !strings.Contains(err.Error(), test.err) {
			t.Errorf("with %s: %v, want an error with %q", test.new, err, test.err)
		}
	}
}

func FuzzRead(f *testing.F) {
	var b bytes.Buffer
	if err := full().Write(&b); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte(`{"format":1,"service":{"count":1,"buckets":[[9223372036854775807,1]]}}`))
	f.Add([]byte(`{"format":1,"rows":[{}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		l, err := Read(bytes.NewReader(text))
		if err != nil {
			return
		}
		for _, h := range []*Histogram{&l.Service, &l.Response, &l.Cut} {
			last := time.Duration(0)
			for _, q := range []float64{0, 0.5, 0.99, 1} {
				v := h.Quantile(q)
				if v < last || v > h.Max() {
					t.Errorf("quantile %v is %v after %v, and the longest %v", q, v, last, h.Max())
				}
				last = v
			}
			h.Deviation()
		}
		var again bytes.Buffer
		if err := l.Write(&again); err != nil {
			t.Fatalf("writing what was read: %v", err)
		}
		if _, err := Read(&again); err != nil {
			t.Errorf("reading what was read: %v", err)
		}
	})
}

// The file for plotters has the same percentiles.
func TestHGRM(t *testing.T) {
	var h Histogram
	for i := range 1000 {
		h.Add(time.Duration(i+1) * time.Millisecond)
	}
	var b bytes.Buffer
	if err := WriteHGRM(&b, &h); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Value", "TotalCount", "#[Mean", "Total count    =         1000"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, &b)
		}
	}
	median := 0.0
	for line := range strings.Lines(b.String()) {
		var v, q float64
		words := strings.Fields(line)
		if len(words) == 4 && json.Unmarshal([]byte(words[0]), &v) == nil && json.Unmarshal([]byte(words[1]), &q) == nil && q == 0.5 {
			median = v
		}
	}
	if math.Abs(median-500) > 5 {
		t.Errorf("the median is %v ms, want about 500:\n%s", median, &b)
	}
	var none Histogram
	if err := WriteHGRM(&b, &none); err != nil {
		t.Error(err)
	}
}

// Counting costs nanoseconds and no memory.
func TestAddAllocates(t *testing.T) {
	var h Histogram
	h.Add(1)
	if n := testing.AllocsPerRun(1000, func() { h.Add(12345) }); n != 0 {
		t.Errorf("Add allocates %v times", n)
	}
}

func BenchmarkAdd(b *testing.B) {
	var h Histogram
	d := time.Duration(50_000)
	b.ReportAllocs()
	for b.Loop() {
		h.Add(d)
		d = d*5%999_983 + 1000
	}
}
