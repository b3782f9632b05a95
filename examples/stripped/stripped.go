// Command stripped works in functions whose names it knows, so that profiles of binaries without symbols can be checked.
// It is to be built with
//
//	go build -trimpath -ldflags="-s -w" -o stripped .
//
// It spends its time in spell, sieve and mix, about a half, a third and a sixth of it, for -for. With -cpuprofile it
// profiles itself: what somebody else finds out from outside should look the same.
package main

import (
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"runtime/pprof"
	"time"
)

// spell counts the pairs of different letters that follow each other in an endless text.
//
//go:noinline
func spell(seed uint32, n int) int {
	pairs := 0
	last := letter(&seed)
	for range n {
		next := letter(&seed)
		if next != last {
			pairs++
		}
		last = next
	}
	return pairs
}

// letter returns the next letter of the text. It is inlined.
func letter(seed *uint32) byte {
	*seed = *seed*1664525 + 1013904223
	return 'a' + byte(*seed>>24)%26
}

// sieve returns how many primes there are below the length of composite.
//
//go:noinline
func sieve(composite []bool) int {
	clear(composite)
	primes := 0
	for i := 2; i < len(composite); i++ {
		if composite[i] {
			continue
		}
		primes++
		for j := 2 * i; j < len(composite); j += i {
			composite[j] = true
		}
	}
	return primes
}

// mix returns a checksum of b.
//
//go:noinline
func mix(b []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range b {
		h = rotate(h ^ uint64(c))
	}
	return h
}

// rotate has a loop, so that it takes most of the time of mix: one instruction is hardly ever seen. It is inlined.
func rotate(h uint64) uint64 {
	for range 4 {
		h = (h<<7 | h>>57) * 1099511628211
	}
	return h
}

// A shift does some of everything.
type shift struct {
	composite []bool
	text      []byte
	sum       uint64
}

// run makes each function run until its share of about a millisecond is over. How long that is differs from shift to
// shift: in step with the clock of the kernel, on whose ticks runtime/pprof depends, its profiles would be wrong.
func (s *shift) run() {
	length := 500*time.Microsecond + rand.N(time.Millisecond)
	until(length/2, func() { s.sum += uint64(spell(uint32(s.sum), 2000)) })
	until(length/3, func() { s.sum += uint64(sieve(s.composite)) })
	until(length/6, func() { s.sum += mix(s.text) })
}

// until calls f until some time is over.
func until(d time.Duration, f func()) {
	for start := time.Now(); time.Since(start) < d; {
		f()
	}
}

func main() {
	stop := flag.Duration("for", 5*time.Second, "how long to run")
	profile := flag.String("cpuprofile", "", "`file` for the CPU profile")
	flag.Parse()
	if *profile != "" {
		f, err := os.Create(*profile)
		if err != nil {
			log.Fatal(err)
		}
		if err := pprof.StartCPUProfile(f); err != nil {
			log.Fatal(err)
		}
		defer func() {
			pprof.StopCPUProfile()
			if err := f.Close(); err != nil {
				log.Fatal(err)
			}
		}()
	}
	s := newShift()
	shifts := 0
	for start := time.Now(); time.Since(start) < *stop; shifts++ {
		s.run()
	}
	fmt.Printf("%d shifts\n", shifts)
}

func newShift() *shift {
	return &shift{composite: make([]bool, 4096), text: make([]byte, 4096)}
}
