package bench

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/hone-perf/hone/internal/unit"
)

// Limits on what a file of unknown origin can make us read.
const (
	maxFile    = 64 << 20 // bytes
	maxLine    = 60 << 10 // bytes; benchfmt gives up at 64 KB
	maxResults = 1 << 20
	maxKept    = 2 << 20 // lines that may be results or about them
	maxValues  = 64      // of a result
	maxFacts   = 64      // of a result
	maxChanges = 4 << 20 // facts of all results that do not share those of the one before
)

// A line of text and where it began.
type line struct {
	no   int
	text string
	cut  bool // the file ends in it
}

// scan cuts a file into lines. Lines that one process wrote, one after the other, are a stream. Most files are one; go
// test -json mixes those of packages that it tests at the same time. What open returns takes the lines of one stream.
func (t *Text) scan(say *notes, open func() func(line)) {
	b := t.Bytes
	switch {
	case len(b) > maxFile:
		b = b[:maxFile]
		say.add(Dropped, 1+bytes.Count(b, []byte("\n")), fmt.Sprintf("what is behind the first %s", unit.Size(maxFile)))
	case t.Lost != "":
		say.add(Dropped, t.at, t.Lost)
	}
	d := demux{say: say, new: open, at: make(map[string]int)}
	text := decode(b, say)
	for no := 1; len(text) > 0; no++ {
		s, rest, whole := strings.Cut(text, "\n")
		text = rest
		s = strings.TrimSuffix(s, "\r")
		if strings.ContainsRune(s, 0x1b) {
			s = colors().ReplaceAllString(s, "")
		}
		if len(s) > maxLine && !strings.HasPrefix(s, "{") {
			say.add(Dropped, no, fmt.Sprintf("line longer than %s", unit.Size(maxLine)))
			continue
		}
		d.line(line{no: no, text: s, cut: !whole})
	}
	d.end()
}

// colors are sequences that color text in terminals.
var colors = pattern("\x1b\\[[0-9;]*m")

// decode returns text as UTF-8 without a byte order mark.
func decode(b []byte, say *notes) string {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(b, []byte("\xef\xbb\xbf")):
		say.add(Mended, 1, "byte order mark before the first line")
		b = b[3:]
	case bytes.HasPrefix(b, []byte("\xff\xfe")):
		order, b = binary.LittleEndian, b[2:]
	case bytes.HasPrefix(b, []byte("\xfe\xff")):
		order, b = binary.BigEndian, b[2:]
	default:
		order = wide(b)
	}
	if order == nil {
		if !utf8.Valid(b) {
			no := 0
			for l := range bytes.Lines(b) {
				if no++; !utf8.Valid(l) {
					break
				}
			}
			say.add(Odd, no, "text that is not UTF-8")
		}
		return string(b)
	}
	say.add(Mended, 1, "text in UTF-16, as some shells write it with >")
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = order.Uint16(b[2*i:])
	}
	return strings.TrimPrefix(string(utf16.Decode(units)), "\ufeff")
}

// wide returns the order of bytes in text that is UTF-16 without saying so: every other byte is zero.
func wide(b []byte) binary.ByteOrder {
	b = b[:min(len(b), 512)&^1]
	var zero [2]int
	for i, c := range b {
		if c == 0 {
			zero[i%2]++
		}
	}
	most := len(b) / 4
	switch {
	case most > 0 && zero[1] > most && zero[0] == 0:
		return binary.LittleEndian
	case most > 0 && zero[0] > most && zero[1] == 0:
		return binary.BigEndian
	}
	return nil
}

// A demux takes apart what go test -json writes.
type demux struct {
	say  *notes
	new  func() func(line)
	at   map[string]int // places of streams, by package; that of text is ""
	to   []func(line)
	open []line // of each stream, a line whose end is still to come; no is 0 when there is none
}

// An event is a line of go test -json.
type event struct {
	Action, Package, Output string
}

func (d *demux) line(l line) {
	if !strings.HasPrefix(l.text, "{") || !strings.Contains(l.text, `"Action"`) {
		d.to[d.stream("")](l)
		return
	}
	var e event
	if err := json.Unmarshal([]byte(l.text), &e); err != nil {
		d.say.add(Dropped, l.no, "torn line of go test -json")
		return
	}
	if e.Action != "output" {
		return
	}
	// A benchmark is one event when it begins and one when it has ended, both on the same line.
	k := d.stream(e.Package)
	for text := e.Output; text != ""; {
		s, rest, whole := strings.Cut(text, "\n")
		text = rest
		o := &d.open[k]
		if o.no == 0 {
			o.no = l.no
		}
		if len(o.text)+len(s) > maxLine {
			d.say.add(Dropped, l.no, fmt.Sprintf("line longer than %s", unit.Size(maxLine)))
			*o = line{}
			continue
		}
		o.text += s
		if whole {
			o.text = strings.TrimSuffix(o.text, "\r")
			d.to[k](*o)
			*o = line{}
		}
	}
}

// stream returns the place of the stream of a package.
func (d *demux) stream(pkg string) int {
	k, ok := d.at[pkg]
	if !ok {
		k = len(d.to)
		d.at[pkg] = k
		d.to = append(d.to, d.new())
		d.open = append(d.open, line{})
	}
	return k
}

// end hands out lines that never ended.
func (d *demux) end() {
	for k, l := range d.open {
		if l.no != 0 {
			l.cut = true
			d.to[k](l)
		}
	}
}
