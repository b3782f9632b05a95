// Package worker is the part of prove that is built into both versions of a package. It makes arguments from descriptions, calls functions
// with them, and reports the results in a form that can be compared with the results of another process.
//
// A Program is a list of calls. Serve reads programs, and answers each one with observations: either lines of text, or one hash for each
// step and layer. The hashes are enough for a search until two versions differ.
package worker

import (
	"encoding/binary"
	"errors"
)

// A Kind says what a Value describes.
type Kind byte

// The kinds of values. What is in brackets is where the rest of the Value says how.
const (
	Zero    Kind = iota // zero value of its type: nil, 0, ""
	Bool                // [Int] 0 or 1
	Int                 // [Int] all integers; unsigned ones as the same bits
	Float               // [Int] bits of a float64; both parts of a complex number are it
	String              // [Text] strings, and slices of bytes
	List                // [Elems] slices and arrays
	Map                 // [Elems] key, value, key, value…
	Struct              // [Names, Elems] fields that are not zero
	Ptr                 // [Elems] to one value
	Iface               // [Text, Elems] a value of the type that Text names
	Func                // [Int] a stub that answers by what it is asked; Int makes it another one
	Chan                // [Elems] closed, with these in it
	Ref                 // [Int] result Int&255 of step Int>>8
	Same                // [Int] argument Int&255 of step Int>>8, the same and not a copy
	Reader              // [Text, Int] what can be read, and how: see the modes of readers
	Writer              // [Int] how it takes what is written: see the modes of writers
	Request             // [Text, Names, Elems] "GET /path", names and values of headers, then the body
	Context             // [Int] 1 is canceled
	Error               // [Text] an error with this text; "EOF" is io.EOF
	Time                // [Int, Text] nanoseconds since 1970, in UTC; with the text Seconds, seconds
	lastKind
)

// Seconds is the text of a time that is too far away for nanoseconds.
const Seconds = "s"

// Modes of readers.
const (
	ReadAll     = iota // as much as is asked for
	ReadOne            // one byte at a time
	ReadWithEOF        // the last bytes together with io.EOF
	ReadFail           // an error in place of io.EOF
)

// Modes of writers: 0 takes everything, 1 nothing, and n fails after n-1 bytes.
const (
	WriteAll  = 0
	WriteNone = 1
)

// A Value describes an argument. It is made twice, once for each version.
type Value struct {
	Kind  Kind
	Int   int64
	Text  string
	Names []string
	Elems []Value
}

// A Step is one call. Args begin with the receiver, when there is one.
type Step struct {
	Func int // in the table of functions
	Args []Value
}

// A Program is calls that follow each other.
type Program struct {
	Steps []Step
	After bool // see what is shared: change arguments and results in place, and look again
}

// Limits of what is decoded.
const (
	maxDepth = 64
	maxItems = 1 << 20
)

var errDamaged = errors.New("the description of a call is damaged")

// Append adds p in binary.
func (p *Program) Append(b []byte) []byte {
	after := uint64(0)
	if p.After {
		after = 1
	}
	b = binary.AppendUvarint(b, after)
	b = binary.AppendUvarint(b, uint64(len(p.Steps)))
	for i := range p.Steps {
		b = binary.AppendUvarint(b, uint64(p.Steps[i].Func))
		b = appendValues(b, p.Steps[i].Args)
	}
	return b
}

func appendValues(b []byte, list []Value) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	for i := range list {
		v := &list[i]
		b = append(b, byte(v.Kind))
		b = binary.AppendVarint(b, v.Int)
		b = appendText(b, v.Text)
		b = binary.AppendUvarint(b, uint64(len(v.Names)))
		for _, n := range v.Names {
			b = appendText(b, n)
		}
		b = appendValues(b, v.Elems)
	}
	return b
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// Decode reads what Append wrote, and returns what follows it.
func (p *Program) Decode(b []byte) ([]byte, error) {
	d := decoder{b: b}
	p.After = d.uint() == 1
	p.Steps = make([]Step, d.count())
	for i := range p.Steps {
		p.Steps[i] = Step{int(d.uint()), d.values(0)}
	}
	if d.bad {
		return nil, errDamaged
	}
	return d.b, nil
}

// A decoder takes numbers and texts from the front of b.
type decoder struct {
	b     []byte
	items int
	bad   bool
}

func (d *decoder) uint() uint64 {
	n, size := binary.Uvarint(d.b)
	if size <= 0 {
		d.bad, d.b = true, nil
		return 0
	}
	d.b = d.b[size:]
	return n
}

func (d *decoder) int() int64 {
	n, size := binary.Varint(d.b)
	if size <= 0 {
		d.bad, d.b = true, nil
		return 0
	}
	d.b = d.b[size:]
	return n
}

// count reads how many items follow. Each takes a byte at least.
func (d *decoder) count() int {
	n := d.uint()
	if n > uint64(len(d.b)) || d.items+int(n) > maxItems {
		d.bad, d.b = true, nil
		return 0
	}
	d.items += int(n)
	return int(n)
}

func (d *decoder) text() string {
	n := d.uint()
	if n > uint64(len(d.b)) {
		d.bad, d.b = true, nil
		return ""
	}
	s := string(d.b[:n])
	d.b = d.b[n:]
	return s
}

func (d *decoder) values(depth int) []Value {
	n := d.count()
	if n == 0 || depth > maxDepth {
		d.bad = d.bad || n != 0
		return nil
	}
	list := make([]Value, n)
	for i := range list {
		v := &list[i]
		if len(d.b) == 0 || d.b[0] >= byte(lastKind) {
			d.bad, d.b = true, nil
			return nil
		}
		v.Kind = Kind(d.b[0])
		d.b = d.b[1:]
		v.Int = d.int()
		v.Text = d.text()
		if n := d.count(); n > 0 {
			v.Names = make([]string, n)
			for i := range v.Names {
				v.Names[i] = d.text()
			}
		}
		v.Elems = d.values(depth + 1)
	}
	return list
}
