package profile

import "bytes"

// Sets of characters that the old text forms are made of.
const (
	digits   = "0123456789"
	hexLower = digits + "abcdef"
	hexAny   = hexLower + "ABCDEF"
	white    = "\t\n\f\r "
)

// A pattern takes a line apart from its left end. Once something is not as asked for, it fails and stays so.
type pattern struct {
	rest   []byte
	failed bool
}

// text takes this very text.
func (p *pattern) text(s string) {
	if !bytes.HasPrefix(p.rest, []byte(s)) {
		p.failed = true
		return
	}
	p.rest = p.rest[len(s):]
}

// any takes as many characters of an ASCII set as there are.
func (p *pattern) any(set string) []byte {
	from := p.rest
	p.rest = from[len(from)-len(bytes.TrimLeft(from, set)):]
	return p.since(from)
}

// some takes as many characters of an ASCII set as there are, and one at least.
func (p *pattern) some(set string) []byte {
	run := p.any(set)
	p.failed = p.failed || len(run) == 0
	return run
}

// word takes all up to white space, and one character at least.
func (p *pattern) word() []byte {
	n := bytes.IndexAny(p.rest, white)
	if n < 0 {
		n = len(p.rest)
	}
	from := p.rest
	p.rest = from[n:]
	p.failed = p.failed || n == 0
	return p.since(from)
}

// maybe takes this text if it is there.
func (p *pattern) maybe(s string) { p.rest = bytes.TrimPrefix(p.rest, []byte(s)) }

// since returns what was taken since rest was from.
func (p *pattern) since(from []byte) []byte { return from[:len(from)-len(p.rest)] }

// cutTrailing cuts the run of characters of an ASCII set off the end of b.
func cutTrailing(b []byte, set string) (before, run []byte) {
	n := len(bytes.TrimRight(b, set))
	return b[:n], b[n:]
}

// each calls try with what stands before and after each place where sep is in line, until it returns true, and reports
// whether it did.
func each(line []byte, sep string, try func(before, after []byte) bool) bool {
	for from := 0; ; {
		i := bytes.Index(line[from:], []byte(sep))
		if i < 0 {
			return false
		}
		i += from
		if try(line[:i], line[i+len(sep):]) {
			return true
		}
		from = i + 1
	}
}

// blankOrComment reports whether a line says nothing.
func blankOrComment(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) == 0 || line[0] == '#'
}

// A hexError is an address with too many digits.
type hexError string

func (e hexError) Error() string { return "failed to parse as hex 64-bit number: " + string(e) }

// hexAddresses appends the addresses in text, which may stand between anything. It stops when there are more than a
// stack may have.
func hexAddresses(addrs []uint64, text []byte) ([]uint64, error) {
	for len(addrs) <= maxDepth {
		i := bytes.Index(text, []byte("0x"))
		if i < 0 {
			break
		}
		text = text[i:]
		var a uint64
		over := false
		n := 2
		for ; n < len(text); n++ {
			d := uint64(text[n] - '0')
			if d > 9 {
				if d = uint64(text[n] - 'a'); d > 5 {
					break
				}
				d += 10
			}
			over = over || a>>60 != 0
			a = a<<4 | d
		}
		if over {
			return nil, hexError(text[:n])
		}
		if n > 2 {
			addrs = append(addrs, a)
		}
		text = text[n:]
	}
	return addrs, nil
}
