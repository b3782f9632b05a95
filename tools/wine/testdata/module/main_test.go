package main

import "testing"

func BenchmarkWords(b *testing.B) {
	for i := 0; i < b.N; i++ {
		words(100)
	}
}
