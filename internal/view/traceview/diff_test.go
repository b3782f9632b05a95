package traceview

import (
	"math/rand/v2"
	"testing"

	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/requests"
)

// TestRequestChanges holds that a change of the time of requests is told from the time that they vary by, and that a few say nothing.
func TestRequestChanges(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	some := func(n int, factor float64) (list []requests.Request) {
		at := int64(0)
		for range n {
			took := int64((1 + random.Float64()) * 1e6 * factor)
			list = append(list, requests.Request{From: at, To: at + took})
			at += 3e6
		}
		return list
	}
	for _, test := range []struct {
		name        string
		before, now int
		factor      float64
		want        string
	}{
		{"half as fast", 400, 300, 2, report.Worse},
		{"twice as fast", 400, 5000, 0.5, report.Better},
		{"as before", 100000, 100000, 1, report.Same},
		{"a little, of few", 60, 60, 1.02, report.Undecided},
		{"too few", 29, 400, 2, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := changeOf("mean", some(test.before, 1), some(test.now, test.factor), mean)
			if got.Verdict != test.want {
				t.Errorf("got %+v, want %q", got, test.want)
			}
			if got.Verdict != "" && (*got.Low > test.factor*1.05 || *got.High < test.factor*0.95) {
				t.Errorf("the interval is from %f to %f, the change %f", *got.Low, *got.High, test.factor)
			}
		})
	}
}

// TestPercentiles holds that the slowest of a few requests are not left out.
func TestPercentiles(t *testing.T) {
	for _, test := range []struct {
		list []int64
		want report.Latencies
	}{
		{[]int64{7}, report.Latencies{Count: 1, P50: 7, P90: 7, P99: 7, Max: 7}},
		{[]int64{240, 120}, report.Latencies{Count: 2, P50: 120, P90: 240, P99: 240, Max: 240}},
		{[]int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, report.Latencies{Count: 10, P50: 5, P90: 9, P99: 10, Max: 10}},
	} {
		if got := quantiles(test.list); got != test.want {
			t.Errorf("%v: %+v, want %+v", test.list, got, test.want)
		}
	}
}
