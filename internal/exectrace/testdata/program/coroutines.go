//go:build go1.23

package main

import "iter"

func coroutines() {
	next, stop := iter.Pull(func(yield func(int) bool) {
		for i := range 5 {
			if !yield(i) {
				return
			}
		}
	})
	defer stop()
	for {
		if _, ok := next(); !ok {
			return
		}
	}
}
