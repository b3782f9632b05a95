package agent

import (
	"runtime"
	"runtime/debug"
	"syscall"
	"testing"
	"unsafe"
)

// TestResidence checks that pages of the heap count once they are touched, and that memory outside of the heap does not count.
func TestResidence(t *testing.T) {
	const size = 64 << 20
	var s residence
	mark := new([1 << 10]byte)
	look := func() int64 {
		n, known := s.look(unsafe.Pointer(mark), 0, 0, true)
		if !known {
			t.Skip("this system does not say which pages are resident")
		}
		return n
	}
	touch := func(b []byte) {
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
	}
	b := make([]byte, size)
	touch(b)
	touched := look()
	runtime.KeepAlive(b)
	b = nil
	debug.FreeOSMemory() // the heap stays as large, but is not resident any more
	freed := look()
	if n := touched - freed; n < size/2 {
		t.Errorf("%d bytes ceased to be resident when %d went back to the system", n, size)
	}
	other, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(other)
	touch(other)
	if n := look() - freed; n > size/2 {
		t.Errorf("%d bytes became resident of the heap when %d were touched that are not Go's", n, size)
	}
	runtime.KeepAlive(mark)

	if _, known := s.look(unsafe.Pointer(mark), 1<<50, 0, true); known {
		t.Error("it is known what is resident of a heap of which only a part was seen")
	}
	s.look(unsafe.Pointer(mark), 0, 0, false)
	if _, known := s.look(unsafe.Pointer(mark), 0, 0, false); known {
		t.Error("it looked twice at once")
	}
}
