package prompt

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"golang.org/x/term"
)

// letters are a line without an end, as /dev/zero is one.
type letters struct{ read int }

func (l *letters) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	if l.read += len(b); l.read > 16*maxLine {
		return 0, io.EOF // only when somebody reads without a limit
	}
	return len(b), nil
}

// A line that has no end is refused, and not read for ever.
func TestLongLine(t *testing.T) {
	env := func(string) string { return "" }
	in := &letters{}
	p := New(in, io.Discard, io.Discard, env)
	if line, err := p.ReadLine(t.Context(), ""); err == nil || err == io.EOF || !strings.Contains(err.Error(), "more than 64kB") {
		t.Errorf("a line without an end: %d bytes, %v", len(line), err)
	}
	if in.read > 2*maxLine {
		t.Errorf("%d bytes were read; want no more than a line may have", in.read)
	}
	p = New(strings.NewReader("one\n"+strings.Repeat("y", maxLine-1)+"\nthree"), io.Discard, io.Discard, env)
	for _, want := range []int{4, maxLine, 5} {
		line, err := p.ReadLine(t.Context(), "")
		if len(line) != want || err != nil && (err != io.EOF || want != 5) {
			t.Errorf("a line of %d bytes, %v; want %d", len(line), err, want)
		}
	}
}

// Lines are broken between words, and in a list what a name means stays in its column.
func TestWrap(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"", ""},
		{"short\n", "short\n"},
		{"exactly twenty chars\n", "exactly twenty chars\n"},
		{"one line of twenty-one\nand another\n", "one line of\ntwenty-one\nand another\n"},
		{"  k=RX  keep what has the word\n", "  k=RX  keep what\n        has the word\n"},
		{"  … > F  keep what has the word\n", "  … > F  keep what\n         has the\n         word\n"},
		{"  a list of a single column and more", "  a list of a single\n  column and more\n"},
		{"wordsthatareverylongindeed stay whole", "wordsthatareverylongindeed\nstay whole\n"},
	} {
		if got := Wrap(tt.in, 20); got != tt.want {
			t.Errorf("Wrap(%q, 20) is\n%s\nwant\n%s", tt.in, got, tt.want)
		}
	}
}

// Ctrl-C gives up the line, not the session.
func TestInterrupt(t *testing.T) {
	for in, want := range map[string]string{
		"top\x03list main\r": "list main", "top\x02\x02\x03list\r": "list", "\x03\x03top\r": "top", "top\r": "top",
	} {
		for _, from := range []io.Reader{strings.NewReader(in), iotest.OneByteReader(strings.NewReader(in))} {
			rw := struct {
				io.Reader
				io.Writer
			}{&keys{from: from}, io.Discard}
			if got, err := term.NewTerminal(rw, "").ReadLine(); got != want || err != nil {
				t.Errorf("%q is %q, %v; want %q", in, got, err, want)
			}
		}
	}
}
