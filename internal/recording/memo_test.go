package recording

import (
	"errors"
	"testing"
)

type note int64

func (n note) Size() int64 { return int64(n) }

// What is kept is kept by recording and name, within a budget, and where there is a place for it.
func TestMemo(t *testing.T) {
	made := 0
	of := func(r *Recording, name string, n note) note {
		t.Helper()
		got, err := Remember(r, name, func() (note, error) { made++; return n, nil })
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	memo := NewMemo(100)
	a, b := (&Recording{Ref: "x"}).Numbered().Remembering(memo), (&Recording{Ref: "x"}).Numbered().Remembering(memo)
	for _, tt := range []struct {
		rec  *Recording
		name string
		n    note
		want note
		made int
	}{
		{a, "costs", 40, 40, 1},
		{a, "costs", 41, 40, 1},
		{b, "costs", 42, 42, 2}, // another one of the same name
		{a, "costs", 43, 40, 2},
		{a, "other", 44, 44, 3}, // for which b's costs go
		{a, "costs", 45, 40, 3},
		{b, "costs", 46, 46, 4},
		{a, "large", 101, 101, 5},
		{a, "large", 102, 102, 6}, // more than there is place for
		{(&Recording{Ref: "x"}).Remembering(memo), "costs", 47, 47, 7}, // not told from others
		{nil, "costs", 48, 48, 8},
	} {
		if got := of(tt.rec, tt.name, tt.n); got != tt.want || made != tt.made {
			t.Errorf("%s, %d: got %d, made %d; want %d, %d", tt.name, tt.n, got, made, tt.want, tt.made)
		}
	}
	bad := errors.New("bad")
	if _, err := Remember(a, "bad", func() (note, error) { return 0, bad }); err != bad {
		t.Errorf("got error %v", err)
	}
	if _, ok := Recall[note](a, "bad"); ok {
		t.Error("what could not be made is kept")
	}
	Note(a, "told", note(7))
	if got, ok := Recall[note](a, "told"); !ok || got != 7 {
		t.Errorf("got %d, %v", got, ok)
	}
}
