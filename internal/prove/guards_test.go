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

// TestSettings holds which names are those of settings, and which are those of methods that only read.
func TestSettings(t *testing.T) {
	for name, want := range map[string]bool{
		"SetLevel": true, "OnTransition": true, "DefineFormat": true, "AddHook": true, "Configure": true,
		"Once": false, "Get": false, "Add": false, "Only": false, "Level": false,
	} {
		if got := settings.MatchString(name); got != want {
			t.Errorf("%s is a setting: %v", name, got)
		}
	}
	for name, want := range map[string]bool{"Template": true, "Program": true, "Schema": true, "Query": false, "Builder": false, "Templates": false} {
		if got := compiled.MatchString(name); got != want {
			t.Errorf("%s is made once: %v", name, got)
		}
	}
	for name, want := range map[string]bool{"Execute": true, "MustLocalize": true, "LocalizeMessage": true, "Run": true, "Running": false, "Check": false, "Parse": false} {
		if got := uses.MatchString(name); got != want {
			t.Errorf("%s uses what was made once: %v", name, got)
		}
	}
}
