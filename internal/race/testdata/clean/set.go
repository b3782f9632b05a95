// Package clean has a set that goroutines may share.
package clean

import "sync"

// A Set is a set of words. It is safe for concurrent use by multiple goroutines.
type Set struct {
	mu sync.Mutex
	m  map[string]bool
}

// New returns an empty set.
func New() *Set { return &Set{m: map[string]bool{}} }

// Add adds a word.
func (s *Set) Add(w string) { s.mu.Lock(); defer s.mu.Unlock(); s.m[w] = true }

// Has reports whether a word is in it.
func (s *Set) Has(w string) bool { s.mu.Lock(); defer s.mu.Unlock(); return s.m[w] }
