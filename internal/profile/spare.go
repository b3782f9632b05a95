package profile

import "sync"

// Tables of profiles that a Merger took are used for those that are read next. A hundred small ones would else leave a hundred
// times as much garbage as there is in one, and the collector would run twice as often.
var (
	spareLocations spare[Location]
	spareFunctions spare[Function]
	spareLines     spare[Line]
	spareStacks    spare[byte]
	spareRoots     spare[byte]
	spareValues    spare[int64]
	spareNumbers   spare[uint32] // columns of stacks and labels
)

// These are only needed while a profile is read.
var (
	spareStrings      spare[string]
	spareRawFunctions spare[rawFunction]
	spareMemos        spare[rootMemo]
)

// A spare keeps slices that are not needed any more, until the collector wants them.
type spare[T any] struct{ pool sync.Pool }

// get returns an empty slice that has room for n at least, or nil when there is none at hand.
func (s *spare[T]) get(n int) []T {
	if x, ok := s.pool.Get().(*[]T); ok && cap(*x) >= n {
		return (*x)[:0]
	}
	return nil
}

// put keeps a slice, unless it has room for less than least or more than most.
func (s *spare[T]) put(x []T, least, most int) {
	if least <= cap(x) && cap(x) <= most {
		s.pool.Put(&x)
	}
}

// Release gives the tables of p, which nobody else has, to profiles that are read next. Nothing of p may be used afterwards but texts and sets of labels.
func (p *Profile) Release() { p.recycle() }

// recycle keeps the tables of p. Nothing of it may be used afterwards but texts and sets of labels.
func (p *Profile) recycle() {
	const (
		large = 1 << 16 // entries; of profiles so large there are never many
		few   = 1 << 10 // samples
	)
	spareLocations.put(p.Locations, locationBlock, large)
	spareFunctions.put(p.Functions, pileBlock, large)
	for _, block := range p.lines {
		spareLines.put(block, lineBlock/8, large)
	}
	for _, block := range p.stacks.blocks {
		spareStacks.put(block, stackBlock>>7, stackBlock>>3)
	}
	spareRoots.put(p.stacks.roots.narrow.data, 4<<10, 1<<20)
	spareNumbers.put(p.stack, few, large)
	spareNumbers.put(p.labels, few, large)
	for _, col := range p.values {
		spareValues.put(col, few, large)
	}
	*p = Profile{}
}
