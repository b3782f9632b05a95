// Package parquet writes tables as Parquet files: whole numbers, truth values and texts from a dictionary. It holds one group of rows in memory,
// however many there are. What a file is made of stands in https://github.com/apache/parquet-format.
package parquet

import (
	"encoding/binary"
	"io"
	"slices"

	"github.com/klauspost/compress/gzip"
)

// A Type is what a column holds.
type Type uint8

const (
	Int  Type = iota // int64
	Bool             // true or false
	Text             // a text that is known by a number
)

// A Column of a table.
type Column struct {
	Name     string
	Type     Type
	Optional bool // it may have no value
}

// A Fact is something that a file says about its table.
type Fact struct{ Key, Value string }

// groupRows is how many rows are held: readers skip groups by what they say of their numbers, and each has its own dictionaries.
const groupRows = 1 << 17

// maxTexts bounds the texts of a group.
const maxTexts = 32 << 20

// A Writer writes a table row by row: Int, Bool, Text or nothing for each column, then End; and Close after the last row.
type Writer struct {
	w       io.Writer
	at      int64 // offset in the file
	columns []*column
	facts   []Fact
	rows    int // of the group
	texts   int // bytes of its dictionaries
	groups  []group
	packer  *gzip.Writer
	packed  []byte
	page    []byte
	err     error
}

// A column is a Column with the values of the rows that are held.
type column struct {
	Column
	text    func(uint32) string
	set     bool     // the row has a value
	present []uint32 // by row: 1 where there is a value; of optional columns
	ints    []int64
	small   []uint32 // values of Bool, numbers of texts in the dictionary
	words   map[string]uint32
	list    []string          // of the dictionary, in order
	known   map[uint32]uint32 // number of a text → number in the dictionary
}

// A group is what the end of the file says about a group of rows.
type group struct {
	rows   int
	chunks []chunk
}

// A chunk is where the values of one column are, for one group.
type chunk struct {
	start, dict, data int64
	raw, packed       int64
	values, nulls     int
	low, high         int64
	ranged            bool
}

// New begins a file. text returns the texts that rows name by numbers; it is asked again for each group.
func New(w io.Writer, columns []Column, text func(uint32) string, facts ...Fact) *Writer {
	out := &Writer{w: w, facts: facts}
	for _, c := range columns {
		out.columns = append(out.columns, &column{Column: c, text: text, words: map[string]uint32{}, known: map[uint32]uint32{}})
	}
	out.packer, out.err = gzip.NewWriterLevel(nil, gzip.BestSpeed)
	out.write([]byte(magic))
	return out
}

const magic = "PAR1"

// Int gives the row a number.
func (w *Writer) Int(col int, v int64) {
	c := w.columns[col]
	c.ints, c.set = append(c.ints, v), true
}

// Bool gives the row a truth value.
func (w *Writer) Bool(col int, v bool) {
	c := w.columns[col]
	bit := uint32(0)
	if v {
		bit = 1
	}
	c.small, c.set = append(c.small, bit), true
}

// Text gives the row the text of a number.
func (w *Writer) Text(col int, id uint32) {
	c := w.columns[col]
	at, ok := c.known[id]
	if !ok {
		// Texts that are equal are one, also where they have several numbers.
		text := c.text(id)
		if at, ok = c.words[text]; !ok {
			at = uint32(len(c.list))
			c.words[text] = at
			c.list = append(c.list, text)
			w.texts += len(text)
		}
		c.known[id] = at
	}
	c.small, c.set = append(c.small, at), true
}

// End ends a row. Columns that are not optional have to have a value.
func (w *Writer) End() error {
	for _, c := range w.columns {
		switch {
		case c.Optional && c.set:
			c.present = append(c.present, 1)
		case c.Optional:
			c.present = append(c.present, 0)
		case !c.set:
			panic("parquet: a row without " + c.Name)
		}
		c.set = false
	}
	if w.rows++; w.rows == groupRows || w.texts > maxTexts {
		w.flush()
	}
	return w.err
}

// Close ends the file.
func (w *Writer) Close() error {
	if w.rows > 0 {
		w.flush()
	}
	end := w.footer()
	w.write(end)
	w.write(binary.LittleEndian.AppendUint32(nil, uint32(len(end))))
	w.write([]byte(magic))
	return w.err
}

func (w *Writer) write(b []byte) {
	if w.err != nil {
		return
	}
	n, err := w.w.Write(b)
	w.at += int64(n)
	w.err = err
}

// flush writes the rows that are held.
func (w *Writer) flush() {
	g := group{rows: w.rows}
	for _, c := range w.columns {
		g.chunks = append(g.chunks, w.chunk(c))
	}
	w.groups = append(w.groups, g)
	w.rows, w.texts = 0, 0
}

