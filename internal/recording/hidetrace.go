package recording

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/hone-perf/hone/internal/secret"
)

// Execution traces since Go 1.22 are batches of events, each of a generation. Texts have numbers, which are those of a generation, and stand in
// batches of their own. See internal/trace/tracev2 of Go.
const (
	traceBatch        = 1
	traceStrings      = 4
	traceString       = 5
	traceUserLog      = 44
	traceExperimental = 49
	traceEnd          = 52 // of a generation

	maxTraceBatch = 64 << 10
	maxTraceNames = 1 << 16 // texts that are named as secrets, and numbers of such texts
)

// traceArgs is how many numbers each event has, from 8 on, which is EvFrequency: those that are in batches of events. What is not known
// ends the look at a batch.
var traceArgs = []int{
	1,             // frequency
	3, 3, 1, 4, 3, // Ps
	4, 2, 3, 1, 1, 3, 3, 4, 3, 1, 1, 4, // goroutines
	3, 1, // stop the world
	2, 3, 2, 2, 2, 3, 2, 2, 1, 2, 2, // garbage collection
	2, 5, 3, 4, 4, 5, // labels, tasks, regions, logs
	3, 3, 4, 5,
}

const firstTraceArgs = 8

// A traceText is a text of a trace.
type traceText struct{ generation, number uint64 }

// hideTrace replaces secrets in the texts of an execution trace, among which are what the program logs with package trace. What is behind
// the last whole batch goes.
func hideTrace(file string, h *secret.Hider) error {
	named := map[traceText]bool{}           // texts that are names of secrets
	logs := map[traceText]map[uint64]bool{} // values that were logged, and the names they were logged with
	isCut, err := eachBatch(file, nil, func(b *traceBatchOf) error {
		b.strings(func(number uint64, text string) string {
			if len(named) < maxTraceNames && secret.Name(text) {
				named[traceText{b.generation, number}] = true
			}
			return text
		})
		b.logs(func(name, value uint64) {
			v := traceText{b.generation, value}
			if logs[v] == nil && len(logs) < maxTraceNames<<4 {
				logs[v] = map[uint64]bool{}
			}
			if of := logs[v]; of != nil {
				of[name] = true
			}
		})
		return nil
	})
	if err != nil {
		return err
	}
	changes := isCut // and what is left of its end may have a secret
	hide := func(b *traceBatchOf) error {
		b.strings(func(number uint64, text string) string {
			now := h.Text(text)
			for name := range logs[traceText{b.generation, number}] {
				if named[traceText{b.generation, name}] {
					now = h.Pair("password", text) // that is, whatever it looks like
				}
			}
			changes = changes || now != text
			return now
		})
		return nil
	}
	n := h.N
	if _, err := eachBatch(file, nil, hide); err != nil || !changes {
		return err
	}
	h.N = n // the same again
	return replaceFile(file, func(w io.Writer) error {
		_, err := eachBatch(file, w, hide)
		return err
	})
}

// A traceBatchOf is a batch of a trace.
type traceBatchOf struct {
	head       []byte // up to its size
	generation uint64
	data       []byte
	events     bool
}

var errOldTrace = errors.New("it is not in the format that Go has written since 1.22")

// eachBatch reads the batches of a trace, and writes them to w as do leaves them. The last one may be cut, which is left out then.
func eachBatch(file string, w io.Writer, do func(*traceBatchOf) error) (isCut bool, err error) {
	f, err := os.Open(file)
	if err != nil {
		return false, err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 2*maxTraceBatch)
	var out *bufio.Writer
	if w == nil {
		w = io.Discard
	}
	out = bufio.NewWriterSize(w, 2*maxTraceBatch)
	var head [16]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return false, &unreadableError{errOldTrace}
	}
	minor := 0
	if _, err := fmt.Sscanf(string(head[:]), "go 1.%d trace", &minor); err != nil || minor < 22 {
		return false, &unreadableError{errOldTrace}
	}
	out.Write(head[:])
	for {
		b, err := readTraceBatch(in)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return b != nil, out.Flush() // the program ended while it was being written
		}
		if err != nil {
			return false, &unreadableError{err}
		}
		if err := do(b); err != nil {
			return false, err
		}
		out.Write(b.head)
		if b.head[0] != traceEnd {
			out.Write(binary.AppendUvarint(nil, uint64(len(b.data))))
			out.Write(b.data)
		}
	}
}

// readTraceBatch reads a batch. One that is cut is returned, too.
func readTraceBatch(in *bufio.Reader) (b *traceBatchOf, err error) {
	kind, err := in.ReadByte()
	if err != nil {
		return nil, err
	}
	b = &traceBatchOf{head: []byte{kind}, events: kind == traceBatch}
	switch kind {
	case traceEnd:
		return b, nil
	case traceExperimental:
		which, err := in.ReadByte()
		if err != nil {
			return b, err
		}
		b.head = append(b.head, which)
	case traceBatch:
	default:
		return nil, fmt.Errorf("want a batch of events, found event %d", kind)
	}
	var size uint64
	for i := range 4 { // generation, thread, time, size
		v, err := binary.ReadUvarint(in)
		if err != nil {
			return b, err
		}
		if i == 0 {
			b.generation = v
		}
		if size = v; i < 3 {
			b.head = binary.AppendUvarint(b.head, v)
		}
	}
	if size > maxTraceBatch {
		return nil, fmt.Errorf("a batch of events has %d bytes", size)
	}
	b.data = make([]byte, size)
	_, err = io.ReadFull(in, b.data)
	return b, err
}

// strings changes the texts in a batch of texts.
func (b *traceBatchOf) strings(change func(number uint64, text string) string) {
	if !b.events || len(b.data) == 0 || b.data[0] != traceStrings {
		return
	}
	out := make([]byte, 1, len(b.data))
	out[0] = traceStrings
	for rest := b.data[1:]; len(rest) > 0; {
		number, n := binary.Uvarint(rest[1:])
		if rest[0] != traceString || n <= 0 {
			return
		}
		size, m := binary.Uvarint(rest[1+n:])
		from := 1 + n + m
		if m <= 0 || size > uint64(len(rest)-from) {
			return
		}
		text := string(rest[from : from+int(size)])
		now := change(number, text)
		if len(now) > len(text) {
			now = strings.Repeat("*", len(text)) // a batch that is full cannot grow
		}
		out = append(out, traceString)
		out = binary.AppendUvarint(out, number)
		out = binary.AppendUvarint(out, uint64(len(now)))
		out = append(out, now...)
		rest = rest[from+int(size):]
	}
	b.data = out
}

// logs tells the numbers of the texts that were logged.
func (b *traceBatchOf) logs(each func(name, value uint64)) {
	for rest := b.data; b.events && len(rest) > 0; {
		kind := int(rest[0])
		if kind < firstTraceArgs || kind-firstTraceArgs >= len(traceArgs) {
			return
		}
		rest = rest[1:]
		var args [5]uint64
		for i := range traceArgs[kind-firstTraceArgs] {
			v, n := binary.Uvarint(rest)
			if n <= 0 {
				return
			}
			args[i], rest = v, rest[n:]
		}
		if kind == traceUserLog {
			each(args[2], args[3])
		}
	}
}
