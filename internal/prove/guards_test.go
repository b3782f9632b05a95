package prove

import "testing"

// Documentation says whether goroutines may share a value. Sentences are of public packages.
func TestSaysSafe(t *testing.T) {
	for text, want := range map[string]bool{
		"Cache is safe for concurrent use.":                                                                 true,
		"Cache is a thread-safe fixed size LRU cache.":                                                      true,
		"Client's methods are safe for use by multiple goroutines.":                                         true,
		"A Logger can be used simultaneously from multiple goroutines; it guarantees to serialize access.":  true,
		"Operations on the resulting set are thread-safe.":                                                  true,
		"It is safe to call Do from different goroutines.":                                                  true,
		"LRU implements a non-thread safe fixed size LRU cache":                                             false,
		"Viper is not safe for concurrent Get() and Set() operations.":                                      false,
		"The methods of Parser are not goroutine safe.":                                                     false,
		"Buf is not for goroutines.":                                                                        false,
		"The caller must hold the lock. It is safe for concurrent use otherwise.":                           false,
		"A Decoder isn't safe for concurrent use.":                                                          false,
		"Reader reads values from an input.":                                                                false,
		"Start starts a goroutine for each worker.":                                                         false,
		"Sets of this kind offer no thread safety; those of NewSet do, and are safe for use by goroutines.": false,
	} {
		if got := saysSafe.MatchString(text) && !saysUnsafe.MatchString(text); got != want {
			t.Errorf("%q: safe is %v", text, got)
		}
	}
}