// Numbers of the format.
const (
	dataPage, dictionaryPage       = 0, 2
	plain, runLength, dictionary   = 0, 3, 8
	typeBool, typeInt64, typeBytes = 0, 2, 6
	gzipCodec                      = 2
	required, optional             = 0, 1
)

func (w *Writer) chunk(c *column) chunk {
	k := chunk{start: w.at, values: w.rows}
	if c.Type == Text {
		k.dict = w.at
		w.page = w.page[:0]
		for _, s := range c.list {
			w.page = binary.LittleEndian.AppendUint32(w.page, uint32(len(s)))
			w.page = append(w.page, s...)
		}
		w.put(&k, dictionaryPage, len(c.list), plain)
	}
	k.data = w.at
	w.page = w.page[:0]
	if c.Optional {
		w.page = append(w.page, 0, 0, 0, 0)
		w.page = appendRuns(w.page, c.present, 1)
		binary.LittleEndian.PutUint32(w.page, uint32(len(w.page)-4))
		k.nulls = w.rows - len(c.ints) - len(c.small)
	}
	encoding := plain
	switch c.Type {
	case Int:
		for _, v := range c.ints {
			w.page = binary.LittleEndian.AppendUint64(w.page, uint64(v))
		}
		if len(c.ints) > 0 {
			k.low, k.high, k.ranged = slices.Min(c.ints), slices.Max(c.ints), true
		}
	case Bool:
		w.page = appendPacked(w.page, c.small, 1)
	case Text:
		encoding = dictionary
		width := 1
		for 1<<width < len(c.list) {
			width++
		}
		w.page = append(w.page, byte(width))
		w.page = appendRuns(w.page, c.small, width)
	}
	w.put(&k, dataPage, w.rows, encoding)
	c.present, c.ints, c.small = c.present[:0], c.ints[:0], c.small[:0]
	clear(c.words)
	clear(c.known)
	clear(c.list)
	c.list = c.list[:0]
	return k
}

// put writes the page that was made.
func (w *Writer) put(k *chunk, kind, values, encoding int) {
	if w.err != nil {
		return
	}
	w.packed = w.packed[:0]
	w.packer.Reset((*appender)(&w.packed))
	w.packer.Write(w.page) // to memory
	if err := w.packer.Close(); err != nil {
		w.err = err
		return
	}
	var t thrift
	t.int(1, int64(kind))
	t.int(2, int64(len(w.page)))
	t.int(3, int64(len(w.packed)))
	if kind == dataPage {
		t.begin(5)
		t.int(1, int64(values))
		t.int(2, int64(encoding))
		t.int(3, runLength)
		t.int(4, runLength)
	} else {
		t.begin(7)
		t.int(1, int64(values))
		t.int(2, int64(encoding))
	}
	t.end()
	t.end()
	w.write(t.b)
	w.write(w.packed)
	k.raw += int64(len(t.b) + len(w.page))
	k.packed += int64(len(t.b) + len(w.packed))
}

type appender []byte

func (a *appender) Write(b []byte) (int, error) {
	*a = append(*a, b...)
	return len(b), nil
}

// appendRuns appends numbers of width bits, as runs of equal ones and as packed bits between these, eight at a time.
func appendRuns(b []byte, list []uint32, width int) []byte {
	for len(list) > 0 {
		if n := run(list); n >= 8 {
			b = binary.AppendUvarint(b, uint64(n)<<1)
			for v, left := list[0], width; left > 0; left -= 8 {
				b = append(b, byte(v))
				v >>= 8
			}
			list = list[n:]
			continue
		}
		n := 8
		for n < len(list) && run(list[n:min(len(list), n+8)]) < 8 {
			n += 8
		}
		b = binary.AppendUvarint(b, uint64(n/8)<<1|1)
		b = appendPacked(b, list[:min(n, len(list))], width)
		list = list[min(n, len(list)):]
	}
	return b
}

// run is how many numbers are like the first one.
func run(list []uint32) int {
	n := 1
	for n < len(list) && list[n] == list[0] {
		n++
	}
	return n
}

// appendPacked appends numbers of width bits, the lowest first, and fills up to eight of them.
func appendPacked(b []byte, list []uint32, width int) []byte {
	var bits uint64
	have := 0
	put := func(v uint64) {
		bits |= v << have
		for have += width; have >= 8; have -= 8 {
			b = append(b, byte(bits))
			bits >>= 8
		}
	}
	for _, v := range list {
		put(uint64(v))
	}
	for n := len(list); n%8 != 0; n++ {
		put(0)
	}
	return b
}
