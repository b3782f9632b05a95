//go:build nightly

package spans

import (
	"bytes"
	"io"
	"reflect"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// TestParquet holds that a Parquet file has what CSV has.
func TestParquet(t *testing.T) {
	for name, b := range recorded(t) {
		found := find(t, b)
		for _, w := range windows {
			var out bytes.Buffer
			if err := Parquet(&out, open(t, b), w, found); err != nil {
				t.Fatal(err)
			}
			f, err := parquet.OpenFile(bytes.NewReader(out.Bytes()), int64(out.Len()))
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := f.Lookup("hone.started"); ok != (open(t, b).Version >= 25) {
				t.Errorf("%s: the file knows when the trace began: %v", name, ok)
			}
			rows := parquet.NewReader(f)
			want := csvOf(t, b, w, found)
			if rows.NumRows() != int64(len(want)) {
				t.Fatalf("%s: %d rows, CSV has %d", name, rows.NumRows(), len(want))
			}
			var one [1]parquet.Row
			for i := range want {
				if _, err := rows.ReadRows(one[:]); err != nil && err != io.EOF {
					t.Fatal(err)
				}
				got := make([]string, len(columns))
				for _, v := range one[0] {
					if !v.IsNull() {
						got[v.Column()] = v.String()
					}
				}
				if !reflect.DeepEqual(got, want[i]) {
					t.Fatalf("%s: row %d is %q, in CSV %q", name, i, got, want[i])
				}
			}
			rows.Close()
		}
	}
}
