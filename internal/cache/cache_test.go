package cache

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
)

// TestDoMakesKeysConcurrently holds that whoever wants one value need not wait for another one to be made, and that a value which several want is
// made once.
func TestDoMakesKeysConcurrently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New[string, int](8, nil)
		end := make(chan bool)
		made := 0
		slow := func() (int, error) {
			made++
			<-end
			return 1, nil
		}
		var all sync.WaitGroup
		got := make([]int, 3)
		for i := range got {
			all.Go(func() { got[i], _ = c.Do("slow", slow) })
		}
		synctest.Wait() // all of them wait for the one that makes it
		if v, err := c.Do("other", func() (int, error) { return 2, nil }); v != 2 || err != nil {
			t.Errorf("Do(other) = %d, %v while another value is made, want 2", v, err)
		}
		close(end)
		all.Wait()
		if !slices.Equal(got, []int{1, 1, 1}) || made != 1 {
			t.Errorf("the slow value was made %d times and is %v, want once 1", made, got)
		}
	})
}

// TestDoForgetsErrors checks that only the callers that wait for a computation get its error or panic.
func TestDoForgetsErrors(t *testing.T) {
	c := New[string, int](8, nil)
	broken := errors.New("broken")
	if _, err := c.Do("a", func() (int, error) { return 1, broken }); err != broken {
		t.Errorf("the error is %v, want %v", err, broken)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("a panic was swallowed")
			}
		}()
		c.Do("a", func() (int, error) { panic("broken") })
	}()
	if v, err := c.Do("a", func() (int, error) { return 2, nil }); v != 2 || err != nil {
		t.Errorf("after it was mended: %d, %v, want 2", v, err)
	}
}

func TestBudget(t *testing.T) {
	length := func(s string) int64 { return int64(len(s)) }
	tests := []struct {
		name string
		do   func(c *Cache[int, string])
		want []int // keys, the last used first
	}{
		{"within", func(c *Cache[int, string]) {}, []int{3, 2, 1}},
		{"get", func(c *Cache[int, string]) { c.Get(1) }, []int{1, 3, 2}},
		{"do", func(c *Cache[int, string]) { c.Do(1, func() (string, error) { return "x", nil }) }, []int{1, 3, 2}},
		{"one goes", func(c *Cache[int, string]) { c.Put(4, "12") }, []int{4, 3, 2}},
		{"two go", func(c *Cache[int, string]) { c.Put(4, "12345") }, []int{4, 3}},
		{"all go", func(c *Cache[int, string]) { c.Put(4, "1234567890") }, []int{4}},
		{"too large", func(c *Cache[int, string]) { c.Put(4, "12345678901") }, []int{3, 2, 1}},
		{"another value", func(c *Cache[int, string]) { c.Put(1, "1234"); c.Put(4, "") }, []int{4, 1, 3, 2}},
		{"removed", func(c *Cache[int, string]) { c.Remove(2, func(s string) bool { return s == "123" }) }, []int{3, 1}},
		{"not the one meant", func(c *Cache[int, string]) { c.Remove(2, func(s string) bool { return s == "" }) }, []int{3, 2, 1}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := New[int](10, length)
			for key := 1; key <= 3; key++ {
				c.Put(key, "123")
			}
			test.do(c)
			var got []int
			for key := range c.All() {
				got = append(got, key)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("there are %v, want %v", got, test.want)
			}
		})
	}
}

// TestRace has many goroutines at one cache, for the race detector.
func TestRace(t *testing.T) {
	c := New[int, int](4, nil)
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for i := range 200 {
				key := (g + i) % 7
				if v, err := c.Do(key, func() (int, error) { return key, nil }); v != key || err != nil {
					t.Errorf("Do(%d) = %d, %v", key, v, err)
				}
				for range c.All() {
				}
			}
		})
	}
	all.Wait()
}
