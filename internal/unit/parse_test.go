package unit

import "testing"

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{
		"500MB": 500 << 20, "1.5 gb": 3 << 29, "20GB": 20 << 30, "2tb": 2 << 40, "7kB": 7 << 10,
		"": 0, "20": 0, "GB": 0, "-1GB": 0, "0MB": 0, "NaNMB": 0, "1e30GB": 0,
	} {
		if got, ok := ParseSize(text); got != want || ok != (want > 0) {
			t.Errorf("%q: %d, %v, want %d", text, got, ok, want)
		}
	}
}
