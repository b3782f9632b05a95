// Package crossed takes two locks in different orders.
package crossed

import "sync"

var (
	booksMu, shelfMu sync.Mutex

	books, shelf int
)

// Put puts a book onto the shelf.
func Put() {
	booksMu.Lock()
	defer booksMu.Unlock()
	books--
	shelfMu.Lock()
	shelf++
	shelfMu.Unlock()
}

// Take takes a book from the shelf.
func Take() {
	shelfMu.Lock()
	shelf--
	add()
	shelfMu.Unlock()
}

func add() {
	booksMu.Lock()
	books++
	booksMu.Unlock()
}

var done = make(chan int)

// Wait waits for what nobody sends, which is no mistake.
func Wait() int { return <-done }

// hits is no map: writes of maps at the same time end the program, and are reported as a hang.
var hits int

// Hit counts, and forgets the lock.
func Hit() { hits++ }
