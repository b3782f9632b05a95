package rules

import (
	"strings"
	"testing"
)

// A finding about reflection explains values that are on the heap because of that, and not others on its lines.
func TestReflectionExplainsItsValues(t *testing.T) {
	const src = `package main

import "reflect"

var kept [][]uint64

func keep(list ...uint64) { kept = append(kept[:0], list) }

func number(v reflect.Value) {
	keep(v.Uint()) // cost: reflect.Value.Uint
}

func boxed(n int) reflect.Value {
	return reflect.ValueOf(n) // cost: reflect.ValueOf
}

func main() {
	for {
		number(boxed(1000))
	}
}
`
	says := map[int]string{}
	for _, f := range adviseOn(t, src, nil) {
		if f.Rule == "reflect-hot" {
			says[f.Where.Line] = f.Escape
		}
	}
	if text, ok := says[lineOf(src, "keep(v.Uint())")]; !ok || text != "" {
		t.Errorf("of v.Uint() it says %q, found: %v", text, ok)
	}
	if text := says[lineOf(src, "return reflect.ValueOf")]; !strings.Contains(text, "a copy of n is on the heap") {
		t.Errorf("of reflect.ValueOf(n) it says %q", text)
	}
}
