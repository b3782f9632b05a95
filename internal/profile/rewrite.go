package profile

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// MapLabels returns p with each label set replaced. change must return a new set or the one it was given.
func (p *Profile) MapLabels(change func(LabelSet) LabelSet) *Profile {
	x := newLabelIndex()
	of := make([]uint32, len(p.sets))
	for i, s := range p.sets {
		of[i] = x.id(newLabelSet(change(s)))
	}
	q := *p
	q.sets = x.sets
	q.labels = make([]uint32, len(p.stack))
	for i := range q.labels {
		q.labels[i] = of[p.Label(i)]
	}
	return &q
}

// WithLabel returns p with a text label on every sample, in place of what the key held before.
func (p *Profile) WithLabel(key, value string) *Profile {
	return p.MapLabels(func(s LabelSet) LabelSet {
		out := LabelSet{{Key: key, Str: value}}
		for _, l := range s {
			if l.Numeric || l.Key != key {
				out = append(out, l)
			}
		}
		return out
	})
}

// LabelWhere returns p with a text label more on the samples for which where is true.
func (p *Profile) LabelWhere(key, value string, where func(i int) bool) *Profile {
	x := newLabelIndex()
	same, more := make([]uint32, len(p.sets)), make([]uint32, len(p.sets))
	for i, s := range p.sets {
		same[i] = x.id(s)
		more[i] = x.id(newLabelSet(append(slices.Clone(s), Label{Key: key, Str: value})))
	}
	q := *p
	q.sets = x.sets
	q.labels = make([]uint32, len(p.stack))
	for i := range q.labels {
		if of := p.Label(i); where(i) {
			q.labels[i] = more[of]
		} else {
			q.labels[i] = same[of]
		}
	}
	return &q
}

// Rewrite returns p over other tables with each stack replaced. change gets the number of a sample and its stack
// from the leaf to the root, which it may overwrite, and returns the new stack and whether to keep the sample.
func (p *Profile) Rewrite(t Tables, change func(i int, stack []uint32) ([]uint32, bool)) (*Profile, error) {
	b := NewBuilder(p.Header)
	b.Tables = t
	b.Notes = p.Notes
	b.labels.sets = p.sets // the same sets under the same numbers
	var stack []uint32
	values := make([]int64, len(p.values))
	for i := range p.stack {
		stack = p.Stack(i, stack[:0])
		changed, keep := change(i, stack)
		if !keep {
			continue
		}
		for k, col := range p.values {
			values[k] = col[i]
		}
		b.Add(changed, p.Label(i), values)
	}
	return b.Profile()
}

// DropUninteresting cuts off the frames that the profile itself calls uninteresting: allocators, profilers and
// locks below the code that used them.
func (p *Profile) DropUninteresting() (*Profile, error) {
	if p.DropFrames == "" {
		return p, nil
	}
	drop, err := regexp.Compile("^(" + p.DropFrames + ")$")
	if err != nil {
		return p, fmt.Errorf("failed to compile regexp %s: %v", p.DropFrames, err)
	}
	var keep *regexp.Regexp
	if p.KeepFrames != "" {
		if keep, err = regexp.Compile("^(" + p.KeepFrames + ")$"); err != nil {
			return p, fmt.Errorf("failed to compile regexp %s: %v", p.KeepFrames, err)
		}
	}

	dropped := make([]bool, len(p.Functions))
	for i, f := range p.Functions {
		name := SimpleName(f.Name)
		dropped[i] = f.Name != "" && drop.MatchString(name) && (keep == nil || !keep.MatchString(name))
	}
	const (
		stays = iota
		goes  // with all below it
		ends  // stays, but all below it goes
	)
	fate := make([]uint8, len(p.Locations))
	t := p.Tables
	t.Locations = append([]Location(nil), t.Locations...)
	any := false
	for i := range t.Locations {
		l := &t.Locations[i]
		for j := len(l.Lines) - 1; j >= 0; j-- {
			if !dropped[l.Lines[j].Function] {
				continue
			}
			any = true
			if j == len(l.Lines)-1 {
				fate[i] = goes
			} else {
				fate[i] = ends
				l.Lines = l.Lines[j+1:]
			}
			break
		}
	}
	if !any {
		return p, nil
	}
	return p.Rewrite(t, func(_ int, stack []uint32) ([]uint32, bool) {
		user := false // whether a frame that stays was seen; before that nothing goes
		for i := len(stack) - 1; i >= 0; i-- {
			switch fate[stack[i]] {
			case stays:
				user = true
			case goes:
				if user {
					return stack[i+1:], true
				}
			case ends:
				if user {
					return stack[i:], true
				}
			}
		}
		return stack, true
	})
}

// SimpleName returns a function's name without the dot that some linkers put in front and without its arguments.
func SimpleName(name string) string {
	name = strings.TrimPrefix(name, ".")
	for at := 0; ; {
		i := strings.IndexByte(name[at:], '(')
		if i < 0 {
			return name
		}
		i += at
		switch {
		case strings.HasPrefix(name[i:], "(anonymous namespace)"):
			at = i + len("(anonymous namespace)")
		case strings.HasPrefix(name[i:], "()") && strings.HasSuffix(name[at:i], "operator"):
			at = i + len("()")
		default:
			return name[:i]
		}
	}
}

// WithoutHidden returns p with locations that a filter has hidden taken out of the stacks.
func (p *Profile) WithoutHidden() (*Profile, error) {
	hidden := false
	for i := range p.Locations {
		hidden = hidden || p.Locations[i].Hidden
	}
	if !hidden {
		return p, nil
	}
	return p.Rewrite(p.Tables, func(_ int, stack []uint32) ([]uint32, bool) {
		kept := stack[:0]
		for _, l := range stack {
			if !p.Locations[l].Hidden {
				kept = append(kept, l)
			}
		}
		return kept, true
	})
}
