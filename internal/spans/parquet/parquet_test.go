package parquet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// A row is what the library reads of a row.
type row struct {
	At    int64   `parquet:"at"`
	Maybe *int64  `parquet:"maybe,optional"`
	On    bool    `parquet:"on"`
	Name  string  `parquet:"name"`
	Note  *string `parquet:"note,optional"`
}

var columns = []Column{
	{Name: "at", Type: Int}, {Name: "maybe", Type: Int, Optional: true}, {Name: "on", Type: Bool}, {Name: "name", Type: Text}, {Name: "note", Type: Text, Optional: true},
}

// text gives two numbers for each text.
func text(id uint32) string {
	if id/2 == 0 {
		return ""
	}
	return fmt.Sprintf("text %d", id/2)
}

// TestReadsBack holds that the library reads what was written, with values that are alike, in runs, at random, and missing.
func TestReadsBack(t *testing.T) {
	for name, of := range map[string]struct {
		rows, texts int
		missing     float64
		same        float64 // that a row is as the one before
	}{
		"none":       {rows: 0, texts: 1},
		"one":        {rows: 1, texts: 1},
		"seven":      {rows: 7, texts: 3, missing: 0.5},
		"few":        {rows: 1000, texts: 2, missing: 0.1, same: 0.5},
		"runs":       {rows: 5000, texts: 300, missing: 0.3, same: 0.95},
		"all absent": {rows: 100, texts: 5, missing: 1},
		"all there":  {rows: 4099, texts: 4099},
		"groups":     {rows: 2*groupRows + 5, texts: 1000, missing: 0.2, same: 0.8},
	} {
		t.Run(name, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(1, 2))
			var out bytes.Buffer
			w := New(&out, columns, text, Fact{"key", "value"})
			var want []row
			var last row
			var ids [2]uint32
			for i := range of.rows {
				if i == 0 || rnd.Float64() >= of.same {
					ids[0], ids[1] = rnd.Uint32N(uint32(2*of.texts)), rnd.Uint32N(uint32(2*of.texts))
					last = row{At: rnd.Int64() - rnd.Int64(), On: rnd.IntN(2) == 0, Name: text(ids[0])}
					if rnd.Float64() >= of.missing {
						v := int64(i)
						last.Maybe = &v
					}
					if rnd.Float64() >= of.missing {
						s := text(ids[1])
						last.Note = &s
					}
				}
				want = append(want, last)
				w.Int(0, last.At)
				if last.Maybe != nil {
					w.Int(1, *last.Maybe)
				}
				w.Bool(2, last.On)
				w.Text(3, ids[0])
				if last.Note != nil {
					w.Text(4, ids[1])
				}
				if err := w.End(); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			f, err := parquet.OpenFile(bytes.NewReader(out.Bytes()), int64(out.Len()))
			if err != nil {
				t.Fatal(err)
			}
			if v, _ := f.Lookup("key"); v != "value" {
				t.Errorf("the file says %q of the key", v)
			}
			if n := len(f.RowGroups()); n != (of.rows+groupRows-1)/groupRows {
				t.Errorf("%d groups of rows", n)
			}
			r := parquet.NewGenericReader[row](f)
			defer r.Close()
			got := make([]row, of.rows+1)
			n := 0
			for n < len(got) {
				m, err := r.Read(got[n:])
				if n += m; errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatal(err)
				}
			}
			if n != len(want) {
				t.Fatalf("%d rows were read, %d written", n, len(want))
			}
			for i := range want {
				if !reflect.DeepEqual(got[i], want[i]) {
					t.Fatalf("row %d is %+v, want %+v", i, got[i], want[i])
				}
			}
		})
	}
}

// TestGroupsByText holds that a group ends before its texts take much memory.
func TestGroupsByText(t *testing.T) {
	long := string(bytes.Repeat([]byte{'x'}, 1<<20))
	w := New(io.Discard, []Column{{Name: "t", Type: Text}}, func(id uint32) string { return fmt.Sprint(id, long) })
	for i := range uint32(100) {
		w.Text(0, i)
		if err := w.End(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil || len(w.groups) != 4 {
		t.Errorf("%d groups, %v", len(w.groups), err)
	}
}

type full struct{ left int }

func (f *full) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, errFull
	}
	return len(b), nil
}

var errFull = errors.New("no space left")

// TestFails holds that it is said when a file cannot be written, wherever that happens.
func TestFails(t *testing.T) {
	for _, left := range []int{0, 10, 100, 200} {
		w := New(&full{left}, columns, text)
		w.Int(0, 1)
		w.Bool(2, true)
		w.Text(3, 5)
		w.End()
		if err := w.Close(); !errors.Is(err, errFull) {
			t.Errorf("with room for %d bytes: %v", left, err)
		}
	}
}
