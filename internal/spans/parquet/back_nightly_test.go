//go:build nightly

package parquet

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// TestReadsBack holds that the library reads what was written.
func TestReadsBack(t *testing.T) {
	for name, of := range tables {
		t.Run(name, func(t *testing.T) {
			want, file := of.write(t)
			f, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
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
