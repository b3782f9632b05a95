package main

import "testing"

func TestSpell(t *testing.T) {
	if got := spell(1, 1000); got < 900 || got > 1000 {
		t.Errorf("spell found %d pairs of 1000; want about 25 of 26", got)
	}
}

func TestSieve(t *testing.T) {
	composite := make([]bool, 100)
	for range 2 {
		if got := sieve(composite); got != 25 {
			t.Errorf("%d primes below 100; want 25", got)
		}
	}
}

func TestMix(t *testing.T) {
	if a, b := mix([]byte("ab")), mix([]byte("ba")); a == b || a != mix([]byte("ab")) {
		t.Errorf("checksums of ab and ba are %x and %x", a, b)
	}
}

func BenchmarkShift(b *testing.B) {
	s := newShift()
	for b.Loop() {
		s.run()
	}
}
