package parquet

import "encoding/binary"

// A thrift is a struct in the compact protocol of Thrift, and the structs within.
type thrift struct {
	b    []byte
	last []int // number of the last field, of the structs that are open but the innermost
	at   int   // of the innermost
}

// Types of the compact protocol.
const (
	boolTrue  = 1
	varint    = 6 // of 64 bits, which readers take for 32 as well where the type says so
	varint32  = 5
	bytesType = 8
	listType  = 9
	structure = 12
)

//go:noinline
func (t *thrift) field(number, typ int) {
	t.b = append(t.b, byte((number-t.at)<<4|typ)) // no gap is over 15
	t.at = number
}

func (t *thrift) zigzag(v int64) { t.b = binary.AppendVarint(t.b, v) }

// put is a field with a number. It is not inlined, nor is text: a footer is small, and made of a hundred of them.
//
//go:noinline
func (t *thrift) put(number, typ int, v int64) {
	t.field(number, typ)
	t.zigzag(v)
}

// int is a field of 32 bits or an enumeration, long one of 64.
func (t *thrift) int(number int, v int64) {
	t.put(number, varint32, v)
}

func (t *thrift) long(number int, v int64) {
	t.put(number, varint, v)
}

func (t *thrift) bytes(number int, s string) {
	t.field(number, bytesType)
	t.text(s)
}

// text is an element of a list.
//
//go:noinline
func (t *thrift) text(s string) {
	t.b = binary.AppendUvarint(t.b, uint64(len(s)))
	t.b = append(t.b, s...)
}

func (t *thrift) list(number, typ, n int) {
	t.field(number, listType)
	if n < 15 {
		t.b = append(t.b, byte(n<<4|typ))
		return
	}
	t.b = append(t.b, byte(0xf0|typ))
	t.b = binary.AppendUvarint(t.b, uint64(n))
}

// begin begins a struct in a field, element one in a list; end ends either, and the outermost.
func (t *thrift) begin(number int) {
	t.field(number, structure)
	t.element()
}

//go:noinline
func (t *thrift) element() {
	t.last = append(t.last, t.at)
	t.at = 0
}

//go:noinline
func (t *thrift) end() {
	t.b = append(t.b, 0)
	if n := len(t.last); n > 0 {
		t.at = t.last[n-1]
		t.last = t.last[:n-1]
	}
}

// footer is the FileMetaData, which says what a file is made of.
func (w *Writer) footer() []byte {
	var t thrift
	rows := 0
	for _, g := range w.groups {
		rows += g.rows
	}
	t.int(1, 1) // version
	t.list(2, structure, len(w.columns)+1)
	t.element()
	t.bytes(4, "schema")
	t.int(5, int64(len(w.columns)))
	t.end()
	for _, c := range w.columns {
		t.element()
		t.int(1, int64(c.physical()))
		repeated := required
		if c.Optional {
			repeated = optional
		}
		t.int(3, int64(repeated))
		t.bytes(4, c.Name)
		if c.Type == Text {
			t.int(6, 0) // UTF8
			t.begin(10)
			t.begin(1) // STRING
			t.end()
			t.end()
		}
		t.end()
	}
	t.long(3, int64(rows))
	t.list(4, structure, len(w.groups))
	for _, g := range w.groups {
		t.element()
		var raw, packed int64
		t.list(1, structure, len(g.chunks))
		for i := range g.chunks {
			raw += g.chunks[i].raw
			packed += g.chunks[i].packed
			w.columns[i].chunk(&t, &g.chunks[i])
		}
		t.long(2, raw)
		t.long(3, int64(g.rows))
		t.long(5, g.chunks[0].start)
		t.long(6, packed)
		t.end()
	}
	if len(w.facts) > 0 {
		t.list(5, structure, len(w.facts))
		for _, f := range w.facts {
			t.element()
			t.bytes(1, f.Key)
			t.bytes(2, f.Value)
			t.end()
		}
	}
	t.bytes(6, "hone")
	// That the least and the greatest numbers are those of signed numbers; without this, readers do not believe them.
	t.list(7, structure, len(w.columns))
	for range w.columns {
		t.element()
		t.begin(1)
		t.end()
		t.end()
	}
	t.end()
	return t.b
}

func (c *column) physical() int {
	return [...]int{Int: typeInt64, Bool: typeBool, Text: typeBytes}[c.Type]
}

func (c *column) chunk(t *thrift, k *chunk) {
	t.element()
	t.long(2, k.start)
	t.begin(3)
	t.int(1, int64(c.physical()))
	encodings := []int64{plain, runLength}
	if c.Type == Text {
		encodings = append(encodings, dictionary)
	}
	t.list(2, varint32, len(encodings))
	for _, e := range encodings {
		t.zigzag(e)
	}
	t.list(3, bytesType, 1)
	t.text(c.Name)
	t.int(4, gzipCodec)
	t.long(5, int64(k.values))
	t.long(6, k.raw)
	t.long(7, k.packed)
	t.long(9, k.data)
	if c.Type == Text {
		t.long(11, k.dict)
	}
	t.begin(12)
	t.long(3, int64(k.nulls))
	if k.ranged {
		t.bytes(5, string(binary.LittleEndian.AppendUint64(nil, uint64(k.high))))
		t.bytes(6, string(binary.LittleEndian.AppendUint64(nil, uint64(k.low))))
	}
	t.end()
	t.end()
	t.end()
}
