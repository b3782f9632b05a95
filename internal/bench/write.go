package bench

import (
	"cmp"
	"io"
	"maps"
	"slices"

	"golang.org/x/perf/benchfmt"
)

// Write writes what is known about units, and results with the lines of configuration that they need.
func Write(w io.Writer, f *File) error {
	out := benchfmt.NewWriter(w)
	units := slices.SortedFunc(maps.Values(f.Units), func(a, b *benchfmt.UnitMetadata) int {
		return cmp.Or(cmp.Compare(a.Unit, b.Unit), cmp.Compare(a.Key, b.Key))
	})
	for _, u := range units {
		if err := out.Write(u); err != nil {
			return err
		}
	}
	for i := range f.Results {
		if err := out.Write(f.Results[i].Record()); err != nil {
			return err
		}
	}
	return nil
}
