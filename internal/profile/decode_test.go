package profile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	pprof "github.com/google/pprof/profile"
)

// TestTables reads profiles whose locations have from none to thousands of lines, so that those of one may be more than
// are kept next to each other, with ids that count from 1 and with large ones.
func TestTables(t *testing.T) {
	for _, base := range []uint64{1, firstLarge - 5, 1 << 60} {
		t.Run(fmt.Sprint("ids from ", base), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(5, base))
			p := &pprof.Profile{SampleType: []*pprof.ValueType{{Type: "cpu", Unit: "nanoseconds"}}}
			for i := range uint64(10) {
				p.Mapping = append(p.Mapping, &pprof.Mapping{ID: base + i, Start: i << 20, Limit: (i + 1) << 20, File: fmt.Sprint("file", i)})
			}
			for i := range uint64(100) {
				p.Function = append(p.Function, &pprof.Function{ID: base + i, Name: fmt.Sprint("f", i), SystemName: fmt.Sprint("f", i), StartLine: int64(i)})
			}
			for i := range uint64(3 * locationBlock) {
				l := &pprof.Location{ID: base + i, Address: i << 8, IsFolded: i%7 == 0}
				if i%3 > 0 {
					l.Mapping = p.Mapping[rnd.IntN(len(p.Mapping))]
				}
				lines := rnd.IntN(4)
				if i%1000 == 0 {
					lines = rnd.IntN(3 * lineBlock)
				}
				for range lines {
					l.Line = append(l.Line, pprof.Line{Function: p.Function[rnd.IntN(len(p.Function))], Line: rnd.Int64N(1000), Column: rnd.Int64N(3)})
				}
				p.Location = append(p.Location, l)
			}
			for range 1000 {
				s := &pprof.Sample{Value: []int64{rnd.Int64N(100)}}
				for range rnd.IntN(40) {
					s.Location = append(s.Location, p.Location[rnd.IntN(len(p.Location))])
				}
				p.Sample = append(p.Sample, s)
			}
			var data bytes.Buffer
			if err := p.WriteUncompressed(&data); err != nil {
				t.Fatal(err)
			}
			if got, err := ParseBytes(data.Bytes()); err != nil || len(got.Locations) != len(p.Location) || len(got.Locations[0].Lines) != len(p.Location[0].Line) {
				t.Fatalf("%d locations, %d lines of the first, error %v; want %d, %d", len(got.Locations), len(got.Locations[0].Lines), err, len(p.Location), len(p.Location[0].Line))
			}
			sameAsLibrary(t, data.Bytes())
		})
	}
}

// TestManyLines reads a location that has more lines than any program inlines, each in two bytes.
func TestManyLines(t *testing.T) {
	lines := bytes.Repeat([]byte{4<<3 | wireBytes, 0}, 4*maxDepth)
	data := append(binary.AppendUvarint([]byte{4<<3 | wireBytes}, uint64(len(lines))), lines...)
	if _, err := ParseBytes(data); !errors.Is(err, errDeep) {
		t.Errorf("error %v, want %v", err, errDeep)
	}
}
