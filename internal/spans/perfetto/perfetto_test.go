package perfetto

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
)

// fields takes a message apart: numbers as they are, messages and texts as bytes.
func fields(t *testing.T, b []byte, each func(field int, v uint64, text []byte)) {
	t.Helper()
	for len(b) > 0 {
		key, n := binary.Uvarint(b)
		b = b[n:]
		switch key & 7 {
		case fixedType:
			each(int(key>>3), binary.LittleEndian.Uint64(b), nil)
			b = b[8:]
		case varintType, lengthType:
			v, n := binary.Uvarint(b)
			if b = b[n:]; n <= 0 {
				t.Fatal("a number is cut")
			}
			if key&7 == varintType {
				each(int(key>>3), v, nil)
				continue
			}
			each(int(key>>3), 0, b[:v])
			b = b[v:]
		default:
			t.Fatalf("wire type %d", key&7)
		}
	}
}

// dump writes a message as lines, with names for the messages that are in it.
func dump(t *testing.T, out *strings.Builder, b []byte, in map[int]any, indent string) {
	fields(t, b, func(field int, v uint64, text []byte) {
		switch as := in[field].(type) {
		case map[int]any:
			fmt.Fprintf(out, "%s%d\n", indent, field)
			dump(t, out, text, as, indent+"  ")
		case string:
			fmt.Fprintf(out, "%s%d %q\n", indent, field, text)
		default:
			fmt.Fprintf(out, "%s%d %d\n", indent, field, int64(v))
		}
	})
}

func TestMessages(t *testing.T) {
	texts := []string{"", "lock", "running", "main.go:3"}
	var out bytes.Buffer
	w := New(&out, 1700000000000000000, func(id uint32) string { return texts[id] })
	w.Process(1, 1, "shop")
	w.Track(2, 1, "goroutine 7", 7)
	w.Counter(3, 1, "heap", 8, true)
	w.Moment(2, "wake-up", 2, 50, 9)
	w.Slice(2, "goroutine", 1, 100, 300, 9, Value{Name: "line", Text: 3}, Value{Name: "request", Number: -1})
	w.Slice(2, "goroutine", 1, 300, 300, 0, Value{Name: "line", Text: 3})
	w.Count(3, 300, 4096)
	if err := w.Err(); err != nil {
		t.Fatal(err)
	}
	interned := map[int]any{2: ""}
	packet := map[int]any{
		6:  map[int]any{1: map[int]any{}},
		11: map[int]any{4: map[int]any{}},
		12: map[int]any{1: interned, 2: interned, 3: interned, 29: interned},
		60: map[int]any{2: "", 3: map[int]any{6: ""}, 8: map[int]any{}},
	}
	var got strings.Builder
	dump(t, &got, out.Bytes(), map[int]any{1: packet}, "")
	const want = `1
  6
    1
      1 6
      2 0
    1
      1 1
      2 1700000000000000000
  10 1
  13 1
1
  60
    1 1
    11 3
    12 0
    3
      1 1
      6 "shop"
  10 1
  13 2
1
  60
    1 2
    2 "goroutine 7"
    5 1
    11 3
    12 7
  10 1
  13 2
1
  60
    1 3
    2 "heap"
    5 1
    11 3
    12 8
    8
      3 3
  10 1
  13 2
1
  8 50
  11
    9 3
    11 2
    3 1
    10 3
    47 9
  12
    1
      1 1
      2 "wake-up"
    2
      1 3
      2 "running"
  10 1
  13 2
1
  8 100
  11
    9 1
    11 2
    3 2
    10 2
    48 9
    4
      1 1
      17 3
    4
      1 2
      4 -1
  12
    1
      1 2
      2 "goroutine"
    2
      1 2
      2 "lock"
    3
      1 1
      2 "line"
    29
      1 3
      2 "main.go:3"
    3
      1 2
      2 "request"
  10 1
  13 2
1
  8 300
  11
    9 2
    11 2
  10 1
  13 2
1
  8 300
  11
    9 1
    11 2
    3 2
    10 2
    4
      1 1
      17 3
  10 1
  13 2
1
  8 300
  11
    9 2
    11 2
  10 1
  13 2
1
  8 300
  11
    9 4
    11 3
    30 4096
  10 1
  13 2
`
	if got.String() != want {
		t.Errorf("the trace is\n%s\nwant\n%s", got.String(), want)
	}
}
