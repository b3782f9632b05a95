package profile

import (
	"bytes"
	"compress/gzip"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/testrun"
)

// endless is a text that begins again and again.
type endless struct {
	text []byte
	read int
}

func (e *endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = e.text[(e.read+i)%len(e.text)]
	}
	e.read += len(b)
	return len(b), nil
}

// Input that is no profile and has no end is refused after a look at its beginning.
func TestParseEndless(t *testing.T) {
	for name, text := range map[string]string{
		"zeros":                             "\x00",
		"fields with the number 0":          "\x00\x01",
		"bytes with the number 0":           "\x02\x01a",
		"samples of fields with number 0":   "\x12\x7e" + strings.Repeat("\x00", 0x7e),
		"labels of fields with number 0":    "\x12\x04\x1a\x02\x00\x00",
		"locations of fields with number 0": "\x22\x02\x00\x00",
		"bytes that make no sense":          "\x00\xff\x07\x13",
	} {
		in := &endless{text: []byte(text)}
		_, err := Parse(in)
		var format *FormatError
		if !errors.As(err, &format) || !errors.Is(err, errUnrecognized) {
			t.Errorf("%s: %v, want an unrecognized format", name, err)
		}
		if in.read > 4<<20 {
			t.Errorf("%s: %d bytes were read", name, in.read)
		}
	}
	zeros := packed(t, "\x00", 64<<20)
	in := &endless{text: zeros}
	if _, err := Parse(in); !errors.Is(err, errUnrecognized) {
		t.Errorf("packed zeros: %v", err)
	}
	if in.read > len(zeros)/2 {
		t.Errorf("of %d bytes of packed zeros %d were read", len(zeros), in.read)
	}
}

// packed returns a text over and over, up to n bytes, in the form of gzip.
func packed(t *testing.T, text string, n int) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	block := bytes.Repeat([]byte(text), 1+(64<<10)/len(text))
	for done := 0; done < n; done += len(block) {
		if _, err := w.Write(block); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A small file does not take much memory, whatever it unpacks to.
func TestParsePackedEntries(t *testing.T) {
	testrun.Live(t, "reads gigabytes")
	const size = 40 << 20
	lines := strings.Repeat("\x22\x02\x08\x01", 30) // of function 1
	labels := strings.Repeat("\x1a\x04\x08\x01\x10\x01", 2<<20)
	for name, text := range map[string]string{
		"locations with nothing in them": "\x22\x00",
		"locations of one id":            "\x22\x02\x08\x01",
		"locations of an id above all":   "\x22\x06\x08\xff\xff\xff\xff\x0f",
		"locations of many lines":        "\x22\x7a\x08\x01" + lines,
		"functions with nothing in them": "\x2a\x00",
		"functions of one id":            "\x2a\x02\x08\x01",
		"mappings with nothing in them":  "\x1a\x00",
		"mappings of one id":             "\x1a\x02\x08\x01",
		"empty strings":                  "\x32\x00",
		"samples with nothing in them":   "\x12\x00",
		"samples of a value":             "\x12\x02\x10\x01",
		"samples of a location":          "\x12\x04\x08\x01\x10\x01",
		"comments":                       "\x68\x01",
		"comments in one field":          "\x6a\xff\xff\x3f" + strings.Repeat("\x01", 0xfffff),
		"a field that is long":           "\x32\xff\xff\xff\x1f",
		"a sample of labels":             "\x12\x80\x80\x80\x06" + labels,
		"samples of many values":         "\x12\x7e" + strings.Repeat("\x10\x01", 63),
		"sample types":                   "\x0a\x00",
	} {
		in := packed(t, text, size)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		p, err := ParseBytes(in)
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Errorf("%s: %d bytes were read as a profile of %d samples", name, len(in), p.NumSamples())
		}
		if made := after.TotalAlloc - before.TotalAlloc; made > 600<<20 {
			t.Errorf("%s: %d bytes take %d MB before they are refused (%v)", name, len(in), made>>20, err)
		}
	}
}
