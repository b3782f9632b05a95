package view

import (
	"math/bits"

	"github.com/hone-perf/hone/internal/profile"
)

// A walker takes samples down through the open calls of a tree, which it does not change, so that there can be several.
type walker struct {
	t     *callTree
	paths []shortcut
	met   []met // by call, what the samples met
}

// A shortcut is several steps at once: where a run of locations leads from a call. Without them, three quarters of
// the time would go to taking every sample through the same outermost frames.
type shortcut struct {
	run      profile.Run
	from, to uint32
}

const numShortcuts = 1 << 14 // 384 kB, to stay in the cache; a new one takes the place of an old one

func newWalker(t *callTree) *walker {
	return &walker{t: t, paths: make([]shortcut, numShortcuts), met: make([]met, len(t.nodes))}
}

// walkAll takes all samples to the calls where they rest so far, except one in so many, which is in the tree already.
func (t *callTree) walkAll(except int) {
	var walkers []*walker
	inParts(len(t.values), func() func(from, to int) {
		w := newWalker(t)
		walkers = append(walkers, w)
		return func(from, to int) {
			for i := from; i < to; i++ {
				if i%except != 0 && w.start(uint32(i)) {
					w.walk(uint32(i))
				}
			}
		}
	})
	for _, w := range walkers {
		w.tell()
	}
}

// start puts a sample at the root, and reports whether it counts.
func (w *walker) start(sample uint32) bool {
	t := w.t
	t.rest[sample] = nowhere
	if t.values[sample] == 0 && (t.before == nil || t.before[sample] == 0) {
		return false
	}
	stack := t.p.StackAt(int(sample))
	s := &t.strands[sample]
	s.left = uint32(stack.Len())
	t.skip(s, stack)
	if t.from != anyFrame && !t.enter(s, stack) {
		return false
	}
	t.rest[sample] = rootCall
	return true
}

// walk takes a sample from the root to the last call on its way that is there.
func (w *walker) walk(sample uint32) {
	t := w.t
	if n := len(t.nodes) - len(w.met); n > 0 {
		w.met = append(w.met, make([]met, n)...)
	}
	s, stack := &t.strands[sample], t.p.StackAt(int(sample))
	at, there := uint32(rootCall), true
	for there && t.nodes[at].opened {
		run, n := stack.Run(int(s.left), t.inverted)
		if n == 0 || s.line > 0 {
			at, there = w.step(at, s, stack)
			continue
		}
		way := w.shortcut(at, run)
		if way.from == at && way.run == run && way.to != 0 {
			s.left -= uint32(n)
			t.skip(s, stack)
			at = way.to
			continue
		}
		from, left := at, s.left
		for there && t.nodes[at].opened && (s.left > left-uint32(n) || s.line > 0) {
			at, there = w.step(at, s, stack)
		}
		if there && s.left == left-uint32(n) && s.line == 0 {
			*way = shortcut{run, from, at}
		}
	}
	t.rest[sample] = at
}

// step takes a strand from a call to the one below. It stays where it is when it ends there, or when there is none yet.
func (w *walker) step(at uint32, s *strand, stack profile.Stack) (to uint32, there bool) {
	t := w.t
	for s.left > 0 {
		before := *s
		frame, inline := t.take(s, stack)
		if t.collapse && frame == t.nodes[at].frame {
			continue
		}
		to := t.nodes[at].child
		if to == 0 || t.nodes[to].frame != frame {
			if to = t.slot(at, frame).call; to == 0 {
				*s = before
				return at, false
			}
		}
		w.met[to].add(inline)
		return to, true
	}
	return at, false
}

func (w *walker) shortcut(from uint32, run profile.Run) *shortcut {
	hi, lo := bits.Mul64(run[0]^callSeed, callFactor)
	hi, lo = bits.Mul64(hi^lo^run[1]^uint64(from), callFactor)
	return &w.paths[(hi^lo)%numShortcuts]
}

// tell adds what the samples met to the tree.
func (w *walker) tell() {
	for at, m := range w.met {
		c := &w.t.nodes[at]
		c.called = c.called || m.called
		c.inlined = c.inlined || m.inlined
	}
}
