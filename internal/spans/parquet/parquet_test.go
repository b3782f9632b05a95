package parquet

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/hone-perf/hone/internal/testrun"
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

// A table is rows that are drawn.
type table struct {
	rows, texts int
	missing     float64
	same        float64 // that a row is as the one before
	sum         string  // of the file
}

// tables have values that are alike, in runs, at random, and missing.
var tables = map[string]table{
	"none":       {rows: 0, texts: 1, sum: "895a0dc86430349b"},
	"one":        {rows: 1, texts: 1, sum: "fbca38f0d2d45722"},
	"seven":      {rows: 7, texts: 3, missing: 0.5, sum: "1ff1ef93465029b5"},
	"few":        {rows: 1000, texts: 2, missing: 0.1, same: 0.5, sum: "2f9e358c95c5acfc"},
	"runs":       {rows: 5000, texts: 300, missing: 0.3, same: 0.95, sum: "0d80118488a53f87"},
	"all absent": {rows: 100, texts: 5, missing: 1, sum: "8095027745fc18cb"},
	"all there":  {rows: 4099, texts: 4099, sum: "7f716a1f3a6ac41f"},
	"groups":     {rows: 2*groupRows + 5, texts: 1000, missing: 0.2, same: 0.8, sum: "e6e32513ecb345e6"},
}

// write returns the rows of a table, and the file that has them.
func (of table) write(t *testing.T) ([]row, []byte) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(1, 2))
	var out bytes.Buffer
	w := New(&out, columns, text, Fact{"key", "value"})
	var rows []row
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
		rows = append(rows, last)
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
	return rows, out.Bytes()
}

// TestBytes holds that files are, byte for byte, those that a library has read: TestReadsBack is in a nightly run, because that library takes 14 s of
// CPU time to compile.
func TestBytes(t *testing.T) {
	testrun.Left(t, "TestReadsBack of parquet", "compiles a library that reads Parquet")
	for name, of := range tables {
		_, file := of.write(t)
		if sum := fmt.Sprintf("%.8x", sha256.Sum256(file)); sum != of.sum {
			t.Errorf("%s: the file has changed, and its sum is now %s, not %s; go test -tags nightly -run TestReadsBack holds that it can be read", name, sum, of.sum)
		}
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
