package main

import "testing"

func TestMeasured(t *testing.T) {
	m := new(measured)
	if m.add(); m.measuredTotal != 1 {
		t.Error(m.measuredTotal)
	}
}
