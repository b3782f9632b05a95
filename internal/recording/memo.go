package recording

import "github.com/hone-perf/hone/internal/cache"

// A Memo is a cache of intermediate results about profiles of recordings.
type Memo struct {
	kept *cache.Cache[string, Noted]
}

// Noted is a value in a Memo. It is immutable.
type Noted interface {
	Size() int64 // in bytes, about
}

// NewMemo returns a Memo of so many bytes. It drops the least recently used values.
func NewMemo(bytes int64) *Memo {
	return &Memo{cache.New[string](bytes, func(n Noted) int64 { return n.Size() })}
}

// Remembering returns a recording whose results are kept in m.
func (r *Recording) Remembering(m *Memo) *Recording {
	out := *r
	out.memo = m
	return &out
}

// Remembers reports whether results about r are kept, which takes a Memo and a number for r.
func (r *Recording) Remembers() bool { return r != nil && r.memo != nil && r.number != 0 }

// Recall returns the value of a recording under a name.
func Recall[T Noted](r *Recording, name string) (value T, ok bool) {
	if r.Remembers() {
		if n, there := r.memo.kept.Get(r.noteOf(name)); there {
			value, ok = n.(T)
		}
	}
	return value, ok
}

// Note keeps a value under a name, if results about the recording are kept.
func Note[T Noted](r *Recording, name string, value T) {
	if r.Remembers() {
		r.memo.kept.Put(r.noteOf(name), value)
	}
}

// Remember returns the value of a recording under a name, and makes it if there is none. It does not keep nil.
func Remember[T Noted](r *Recording, name string, value func() (T, error)) (T, error) {
	if !r.Remembers() {
		return value()
	}
	n, err := r.memo.kept.Do(r.noteOf(name), func() (Noted, error) { return value() })
	if err != nil {
		var none T
		return none, err
	}
	return n.(T), nil
}

func (r *Recording) noteOf(name string) string { return r.Key() + " " + name }
