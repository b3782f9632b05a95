package query_test

import (
	"testing"

	"github.com/hone-perf/hone/internal/query"
)

func TestSmartCase(t *testing.T) {
	for _, test := range []struct {
		in    string
		exact bool
	}{
		{"mallocgc", false},
		{"mallocGC", true},
		{"Marshal", true},
		{"", false},
		{`^main\.`, false},
		{`\S+\.\W`, false},
		{`\p{Lu}x`, false},
		{`\PLx`, false},
		{`\\Sort`, true}, // a backslash, then a capital
		{`(?P<Name>x)`, false},
		{`(?P<name>X)`, true},
		{`(?U)a+`, false},
		{`(?s:A)`, true},
		{"[A-Z]", true},
		{"straße", false},
		{"Ünder", true},
		{`x\`, false},
	} {
		want := "(?i)" + test.in
		if test.exact {
			want = test.in
		}
		if got := query.SmartCase(test.in); got != want {
			t.Errorf("SmartCase(%q) = %q, want %q", test.in, got, want)
		}
	}
}
