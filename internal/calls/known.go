package calls

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

// A CallSearch finds calls before anybody asks, a little at a time.
type CallSearch struct {
	x      *wholeCalls
	cutoff int64
	next   int // sample
	found  *KnownCalls
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
	const some = 1 << 12
	for n := s.x.b.Profile.NumSamples(); s.next < n; s.next += some {
		if enough() {
			return nil
		}
		s.x.walk(s.next, min(s.next+some, n))
	}
	if s.found == nil {
		s.x.settle()
		s.found = &KnownCalls{s.cutoff, s.x.found()}
	}
	return s.found
}
