package recording

import "github.com/hone-perf/hone/internal/cache"

// A Memo keeps what was found out about the profiles of recordings, for those who ask several questions about them.
type Memo struct {
	kept *cache.Cache[string, Noted]
}

// Noted is what a Memo keeps. Nobody changes it.
type Noted interface {
	Size() int64 // in bytes, about
}

// NewMemo returns a Memo of so many bytes. What was not used for longest goes.
func NewMemo(bytes int64) *Memo {
	return &Memo{cache.New[string](bytes, func(n Noted) int64 { return n.Size() })}
}

// Remembering returns a recording that has its answers kept in m.
func (r *Recording) Remembering(m *Memo) *Recording {
	out := *r
	out.memo = m
	return &out
}

// Remembers reports whether anything is kept of r: it takes a Memo, and a number that tells r from others.
func (r *Recording) Remembers() bool { return r != nil && r.memo != nil && r.number != 0 }

// Recall returns what is kept of a recording under a name.
func Recall[T Noted](r *Recording, name string) (value T, ok bool) {
	if r.Remembers() {
		if n, there := r.memo.kept.Get(r.noteOf(name)); there {
			value, ok = n.(T)
		}
	}
	return value, ok
}

// Note keeps a value of a recording under a name, if anything is kept of it.
func Note[T Noted](r *Recording, name string, value T) {
	if r.Remembers() {
		r.memo.kept.Put(r.noteOf(name), value)
	}
}

// Remember returns what is kept of a recording under a name, and makes it when it is not there. Nothing is kept of nil.
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
