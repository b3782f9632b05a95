package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/view"
	"github.com/hone-perf/hone/internal/views"
)

// run runs hone in an empty folder.
func run(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	sys := System{
		In: strings.NewReader(""), Out: &out, Err: &errs,
		Env: func(string) string { return "" }, Dir: t.TempDir(), Zone: time.UTC,
	}
	code = Main(context.Background(), sys, args)
	return code, out.String(), errs.String()
}

// The help of every view has examples, and each example gets far enough to look for its file.
func TestExamples(t *testing.T) {
	t.Chdir(t.TempDir())
	for v := range views.All() {
		if v.Part != view.Profile {
			continue // its command has other examples
		}
		_, help, _ := run(t, v.Name, "--help")
		lines := examples(v)
		if len(lines) == 0 {
			t.Errorf("%s has no example", v.Name)
		}
		for _, line := range lines {
			if !strings.Contains(help, "  "+line+"\n") {
				t.Errorf("help of %s lacks %s:\n%s", v.Name, line, help)
			}
			code, _, errs := run(t, promptWords(line)[1:]...)
			if code != exitFailed || !strings.Contains(errs, ": no such file") {
				t.Errorf("%s: exit code %d, %s", line, code, errs)
			}
		}
	}
}

// With any arguments, hone prints something and ends.
func TestOddArguments(t *testing.T) {
	t.Chdir(t.TempDir())
	long := strings.Repeat("x", 1<<20)
	tests := [][]string{
		{""}, {"-"}, {"--"}, {"---"}, {"-="}, {"--="}, {"--", "--"}, {"\x00"}, {"\xff\xfe"}, {long}, {"--" + long},
		{"top", ""}, {"top", "\x00"}, {"top", "-"}, {"top", "--", "-n"}, {"top", "-n"}, {"top", "-n="}, {"top", "--by"},
		{"top", "--by="}, {"top", "--focus="}, {"top", "--focus", long, "x"}, {"top", "--focus", strings.Repeat("(", 5000), "x"},
		{"top", "--tag", "="}, {"top", "--seconds", "-1"}, {"top", "--seconds=1e9"}, {"top", "[", "*["}, {"top", long},
		{"list"}, {"list", ""}, {"list", "("}, {"list", strings.Repeat("a|", 100_000), "x"}, {"diff", "a", "b", "c"},
		{"diff", "--base"}, {"merge"}, {"merge", "-o"}, {"merge", "-o", "", "x"}, {"help", "help"}, {"help", ""},
		{"help", "top", "x"}, {"completion"}, {"completion", ""}, {"completion", "bash", "x"}, {"__complete"},
		{"__complete", "top", "--metric", ""}, {"__complete", "top", ".", "--metric", ""}, {"pprof"}, {"version", ""},
		{"--color"}, {"--color=", "x"}, {"-o", "/", "x"}, {"--json=maybe", "x"},
	}
	for _, args := range tests {
		code, out, errs := run(t, args...)
		if out+errs == "" {
			t.Errorf("hone %.80q: exit code %d without a word", args, code)
		}
	}
}

func TestWrap(t *testing.T) {
	tests := []struct {
		text string
		cols int
		want string
	}{
		{"keep it whole", 0, "keep it whole"},
		{"keep it whole", 5, "keep it whole"},
		{"a line that is cut at blanks", 16, "a line that is|cut at blanks"},
		{"averyveryverylongword next", 16, "averyveryverylongword|next"},
	}
	for _, tt := range tests {
		if got := strings.Join(wrap(tt.text, tt.cols), "|"); got != tt.want {
			t.Errorf("wrap(%q, %d) = %q, want %q", tt.text, tt.cols, got, tt.want)
		}
	}
}
