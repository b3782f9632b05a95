package escape

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"strconv"
	"strings"
)

// ReadText reads what the compiler prints with -gcflags=-m or -m=2. What else is printed there is passed over. Files that are
// named from the folder of the build are taken to be in dir.
func ReadText(r io.Reader, dir string) (*Log, error) {
	t := textReader{out: &Log{}, dir: dir, heap: make(map[heapKey]int)}
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := readLine(in)
		if text, ok := bytes.CutSuffix(line, []byte("\n")); ok {
			line = text
		}
		t.line(string(bytes.TrimSuffix(line, []byte("\r"))))
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if len(t.out.Remarks) >= maxRemarks {
			t.out.note("only the first %d remarks of the compiler were read", maxRemarks)
			break
		}
	}
	t.flush()
	t.out.sort()
	return t.out, nil
}

// readLine reads a line, of which it keeps a bounded part: with -m=2 there are whole bodies of functions on one.
func readLine(in *bufio.Reader) ([]byte, error) {
	var out []byte
	for {
		part, err := in.ReadSlice('\n')
		if room := 16*maxText - len(out); room > 0 {
			out = append(out, part[:min(len(part), room)]...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return out, err
		}
	}
}

// A textReader puts the explanations of -m=2 to the remarks that they explain.
type textReader struct {
	out *Log
	dir string

	why    Remark // that the lines that follow explain
	inside bool   // there is one
	heap   map[heapKey]int
}

// A heapKey is what an explanation and the remark that comes after it have in common.
type heapKey struct {
	Place
	what string
}

func (t *textReader) line(s string) {
	at, message, ok := t.place(s)
	if !ok {
		return
	}
	if strings.HasPrefix(message, "  ") { // of an explanation
		if t.inside && at == t.why.Place && len(t.why.Flow) <= maxSteps {
			expr, place := strings.TrimSpace(message), at
			if i := strings.LastIndex(expr, " at "); i >= 0 && strings.HasPrefix(expr, "from ") {
				if p, _, ok := t.place(expr[i+len(" at "):] + ": "); ok {
					expr, place = expr[:i], p
				}
			}
			t.why.Flow = addStep(t.why.Flow, expr, place)
		}
		return
	}
	t.flush()
	r := Remark{Place: at}
	switch {
	case cutPrefix(message, "moved to heap: ", &r.What):
		r.Kind = Moved
		t.addHeap(r)
		return
	case cutSuffix(message, " escapes to heap", &r.What):
		r.Kind = Heap
		t.addHeap(r)
		return
	case cutSuffix(message, " does not escape", &r.What):
		r.Kind = Stack
	case cutPrefix(message, "inlining call to ", &r.What):
		r.Kind = Inlined
	case cutPrefix(message, "can inline ", &r.What):
		r.Kind = Inlinable
		if name, rest, ok := strings.Cut(r.What, " with cost "); ok {
			cost, _, _ := strings.Cut(rest, " ")
			r.What = name
			r.Cost, _ = strconv.Atoi(cost)
		}
	case cutPrefix(message, "cannot inline ", &r.What):
		r.Kind = TooBig
		name, reason, _ := strings.Cut(r.What, ": ")
		r.What, r.Reason = name, cut(reason)
		r.Cost, r.Budget = costOf(reason)
	case cutPrefix(message, "leaking param content: ", &r.What):
		r.Kind, r.Reason = Leak, "leaks to {heap}, what it points to"
	case cutPrefix(message, "leaking param: ", &r.What):
		r.Kind = Leak
		name, to, ok := strings.Cut(r.What, " to result ")
		if r.What, r.Reason = name, "leaks to {heap}"; ok {
			to, _, _ = strings.Cut(to, " level=")
			r.Reason = cut("leaks to " + to)
		}
	case message == "Found IsInBounds":
		r.Kind = Bounds
	case message == "Found IsSliceInBounds":
		r.Kind = SliceBound
	default:
		// "x escapes to heap in f:" comes before its explanation, and "x escapes to heap" after all of them.
		if what, _, ok := strings.Cut(strings.TrimSuffix(message, ":"), " escapes to heap in "); ok && strings.HasSuffix(message, ":") {
			t.why, t.inside = Remark{Kind: Heap, Place: at, What: cut(what)}, true
		}
		return
	}
	r.What = cut(r.What)
	t.out.Remarks = append(t.out.Remarks, r)
}

// flush ends an explanation. It stays until the remark itself is read.
func (t *textReader) flush() {
	if t.inside {
		t.addHeap(t.why)
		t.inside = false
	}
}

// addHeap adds a remark about an allocation. The one that an explanation was of says what kind it is.
func (t *textReader) addHeap(r Remark) {
	r.What = cut(r.What)
	key := heapKey{r.Place, r.What}
	if i, ok := t.heap[key]; ok {
		if t.out.Remarks[i].Flow == nil {
			t.out.Remarks[i].Flow = r.Flow
		} else {
			t.out.Remarks[i].Kind = r.Kind
		}
		return
	}
	t.heap[key] = len(t.out.Remarks)
	t.out.Remarks = append(t.out.Remarks, r)
}

// place reads "file.go:12:3: message".
func (t *textReader) place(s string) (p Place, message string, ok bool) {
	head, message, ok := strings.Cut(s, ": ")
	if !ok {
		return p, "", false
	}
	rest, column, ok := cutLast(head, ":")
	if !ok {
		return p, "", false
	}
	file, line, ok := cutLast(rest, ":")
	if !ok {
		return p, "", false
	}
	var err1, err2 error
	p.Line, err1 = strconv.Atoi(line)
	p.Column, err2 = strconv.Atoi(column)
	if err1 != nil || err2 != nil || p.Line <= 0 || p.Column < 0 || file == "" || len(file) > maxText || !strings.HasSuffix(file, ".go") {
		return p, "", false
	}
	p.File = file
	if t.dir != "" && !filepath.IsAbs(file) {
		p.File = filepath.Join(t.dir, filepath.FromSlash(file))
	}
	return p, message, true
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// cutPrefix sets to what follows prefix in s.
func cutPrefix(s, prefix string, to *string) bool {
	rest, ok := strings.CutPrefix(s, prefix)
	if ok {
		*to = rest
	}
	return ok
}

func cutSuffix(s, suffix string, to *string) bool {
	rest, ok := strings.CutSuffix(s, suffix)
	if ok {
		*to = rest
	}
	return ok
}
