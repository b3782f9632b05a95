package query

import (
	"regexp"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/hint"
)

func TestPattern(t *testing.T) {
	for _, tt := range []struct{ in, want, matches string }{
		{"json", "json", "encoding/json.Marshal"},
		{"(*Parser).Parse", `\(\*Parser\).Parse`, "words.(*Parser).Parse"},
		{"^codec.(*Decoder).Decode$", `^codec.\(\*Decoder\).Decode$`, "codec.(*Decoder).Decode"},
		{"(*Set[...]).Put", `\(\*Set\[.*\]\).Put`, "main.(*Set[go.shape.string,go.shape.int]).Put"},
		{"(*Set[go.shape.string,go.shape.int]).Put", `\(\*Set\[go\.shape\.string,go\.shape\.int\]\).Put`, "main.(*Set[go.shape.string,go.shape.int]).Put"},
		{"main.Map[...]", `main.Map\[.*\]`, "main.Map[...].func1"},
		{"[...][...]", `\[.*\]\[.*\]`, "[x][y]"},
		{`a\[...]`, `a\[...]`, "a[xyz]"},
		{"(*A).F|(*B).G", `\(\*A\).F|\(\*B\).G`, "p.(*B).G"},
		// These are regexps already.
		{`\(\*Parser\).Parse`, `\(\*Parser\).Parse`, "words.(*Parser).Parse"},
		{`\(*T\)`, `\(*T\)`, "((T)"},
		{`[(*]`, `[(*]`, "p.(*B).G"},
		{`Map\[...\]`, `Map\[...\]`, "Map[...]"},
	} {
		got := Pattern(tt.in)
		if got != tt.want {
			t.Errorf("Pattern(%q) = %q, want %q", tt.in, got, tt.want)
		}
		if again := Pattern(got); again != got {
			t.Errorf("Pattern(%q) = %q", got, again)
		}
		if !regexp.MustCompile(got).MatchString(tt.matches) {
			t.Errorf("%q does not match %s", got, tt.matches)
		}
	}
	for _, text := range []string{"(*Dec", "(*", "*a", "(*)", "(*T)(", "hot(", "(*A).f|*[...]"} {
		if got := Pattern(text); got != text {
			t.Errorf("Pattern(%q) = %q, want it unchanged", text, got)
		}
	}
}

// A name that has a mistake comes with a pattern that matches what is named.
func TestHintOfName(t *testing.T) {
	err := CheckRegexp("(*Set[...]).Put(")
	if err == nil {
		t.Fatal("no error")
	}
	if next := hint.Next(err).String(); !strings.Contains(next, `write '\(\*Set\[.*\]\)\.Put\('`) {
		t.Errorf("the hint of %v is %s", err, next)
	}
}
