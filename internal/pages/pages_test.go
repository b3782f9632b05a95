package pages

import (
	"os"
	"regexp"
	"runtime"
	"strconv"
	"testing"
	"unsafe"
)

func TestMake(t *testing.T) {
	for _, tt := range []struct{ n, room int }{{0, 0}, {0, 10}, {3, 3}, {100, 40 << 10}, {1 << 20, 1 << 20}} {
		s := Make[int64](tt.n, tt.room)
		if len(s) != tt.n || cap(s) < tt.room {
			t.Errorf("Make(%d, %d) has %d elements and room for %d", tt.n, tt.room, len(s), cap(s))
		}
		for i, x := range s[:cap(s)] {
			if x != 0 {
				t.Fatalf("Make(%d, %d)[%d] = %d, want 0", tt.n, tt.room, i, x)
			}
		}
	}
	if s := Make[struct{}](5, 1<<30); len(s) != 5 {
		t.Errorf("a slice of nothing has %d elements, want 5", len(s))
	}
}

func TestWanted(t *testing.T) {
	large.Store(false)
	for _, tt := range []struct {
		size uintptr
		want bool
	}{{0, false}, {few - 1, false}, {few, true}, {many - 1, true}, {many, false}, {step - 1, false}, {few, true}, {step, false}, {few, false}} {
		if got := wanted(tt.size); got != tt.want {
			t.Errorf("large pages are wanted for a table of %d bytes: %v, want %v", tt.size, got, tt.want)
		}
	}
}

// TestAsk looks at what Linux knows about the memory of a table.
func TestAsk(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage"); err != nil || runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Log("this machine has no large pages to ask for")
		return
	}
	large.Store(false)
	for _, size := range []int{few, many - 1} {
		s := Make[byte](size, size)
		if !askedFor(t, uint64(uintptr(unsafe.Pointer(&s[size/2])))) {
			t.Errorf("no large pages are asked for for a table of %d bytes", size)
		}
		runtime.KeepAlive(s)
	}
}

var mapping = regexp.MustCompile(`(?ms)^([0-9a-f]+)-([0-9a-f]+) .*?^VmFlags:([^\n]*)$`)

// askedFor reports whether large pages have been asked for for the memory at an address.
func askedFor(t *testing.T, at uint64) bool {
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mapping.FindAllStringSubmatch(string(maps), -1) {
		from, _ := strconv.ParseUint(m[1], 16, 64)
		to, _ := strconv.ParseUint(m[2], 16, 64)
		if from <= at && at < to {
			return regexp.MustCompile(`\bhg\b`).MatchString(m[3])
		}
	}
	t.Fatalf("nothing is mapped at %#x", at)
	return false
}
