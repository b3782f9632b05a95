package report

import "testing"

// The ranking explains its order where the first share of a row is smaller than the same share of the row below.
func TestOutOfOrder(t *testing.T) {
	cpu := func(share float64) Saving { return Saving{Metric: "cpu", Share: share} }
	space := func(share float64) Saving { return Saving{Metric: "alloc_space", Share: share} }
	tests := []struct {
		name string
		rows [][]Saving
		want bool
	}{
		{"as the column says", [][]Saving{{cpu(0.4)}, {cpu(0.2)}, {cpu(0.2)}}, false},
		{"a larger one below", [][]Saving{{cpu(0.18)}, {cpu(0.41)}}, true},
		{"a larger one below, with another in front", [][]Saving{{cpu(0.18)}, {space(0.6), cpu(0.3)}}, true},
		{"other metrics", [][]Saving{{cpu(0.18)}, {space(0.6)}}, false},
		{"without savings", [][]Saving{{}, {cpu(0.1)}}, false},
	}
	for _, tt := range tests {
		a := &Advice{}
		for _, s := range tt.rows {
			a.Findings = append(a.Findings, Finding{Savings: s})
		}
		if got := a.outOfOrder(); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}
