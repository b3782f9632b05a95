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
