package ab

import (
	"bytes"
	"fmt"
)

// headerRoom is how much of an answer ab keeps to look for its header in.
const headerRoom = 8191

// An answerHead is the beginning of an answer, for -v 2 and above.
type answerHead struct {
	text  []byte
	ended bool // the header is complete
}

// heard shows what comes of answers: what there is of the header each time that there is more of it, with what of the body came with it,
// and the status as ab finds it.
func (b *bench) heard(conn int, begins bool, piece []byte) {
	if b.heads == nil {
		b.heads = make([]answerHead, b.concurrency)
	}
	h := &b.heads[conn]
	if begins {
		h.text, h.ended = h.text[:0], false
	}
	if h.ended || len(h.text) == headerRoom {
		return
	}
	h.text = append(h.text, piece[:min(len(piece), headerRoom-len(h.text))]...)
	text, _, _ := bytes.Cut(h.text, []byte{0}) // which ends a text in C
	fmt.Fprintf(b.sys.Out, "LOG: header received:\n%s\n", text)
	if !bytes.Contains(text, []byte("\r\n\r\n")) && !bytes.Contains(text, []byte("\n\n")) {
		return
	}
	h.ended = true
	code := "500"
	const before = len("HTTP/1.x ")
	if i := bytes.Index(text, []byte("HTTP")); i >= 0 && len(text)-i > before {
		code = string(text[i+before : min(i+before+3, len(text))])
	}
	switch {
	case code[0] != '2':
		fmt.Fprintf(b.sys.Out, "WARNING: Response code not 2xx (%s)\n", code)
	case b.verbosity >= 3:
		fmt.Fprintf(b.sys.Out, "LOG: Response code = %s\n", code)
	}
}
