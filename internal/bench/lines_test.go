package bench

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf16"
)

// letters are as many of one letter as somebody wants to read.
type letters struct{ read int }

func (l *letters) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	l.read += len(b)
	return len(b), nil
}

const result = "BenchmarkA-8 \t 100 \t 12.5 ns/op"

// A line without an end is neither kept nor read for long, and what is in front of it is.
func TestReadEndlessLine(t *testing.T) {
	in := &letters{}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f, err := Open(io.MultiReader(strings.NewReader(result+"\n"), in), "x")
	runtime.ReadMemStats(&after)
	if err != nil || len(f.Results) != 1 {
		t.Fatalf("%d results, %v", len(f.Results), err)
	}
	var said []string
	for _, n := range f.Notes {
		said = append(said, n.In("x"))
	}
	if got := strings.Join(said, "; "); got != "dropped: what is behind the first 16MB of a line (x:2); dropped: line longer than 60kB (x:2)" {
		t.Errorf("notes: %s", got)
	}
	if in.read > 17<<20 {
		t.Errorf("%d bytes were read", in.read)
	}
	if made := after.TotalAlloc - before.TotalAlloc; made > 32<<20 {
		t.Errorf("%d MB were allocated", made>>20)
	}
}

// Behind a line that is too long, text goes on as it was, also in UTF-16.
func TestReadAfterLongLine(t *testing.T) {
	wide := func(order binary.AppendByteOrder, text string) (b []byte) {
		for _, u := range utf16.Encode([]rune("\ufeff" + text)) {
			b = order.AppendUint16(b, u)
		}
		return b
	}
	for _, n := range []int{maxLine - 1, maxLine + 1, keptLine - 1, keptLine, keptLine + 1, keptLine + 2, 3 * keptLine} {
		text := result + "\n" + strings.Repeat("x", n) + "\n" + strings.Replace(result, "A", "B", 1) + "\n"
		for name, b := range map[string][]byte{
			"UTF-8": []byte(text), "UTF-16, little end first": wide(binary.LittleEndian, text), "UTF-16, big end first": wide(binary.BigEndian, text),
		} {
			for _, r := range []io.Reader{bytes.NewReader(b), iotest.HalfReader(bytes.NewReader(b)), iotest.DataErrReader(bytes.NewReader(b))} {
				f, err := Read(r, "x")
				if err != nil || len(f.Results) != 2 || f.Results[1].Name != "B" || f.Results[1].Line != 3 {
					t.Errorf("%s, a line of %d letters: %+v, %v", name, n, f.Results, err)
				}
			}
		}
	}
}

func TestReadTextLimit(t *testing.T) {
	text := strings.Repeat("a line\n", 100)
	for _, limit := range []int{0, 1, 7, 699, 700, 701} {
		got, err := ReadText(strings.NewReader(text), limit)
		if err != nil || string(got.Bytes) != text[:min(limit, len(text))] || (got.Lost != "") != (limit < len(text)) {
			t.Errorf("up to %d bytes: %q, lost %q, %v", limit, got.Bytes, got.Lost, err)
		}
	}
	broken := errors.New("broken")
	got, err := ReadText(io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)), 1000)
	if err != broken || string(got.Bytes) != text {
		t.Errorf("of a file that breaks off: %d bytes, %v", len(got.Bytes), err)
	}
}
