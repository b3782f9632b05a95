package calls

import "sync"

// KnownCalls are all calls between the frames that cost at least so much, which a graph chooses its nodes by. They are the same for all who
// ask about the same samples. Nobody changes them.
type KnownCalls struct {
	cutoff int64
	table  *callTable
}

// Size returns about how many bytes k takes.
func (k *KnownCalls) Size() int64 {
	const slot, sum = 12, 32
	return slot*int64(len(k.table.slots)) + sum*int64(len(k.table.sums))
}

// A CallSearch finds calls before anybody asks, a little at a time. Whoever asks meanwhile has it find the rest at once.
type CallSearch struct {
	mu     sync.Mutex // held while it searches
	x      *wholeCalls
	cutoff int64
	next   int // sample
	found  *KnownCalls
}

// Size returns about how many bytes the tables of s take in the end.
func (s *CallSearch) Size() int64 {
	const slots, perSlot, perRoot = 1 << 18, 16, 48
	return slots*perSlot + int64(perRoot*s.x.b.Profile.NumRoots())
}

// SearchCalls begins to find the calls that Trimmed starts from, or returns nil where that is not worth it. It takes what frames cost.
func (b *Builder) SearchCalls(t Trim) *CallSearch {
	cutoff := b.cutoff(t.Min)
	if t.Tree || cutoff <= 0 {
		return nil
	}
	kept, dropped := b.big(cutoff)
	if dropped == 0 {
		return nil
	}
	x := newWholeCalls(b, b.Graph(kept, nil))
	if x == nil {
		return nil
	}
	return &CallSearch{x: x, cutoff: cutoff}
}

// Go goes on until all calls are found, which it returns, or until enough says so.
func (s *CallSearch) Go(enough func() bool) *KnownCalls {
	s.mu.Lock()
	defer s.mu.Unlock()
	const some = 1 << 12
	for n := s.x.b.Profile.NumSamples(); s.found == nil && s.next < n; s.next += some {
		if enough() {
			return nil
		}
		s.x.walk(s.next, min(s.next+some, n))
	}
	return s.rest()
}

// Finish finds what is left, on all cores, once Go has ended.
func (s *CallSearch) Finish() *KnownCalls {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rest()
}

// rest finds the calls of the samples that are left, while s is locked.
func (s *CallSearch) rest() *KnownCalls {
	if s.found == nil {
		n := s.x.b.Profile.NumSamples()
		s.found = &KnownCalls{s.cutoff, findAll(s.x, min(s.next, n), n)}
	}
	return s.found
}
