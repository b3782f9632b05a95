package report

import "testing"

// A patch that was cut short was tried, so the heading of its table does not deny that.
func TestFixesLeft(t *testing.T) {
	for _, tt := range []struct {
		left []Fixed
		want string
	}{
		{[]Fixed{{Reason: "there was no time"}}, "not tried"},
		{[]Fixed{{Reason: "time ran out while it was tried", Unfinished: true}, {Reason: "there was no time"}}, "not finished or not tried"},
	} {
		if got := find[Table](t, &Fixes{Left: tt.left}).Title; got != tt.want {
			t.Errorf("%v: the table is %q; want %q", tt.left, got, tt.want)
		}
	}
}
