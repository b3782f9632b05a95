package prove

import "testing"

// TestCallsFor holds that it takes more calls to say that versions do the same, the more of what changed they reach, and the more texts
// that compares with. What did not change adds none.
func TestCallsFor(t *testing.T) {
	g := guardsOf(t, `package g

func Len(s string) int { return len(s) }

func Kind(s string) int {
	switch s[0] {
	case '"', '#':
		return word(s)
	}
	return 0
}

func word(s string) int {
	if s == "one" || s == "two" {
		return 1
	}
	return 2
}

func Loud(s string) int { return Kind(s + "!" + "?" + "#") }
`, "package g\n")
	s := &surface{pair: &pair{new: g.side}, changes: map[string]int{"Len": 0, "Kind": 0, "word": 0, "Loud": 1}}
	far := map[string]reach{"Len": {reached: 1}, "Kind": {reached: 8}, "word": {reached: 4}, "Loud": {reached: 300}}
	for key, want := range map[string]int{"Len": callsNeeded, "word": callsNeeded, "Kind": callsNeeded + 4*callsBlock + 4*callsText, "Loud": callsNeeded + 4*callsBlock + 4*callsText} {
		if got := s.callsFor(key, far); got != want {
			t.Errorf("%s takes %d calls, want %d", key, got, want)
		}
	}
	far["word"] = reach{reached: 1000}
	if got := s.callsFor("Kind", far); got != callsMost {
		t.Errorf("much code takes %d calls, want %d", got, callsMost)
	}
}

func TestClosest(t *testing.T) {
	tests := []struct {
		enough []callsOf
		want   string
	}{
		{[]callsOf{{"tag", 2155, 1000}}, "tag had 2155 calls, at least 1000 are required"},
		{[]callsOf{{"Other", 9000, 1000}, {"tag", 2155, 1000}}, "of the changed functions, tag had the fewest calls: 2155, at least 1000 are required"},
		{[]callsOf{{"Parse", 12000, 10000}, {"tag", 2155, 1000}}, "of the changed functions, Parse came closest to the required number of calls: 12000, at least 10000 are required"},
	}
	for _, tt := range tests {
		if got := (&run{enough: tt.enough}).closest(); got != tt.want {
			t.Errorf("closest of %v is %q; want %q", tt.enough, got, tt.want)
		}
	}
}
