package recording

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/profile"
)

// A partReader reads profiles of one kind for an answer. Recorders get killed and disks fill up: profiles that are whole are the
// answer, and it says which are damaged.
type partReader struct {
	*Recording
	kind    string
	damaged []string // damaged profiles, as text
	partly  error    // damage of a profile that is used because none is intact
}

// A DamageError says that an answer lacks parts of a recording.
type DamageError struct{ Notes []string }

func (e *DamageError) Error() string { return strings.Join(e.Notes, "; ") }

// maxDamaged is how many damaged profiles are named.
const maxDamaged = 5

// withDamage returns p with notes about what is damaged, if anything is.
func (s *partReader) withDamage(p *profile.Profile) *profile.Profile {
	notes := slices.Clone(s.Lost)
	for i, text := range s.damaged {
		if i == maxDamaged {
			text = fmt.Sprintf("%d more %s profiles are damaged", len(s.damaged)-i, s.kind)
		}
		notes = append(notes, text+" and left out")
		if i == maxDamaged {
			break
		}
	}
	for _, n := range notes {
		p = p.WithNote(n)
	}
	if s.partly != nil {
		notes = append(notes, s.partly.Error())
	}
	if len(notes) > 0 {
		q := *p
		q.Damage = &DamageError{notes}
		p = &q
	}
	return p
}

// errForeign says that a profile in a recording is not of the kind that its name says.
var errForeign = errors.New("it has other sample types")

// parse reads a profile. When it is damaged, p is nil unless values of this kind could be read.
func (s *partReader) parse(part Part) (p *profile.Profile, err error) {
	p, err = s.Recording.parse(part.File)
	if err == nil && !slices.ContainsFunc(p.SampleTypes, func(t profile.ValueType) bool { return t.Type == types[s.kind][0] }) {
		if err = p.Damage; err == nil {
			err = errForeign
		}
		p = nil
	}
	if err == nil {
		err = p.Damage
	}
	return p, err
}

// leaveOut notes that a profile is not part of the answer.
func (s *partReader) leaveOut(part Part, err error) {
	s.damaged = append(s.damaged, fmt.Sprintf("%s is damaged (%v)", part.File, err))
}

// parse reads a profile of a recording.
func (r *Recording) parse(file string) (*profile.Profile, error) {
	f, err := r.files.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return profile.Parse(f)
}

// nearest returns a profile, or when it is damaged, the one nearest before it that is not, from number low on, or else the next one behind
// it, below high. When all are damaged, it is what could be read of one.
func (s *partReader) nearest(i, low, high int) (*profile.Profile, int, error) {
	parts := s.Parts[s.kind]
	order := make([]int, 0, high-low)
	for k := i; k >= low; k-- {
		order = append(order, k)
	}
	for k := i + 1; k < high; k++ {
		order = append(order, k)
	}
	var some *profile.Profile
	var first error
	at := -1
	for _, k := range order {
		p, err := s.parse(parts[k])
		if err == nil {
			if at >= 0 {
				s.leaveOut(parts[at], some.Damage)
			}
			return p, k, nil
		}
		if first == nil {
			first = fmt.Errorf("%s: %w", parts[k].File, err)
		}
		if p != nil && at < 0 {
			some, at = p, k
			continue
		}
		s.leaveOut(parts[k], err)
	}
	if at < 0 {
		return nil, 0, first
	}
	s.partly = some.Damage
	return some, at, nil
}

// sum returns the sum of profiles, and the first and last that are in it. When all are damaged, it is the sum of what could be
// read of them.
func (s *partReader) sum(parts []Part) (p *profile.Profile, first, last Part, err error) {
	var whole, pieces total
	var broken error   // what is wrong with the first that is damaged
	var inPieces []int // those of s.damaged that are in pieces
	s.each(parts, func(part Part, p *profile.Profile, err error) {
		if err == nil {
			err = whole.add(part, p)
			p = nil // it is another one by now
		}
		if err == nil {
			return
		}
		if broken == nil {
			broken = fmt.Errorf("%s: %w", part.File, err)
		}
		s.leaveOut(part, err)
		if p == nil || whole.n > 0 {
			return
		}
		piece := *p
		piece.Notes = nil
		if pieces.n < maxDamaged { // else there are enough to tell
			for _, n := range p.Notes {
				piece.Notes = append(piece.Notes, part.File+": "+n)
			}
		}
		if pieces.add(part, &piece) == nil {
			inPieces = append(inPieces, len(s.damaged)-1)
			s.partly = err
		}
	})
	t := &whole
	switch {
	case whole.n > 0:
		s.partly = nil
	case pieces.n > 0:
		t = &pieces
		var lost []string
		for i, text := range s.damaged {
			if len(inPieces) > 0 && inPieces[0] == i {
				inPieces = inPieces[1:]
				continue
			}
			lost = append(lost, text)
		}
		s.damaged = lost
	default:
		return nil, first, last, broken
	}
	p, err = t.Profile()
	return p, t.first, t.last, err
}

// A total is a sum of profiles of a recording.
type total struct {
	profile.Merger
	n           int
	first, last Part
}

// add adds a profile, which nobody may use afterwards.
func (t *total) add(part Part, p *profile.Profile) error {
	if err := t.Take(p); err != nil {
		return err
	}
	if t.n == 0 {
		t.first = part
	}
	t.n++
	t.last = part
	return nil
}

// each reads profiles, several at once, and hands them on in their order. No more are in memory than are read at once.
func (s *partReader) each(parts []Part, take func(Part, *profile.Profile, error)) {
	type read struct {
		p   *profile.Profile
		err error
	}
	const few = 4 // for which waking threads would take longer than it saves
	if len(parts) < few {
		for _, part := range parts {
			p, err := s.parse(part)
			take(part, p, err)
		}
		return
	}
	room := make(chan struct{}, runtime.GOMAXPROCS(0))
	order := make(chan chan read, cap(room))
	go func() {
		defer close(order)
		for _, part := range parts {
			room <- struct{}{}
			done := make(chan read, 1)
			order <- done
			go func() {
				p, err := s.parse(part)
				done <- read{p, err}
			}()
		}
	}()
	i := 0
	for done := range order {
		one := <-done
		take(parts[i], one.p, one.err)
		<-room
		i++
	}
}
