package main

import "testing"

func TestMeasured(t *testing.T) {
	m := new(measured)
	if m.add(); m.measuredTotal != 1 {
		t.Error(m.measuredTotal)
	}
}

// Names that begin as those of fields do are others.
type muted struct{ name, mutable string }

func TestNames(t *testing.T) {
	m := muted{name: t.Name(), mutable: "n"}
	n := len(m.name) + len(m.mutable)
	t.Log(n)
}
