package recording

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/profile"
)

// TestPartCacheReadsApart holds that whoever wants one part need not wait for another one to be read, and that a part
// which several want is read once.
func TestPartCacheReadsApart(t *testing.T) {
	var c partCache
	const patience = time.Minute // for what hangs when it is broken
	begun, end := make(chan bool), make(chan bool)
	slow, other := &profile.Profile{}, &profile.Profile{}
	reads := 0
	readSlow := func() (*profile.Profile, error) {
		reads++
		close(begun)
		<-end
		return slow, nil
	}
	var both sync.WaitGroup
	got := make([]*profile.Profile, 2)
	both.Go(func() { got[0], _ = c.get("slow", readSlow) })
	<-begun
	both.Go(func() { got[1], _ = c.get("slow", readSlow) })

	quick := make(chan *profile.Profile)
	go func() {
		p, _ := c.get("other", func() (*profile.Profile, error) { return other, nil })
		quick <- p
	}()
	select {
	case p := <-quick:
		if p != other {
			t.Error("the other part is not what was read")
		}
	case <-time.After(patience):
		t.Error("the other part waits for the slow one")
	}
	close(end)
	both.Wait()
	if got[0] != slow || got[1] != slow || reads != 1 {
		t.Errorf("the slow part was read %d times and is %v, want once %p", reads, got, slow)
	}
}

// TestPartCacheKeeps holds that the parts that were used last stay, and that a failure does not.
func TestPartCacheKeeps(t *testing.T) {
	var c partCache
	reads := make(map[string]int)
	get := func(key string) {
		c.get(key, func() (*profile.Profile, error) {
			reads[key]++
			return &profile.Profile{}, nil
		})
	}
	for i := range maxKept {
		get(fmt.Sprint(i))
	}
	get("0")
	get("more") // in the place of 1
	for i := range maxKept {
		if i != 1 {
			get(fmt.Sprint(i))
		}
	}
	for key, n := range reads {
		if n != 1 {
			t.Errorf("%s was read %d times", key, n)
		}
	}
	if get("1"); reads["1"] != 2 {
		t.Errorf("1 was read %d times, want 2: there is room for %d", reads["1"], maxKept)
	}

	broken := errors.New("broken")
	if _, err := c.get("file", func() (*profile.Profile, error) { return nil, broken }); err != broken {
		t.Errorf("the error is %v", err)
	}
	if p, err := c.get("file", func() (*profile.Profile, error) { return &profile.Profile{}, nil }); p == nil || err != nil {
		t.Errorf("after it was mended: %v, %v", p, err)
	}
	if len(c.kept) != maxKept {
		t.Errorf("%d parts are kept, want %d", len(c.kept), maxKept)
	}
}
