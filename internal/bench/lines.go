package bench

import (
	"bytes"
	"fmt"
	"io"

	"github.com/hone-perf/hone/internal/unit"
)

// Limits on lines. Of go test -json one may be long, with many letters that are written as six.
const (
	keptLine    = 1 << 20  // bytes of a line that are kept
	endlessLine = 16 << 20 // bytes of one from which on it is no text
)

// A Text is what was read of a file, before it is known what it says.
type Text struct {
	Bytes []byte
	Lost  string // what of it is not in Bytes, in words; "" is nothing
	at    int    // the line that Bytes end in where something is lost, from 1
}

// ReadText reads r to its end, or up to limit bytes of it. Of a line it keeps the first MB, and ends in one of 16 MB: what is so long
// is no text, and may have no end. When reading fails, it returns what it has.
func ReadText(r io.Reader, limit int) (*Text, error) {
	t := &Text{}
	buf := make([]byte, 64<<10)
	read, line, dropped := 0, 0, 0 // bytes in all, of this line, and of this line that were not kept
	last := byte(0)                // before b
	for {
		n, err := r.Read(buf[:min(len(buf), limit-read+1)])
		read += n
		b := buf[:n-max(0, read-limit)]
		for len(b) > 0 {
			part, _, ends := bytes.Cut(b, []byte("\n"))
			if ends {
				part = b[:len(part)+1]
			}
			b = b[len(part):]
			keep := part[:min(len(part), max(0, keptLine-line))]
			t.Bytes = append(t.Bytes, keep...)
			dropped += len(part) - len(keep)
			line += len(part)
			if len(part) > 1 {
				last = part[len(part)-2]
			}
			if ends && dropped > 0 {
				// An even number goes: text may be in UTF-16.
				if dropped%2 == 0 {
					t.Bytes = append(t.Bytes, last)
				}
				t.Bytes = append(t.Bytes, '\n')
			}
			last = part[len(part)-1]
			switch {
			case ends:
				line, dropped = 0, 0
			case line > endlessLine:
				t.lose(fmt.Sprintf("what is behind the first %s of a line", unit.Size(endlessLine)))
				return t, nil
			}
		}
		switch {
		case read > limit:
			t.lose(fmt.Sprintf("what is behind the first %s", unit.Size(int64(limit))))
			return t, nil
		case err == io.EOF:
			return t, nil
		case err != nil:
			return t, err
		}
	}
}

func (t *Text) lose(what string) {
	t.Lost, t.at = what, 1+bytes.Count(t.Bytes, []byte("\n"))
}
