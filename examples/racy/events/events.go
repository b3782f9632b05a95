// Package events collects what sources have to say.
package events

import (
	"slices"
	"sync"
)

// A Source is asked for its events.
type Source func() []string

// Collect asks all sources at the same time and returns their events, sorted.
func Collect(sources ...Source) []string {
	var all []string
	var wg sync.WaitGroup
	for _, ask := range sources {
		wg.Go(func() {
			list := ask()
			all = append(all, list...)
		})
	}
	wg.Wait()
	slices.Sort(all)
	return all
}
