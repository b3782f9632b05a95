package escape

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Bounds of what is read. The standard library gives some 200,000 remarks.
const (
	maxRemarks = 1 << 20
	maxLine    = 4 << 20
	maxText    = 4 << 10 // of an expression
	maxSteps   = 200     // of a way to the heap
	maxFiles   = 20000
)

// ReadDir reads the optimization log that the compiler wrote into a folder.
func ReadDir(dir string) (*Log, error) {
	out := &Log{}
	files := 0
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(name) != ".json" {
			return err
		}
		if files++; files > maxFiles {
			out.note("only %d files of the compiler's log were read", maxFiles)
			return fs.SkipAll
		}
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := out.read(f); err != nil {
			return fmt.Errorf("reading the compiler's log %s: %w", name, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	out.sort()
	return out, nil
}

// What a line of the log is. The first of a file is a header.
type header struct {
	Version    int    `json:"version"`
	Package    string `json:"package"`
	GOOS       string `json:"goos"`
	GOARCH     string `json:"goarch"`
	GoVersion  string `json:"gc_version"`
	File       string `json:"file"`
	diagnostic        // or it is one of these
}

type diagnostic struct {
	Range   lineRange `json:"range"`
	Code    string    `json:"code"`
	Message string    `json:"message"`
	Related []struct {
		Location struct {
			URI   string    `json:"uri"`
			Range lineRange `json:"range"`
		} `json:"location"`
		Message string `json:"message"`
	} `json:"relatedInformation"`
}

type lineRange struct {
	Start struct {
		Line      int `json:"line"`
		Character int `json:"character"`
	} `json:"start"`
}

// read adds the remarks of one file.
func (l *Log) read(r io.Reader) error {
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 0, 64<<10), maxLine)
	file := ""
	bare := make(map[string]bool) // places of values, which are told twice: once without a word
	from := len(l.Remarks)
	for n := 1; in.Scan(); n++ {
		if len(bytes.TrimSpace(in.Bytes())) == 0 {
			continue
		}
		var h header
		if err := json.Unmarshal(in.Bytes(), &h); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		switch {
		case h.Code == "" && h.File == "" && n == 1:
			return fmt.Errorf("line 1: this is not an optimization log of the compiler")
		case h.Code == "":
			if h.Version != 0 {
				return fmt.Errorf("line %d: the log has version %d; known is 0", n, h.Version)
			}
			file, l.Go, l.OS, l.Arch = h.File, h.GoVersion, h.GOOS, h.GOARCH
			continue
		}
		if len(l.Remarks) >= maxRemarks {
			l.note("only the first %d remarks of the compiler were read", maxRemarks)
			break
		}
		rem, ok := h.remark(file)
		if !ok {
			bare[rem.place()] = true
			continue
		}
		l.Remarks = append(l.Remarks, rem)
	}
	if err := in.Err(); err != nil {
		return err
	}
	// A variable is told once, as it is no expression.
	for i := from; i < len(l.Remarks); i++ {
		if r := &l.Remarks[i]; r.Kind == Heap && !bare[r.place()] {
			r.Kind = Moved
		}
	}
	return nil
}

// place is a key of where a remark is.
func (r *Remark) place() string {
	var b strings.Builder
	for _, p := range append([]Place{r.Place}, r.Through...) {
		fmt.Fprintf(&b, "%s:%d:%d ", p.File, p.Line, p.Column)
	}
	return b.String()
}

var kindOf = map[string]Kind{
	"escape": Heap, "escapes": Heap, "leak": Leak, "canInlineFunction": Inlinable, "cannotInlineFunction": TooBig,
	"cannotInlineCall": CallKept, "isInBounds": Bounds, "isSliceInBounds": SliceBound, "nilcheck": NilCheck, "copy": Copied,
}

