// Command known answers requests, each of which takes 200 µs of CPU time and 8 KiB of memory, to the letter.
package main

import (
	"flag"
	"log"
	"net/http"
	"runtime"
	"syscall"
	"time"
	"unsafe"
)

const (
	work   = 200 * time.Microsecond
	memory = 8 << 10
)

// threadCPU returns the CPU time of this thread.
func threadCPU() time.Duration {
	const threadClock = 3
	var t syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, threadClock, uintptr(unsafe.Pointer(&t)), 0)
	return time.Duration(t.Nano())
}

var sink [16][]byte

//go:noinline
func burn() (x uint64) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for end := threadCPU() + work; threadCPU() < end; {
		for i := range 1000 {
			x = x*31 + uint64(i)
		}
	}
	return x
}

//go:noinline
func fill(i int) { sink[i%len(sink)] = make([]byte, memory) }

var kept [][]byte

//go:noinline
func leak() { kept = append(kept, make([]byte, 4<<10)) }

func main() {
	addr := flag.String("addr", "127.0.0.1:0", "where to listen")
	fail := flag.Bool("fail", false, "end at once")
	flag.Parse()
	if *fail {
		log.Fatal("no such thing as a free port")
	}
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fill(int(burn() % 1024))
		w.Write([]byte("hi"))
	})
	http.HandleFunc("/leak", func(w http.ResponseWriter, r *http.Request) {
		leak()
		w.Write([]byte("hi"))
	})
	http.HandleFunc("/crash", func(w http.ResponseWriter, r *http.Request) {
		go panic("it was asked to")
	})
	log.Fatal(http.ListenAndServe(*addr, nil))
}
