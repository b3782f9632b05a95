package profile

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/hone-perf/hone/internal/unit"
)

// A few kB of packed input can unpack to a GB of entries with nothing in them, each of which takes ten times as much memory as
// input. So memory is bounded by what was read before it was unpacked. Profiles of programs, of which the packed form is a tenth
// of the plain one, take ten to a hundred times their file.
const (
	boundFrom  = 1 << 20  // bytes of unpacked input, which do no harm whatever they are
	boundEvery = 1 << 20  // as often it is looked at
	freeMemory = 64 << 20 // for any input
	memoryFor  = 512      // more for each byte of the file

	labelSetSize = 64 // of a set of labels, beside the labels
)

// bound refuses input that is too long, or takes more memory than its size can justify.
func (d *decoder) bound() error {
	off := d.s.off
	d.check = off + boundEvery
	if off > maxBytes {
		return limitError{fmt.Sprintf("%s unpacked", unit.Size(maxBytes))}
	}
	if d.noID != nil {
		return &FormatError{Doing: "malformed profile", Err: d.noID}
	}
	took, taken := d.memory(), d.s.taken()
	if d.s.memory > 0 && took > d.s.memory {
		return limitError{unit.Size(d.s.memory) + " of entries"}
	}
	if took > freeMemory+memoryFor*taken {
		return limitError{unit.Size(freeMemory+memoryFor*taken) + " of entries in the first " + unit.Size(taken) + " of the file"}
	}
	return nil
}

// memory returns about how many bytes it takes to hold what was read.
func (d *decoder) memory() int64 {
	const largeID = 40 // and its entry in a map
	n := d.labelSize + int64(d.textSize)
	n += int64(d.strings.n) * int64(unsafe.Sizeof(""))
	n += int64(d.functions.n) * int64(unsafe.Sizeof(rawFunction{})+unsafe.Sizeof(Function{}))
	n += int64(len(d.locations)) * int64(unsafe.Sizeof(Location{}))
	n += int64(d.numLines) * int64(unsafe.Sizeof(Line{}))
	n += int64(len(d.mappings)) * int64(unsafe.Sizeof(rawMapping{})+unsafe.Sizeof(Mapping{}))
	n += int64(len(d.b.stack)) * int64(4+4+8*len(d.b.values)) // places, labels and values
	for _, block := range d.b.stacks.blocks {
		n += int64(len(block))
	}
	for _, x := range []*idNumbers{&d.ids.numbers, &d.mappingIDs, &d.functionIDs} {
		n += int64(len(x.large)) * largeID
	}
	return n
}

// What CheckValid of the pprof library says of entries without an id.
var (
	errMappingID  = errors.New("found mapping with reserved ID=0")
	errFunctionID = errors.New("found function with reserved ID=0")
	errLocationID = errors.New("found location with reserved id=0")
)