// remark makes a remark of an entry. It is not ok when the entry only repeats that a value is on the heap.
func (d *diagnostic) remark(file string) (r Remark, ok bool) {
	r.Place = Place{file, d.Range.Start.Line, d.Range.Start.Character}
	r.Kind, ok = kindOf[d.Code]
	if !ok {
		r.Kind, r.What = Other, cut(strings.Trim(d.Code, " :"))
		r.Reason = cut(d.Message)
	}
	inHead := true // places that belong to the remark itself come first
	for _, rel := range d.Related {
		at := Place{fileOf(rel.Location.URI), rel.Location.Range.Start.Line, rel.Location.Range.Start.Character}
		switch text, isFlow := strings.CutPrefix(rel.Message, "escflow: "); {
		case isFlow && len(r.Flow) <= maxSteps:
			inHead = false
			r.Flow = addStep(r.Flow, text, at)
		case rel.Message != "inlineLoc":
		case inHead:
			r.Through = append(r.Through, at)
		default:
			if how := lastNote(r.Flow); how != nil {
				how.Through = append(how.Through, at)
			}
		}
	}
	switch r.Kind {
	case Heap:
		if d.Message == "" {
			return r, false
		}
		r.What = cut(strings.TrimSuffix(d.Message, " escapes to heap"))
	case Leak:
		r.What, r.Reason = leakOf(d.Message)
	case Inlinable:
		r.Cost, _ = strconv.Atoi(strings.TrimPrefix(d.Message, "cost: "))
	case TooBig, CallKept:
		r.Reason = cut(d.Message)
		r.Cost, r.Budget = costOf(d.Message)
	case Copied:
		r.What = cut(d.Message)
	}
	return r, true
}

// leakOf takes "parameter p leaks to {heap} with derefs=0" apart.
func leakOf(message string) (what, reason string) {
	name, to, ok := strings.Cut(strings.TrimPrefix(message, "parameter "), " leaks to ")
	if !ok {
		return "", cut(message)
	}
	to, derefs, _ := strings.Cut(to, " with derefs=")
	if n, _ := strconv.Atoi(derefs); n > 0 {
		to += ", what it points to"
	}
	return cut(name), cut("leaks to " + to)
}

// costOf reads the cost and the limit in "function too complex: cost 94 exceeds budget 80" and in
// "cost 65 of p.F exceeds max caller cost 20".
func costOf(reason string) (cost, budget int) {
	_, rest, ok := strings.Cut(reason, "cost ")
	if !ok {
		return 0, 0
	}
	number, rest, _ := strings.Cut(rest, " ")
	cost, _ = strconv.Atoi(number)
	budget, _ = strconv.Atoi(rest[strings.LastIndexByte(rest, ' ')+1:])
	return cost, budget
}

// fileOf returns the file that a URI names.
func fileOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" {
		return uri
	}
	name := u.Path
	if len(name) > 2 && name[0] == '/' && name[2] == ':' {
		name = name[1:] // C:\
	}
	return cmp.Or(name, u.Opaque)
}

// cut bounds a text.
func cut(s string) string {
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(s[:maxText], "") + "…"
}

func (l *Log) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	for _, n := range l.Notes {
		if n == text {
			return
		}
	}
	l.Notes = append(l.Notes, text)
}

// addStep adds a line of an explanation: "flow: {heap} ← &x:", or "from x = y (assign)".
func addStep(flow []Flow, text string, at Place) []Flow {
	text = strings.TrimSpace(text)
	if rest, ok := strings.CutPrefix(text, "flow: "); ok {
		rest = strings.TrimSuffix(rest, ":")
		to, from, ok := strings.Cut(rest, " ← ")
		if !ok {
			to, from, _ = strings.Cut(rest, " = ") // as it was written before Go 1.26
		}
		f := Flow{To: cut(to)}
		switch name := strings.TrimLeft(from, "*"); {
		case strings.HasPrefix(from, "&"):
			f.Derefs, f.From = -1, cut(from[1:])
		default:
			f.Derefs, f.From = len(from)-len(name), cut(name)
		}
		return append(flow, f)
	}
	rest, ok := strings.CutPrefix(text, "from ")
	if !ok || len(flow) == 0 {
		return flow
	}
	n := Note{Expr: rest, Place: at}
	if i := strings.LastIndex(rest, " ("); i >= 0 && strings.HasSuffix(rest, ")") {
		n.Expr, n.Why = rest[:i], rest[i+2:len(rest)-1]
	}
	n.Expr, n.Why = cut(n.Expr), cut(n.Why)
	last := &flow[len(flow)-1]
	if len(last.How) < maxSteps {
		last.How = append(last.How, n)
	}
	return flow
}

func lastNote(flow []Flow) *Note {
	if len(flow) == 0 || len(flow[len(flow)-1].How) == 0 {
		return nil
	}
	how := flow[len(flow)-1].How
	return &how[len(how)-1]
}
