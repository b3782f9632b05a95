package cli

import "testing"

func TestLanding(t *testing.T) {
	for _, tt := range []struct {
		refs, base []string
		want       string
	}{
		{[]string{"run.hone"}, nil, "overview"},
		{[]string{"a.hone", "b.hone"}, nil, "overview"},
		{[]string{"cpu.pprof"}, nil, "flame"},
		{[]string{"run.hone", "cpu.pprof"}, nil, "flame"},
		{[]string{"localhost:6060"}, nil, "flame"},
		{[]string{"run.hone"}, []string{"old.hone"}, "flame"},
	} {
		if got := landing(tt.refs, tt.base); got != tt.want {
			t.Errorf("%v against %v opens %s, want %s", tt.refs, tt.base, got, tt.want)
		}
	}
}
