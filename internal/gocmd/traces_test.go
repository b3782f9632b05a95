package gocmd

import (
	"slices"
	"strings"
	"testing"
)

func TestUntraced(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"A=1", "A=1"},
		{"GODEBUG=http2client=0 A=1", "GODEBUG=http2client=0 A=1"},
		{"GODEBUG=gctrace=1 A=1", "GODEBUG=gctrace=1 A=1 GODEBUG="},
		{"GODEBUG=x=1,gctrace=1,y=2,schedtrace=1000", "GODEBUG=x=1,gctrace=1,y=2,schedtrace=1000 GODEBUG=x=1,y=2"},
		{"GODEBUG=gctrace=1 GODEBUG=x=1", "GODEBUG=gctrace=1 GODEBUG=x=1"},
	} {
		if got := untraced(strings.Fields(tt.in)); !slices.Equal(got, strings.Fields(tt.want)) {
			t.Errorf("untraced(%s) = %s, want %s", tt.in, got, tt.want)
		}
	}
}
