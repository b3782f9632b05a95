package main

import "fmt"

func timed(name string, next func(string)) func() {
	return func() {
		next("took " + name) // cost: runtime.concatstring2 runtime.mallocgc; want
	}
}

func changing(name string, next func(string)) func() {
	return func() {
		name = name + "!"
		next("took " + name) // cost: runtime.concatstring2 runtime.mallocgc
	}
}

// The separator inside is another one than outside.
func separated(name string, next func(string)) func() {
	const sep = "-"
	next(name + sep)
	return func() {
		const sep = "+"
		next(name + sep) // cost: runtime.concatstring2 runtime.mallocgc; want
	}
}

func main() {
	separated("a", func(s string) { fmt.Println(s) })()
	say := func(s string) { fmt.Println(s) }
	f, g := timed("it", say), changing("it", say)
	f()
	f()
	g()
	g()
}
