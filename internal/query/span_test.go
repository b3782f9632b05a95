package query

import (
	"testing"
	"time"
)

func TestSpan(t *testing.T) {
	tests := []struct {
		in   string
		want Span
		out  string // "" when in is refused
	}{
		{"3s..9s", Span{3 * time.Second, 9 * time.Second}, "3s..9s"},
		{"3..9.5", Span{3 * time.Second, 9500 * time.Millisecond}, "3s..9.5s"},
		{"1m30s..", Span{From: 90 * time.Second}, "1m30s.."},
		{"..500ms", Span{To: 500 * time.Millisecond}, "..500ms"},
		{"0s..1s", Span{To: time.Second}, "..1s"},
		{"3s", Span{3 * time.Second, 3 * time.Second}, "3s"},
		{in: ".."}, {in: "0s.."}, {in: "0s..0s"}, {in: "0s"}, {in: "9s..3s"}, {in: "3s..3s"}, {in: "-1s..2s"}, {in: "a..b"},
		{in: "1e300.."}, {in: "NaN.."}, {in: "Inf.."}, {in: "1s...."},
	}
	for _, tt := range tests {
		q, err := Parse("gc at=" + tt.in)
		if (err != nil) != (tt.out == "") || err == nil && (q.At != tt.want || q.At.String() != tt.out) {
			t.Errorf("at=%s is %+v, %v, want %+v", tt.in, q.At, err, tt.want)
		}
		if err == nil {
			roundTrip(t, q)
		}
	}
	if s := (Span{3 * time.Second, 9 * time.Second}); s.Holds(2*time.Second) || !s.Holds(3*time.Second) || s.Holds(9*time.Second) {
		t.Errorf("%v holds the wrong times", s)
	}
	for _, in := range []string{"gc process=0", "gc process=-1", "gc process=x"} {
		if _, err := Parse(in); err == nil {
			t.Errorf("%s is read", in)
		}
	}
	q, err := Parse("gc process=2 at=1s..")
	if err != nil || q.Process != 2 {
		t.Errorf("process=2 is %d, %v", q.Process, err)
	}
	roundTrip(t, q)
}
