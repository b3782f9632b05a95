package profile

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// A Label is a key with a text or a number that a sample carries.
type Label struct {
	Key     string
	Str     string
	Numeric bool // Num and Unit hold the value, not Str
	Num     int64
	Unit    string
	HasUnit bool // the profile names units for this key, though perhaps an empty one
}

// A LabelSet is the labels of a sample: texts by key, then numbers by key; several values of one key stay in
// the order in which they were recorded. It is shared and must not be written to.
type LabelSet []Label

// newLabelSet orders labels. It keeps the slice.
func newLabelSet(labels []Label) LabelSet {
	slices.SortStableFunc(labels, func(a, b Label) int {
		if a.Numeric != b.Numeric {
			if b.Numeric {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Key, b.Key)
	})
	// One unit for a key is a unit for all its values.
	for i := 0; i < len(labels); {
		j, unit := i, false
		for j < len(labels) && labels[j].Key == labels[i].Key && labels[j].Numeric == labels[i].Numeric {
			unit = unit || labels[j].HasUnit
			j++
		}
		for ; i < j; i++ {
			labels[i].HasUnit = unit
		}
	}
	return labels
}

// Has reports whether s has a text label with this key and value.
func (s LabelSet) Has(key, value string) bool {
	return slices.ContainsFunc(s, func(l Label) bool { return !l.Numeric && l.Key == key && l.Str == value })
}

// Key returns the end of the run of labels that share the key of s[i], so that loops can take key by key.
func (s LabelSet) Key(i int) int {
	j := i + 1
	for j < len(s) && s[j].Key == s[i].Key && s[j].Numeric == s[i].Numeric {
		j++
	}
	return j
}

// appendKey appends an encoding of s that is equal only for equal sets.
func (s LabelSet) appendKey(b []byte) []byte {
	str := func(s string) {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	for _, l := range s {
		str(l.Key)
		switch {
		case !l.Numeric:
			b = append(b, 0)
			str(l.Str)
		case l.HasUnit:
			b = append(b, 1)
			b = binary.AppendVarint(b, l.Num)
			str(l.Unit)
		default:
			b = append(b, 2)
			b = binary.AppendVarint(b, l.Num)
		}
	}
	return b
}

// A labelIndex numbers label sets; number 0 is the empty set.
type labelIndex struct {
	sets []LabelSet
	ids  map[string]uint32
	key  []byte
}

func newLabelIndex() *labelIndex {
	return &labelIndex{sets: []LabelSet{nil}, ids: map[string]uint32{"": 0}}
}

func (x *labelIndex) id(s LabelSet) uint32 {
	if len(s) == 0 {
		return 0
	}
	x.key = s.appendKey(x.key[:0])
	if id, ok := x.ids[string(x.key)]; ok {
		return id
	}
	id := uint32(len(x.sets))
	x.sets = append(x.sets, s)
	x.ids[string(x.key)] = id
	return id
}
