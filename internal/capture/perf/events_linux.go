package perf

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// An event is what the kernel is asked for of one core or thread, and the buffer that it writes into.
type event struct {
	fd   int
	mem  []byte
	page *unix.PerfEventMmapPage
	data []byte
}

// A request is what to ask of each core or thread.
type request struct {
	attr   unix.PerfEventAttr
	pages  int // of a buffer
	layout layout
	kernel bool // time in the kernel counts
}

// stackBytes is how much of a stack a sample has: enough for a function that has no frame, or is about to make one.
const stackBytes = 256

// newRequest asks for samples at a rate, with the chain of callers and, on machines that we know, what it takes to
// find the caller that frame pointers miss.
func newRequest(rate int) *request {
	r := &request{kernel: true}
	r.attr = unix.PerfEventAttr{
		Type:   unix.PERF_TYPE_SOFTWARE,
		Config: unix.PERF_COUNT_SW_CPU_CLOCK, // hardware counters are often missing in virtual machines
		Sample: uint64(1e9 / rate),
		// The chain ends where the kernel was entered: time in a system call counts for who made it, as in the runtime.
		Sample_type: unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_CALLCHAIN,
		Bits: unix.PerfBitExcludeCallchainKernel | unix.PerfBitExcludeHv |
			unix.PerfBitExcludeIdle | unix.PerfBitWatermark,
	}
	r.attr.Size = uint32(unsafe.Sizeof(r.attr))
	r.layout.order = nativeEndian
	if stackRegisters != 0 {
		r.attr.Sample_type |= unix.PERF_SAMPLE_REGS_USER | unix.PERF_SAMPLE_STACK_USER
		r.attr.Sample_regs_user = stackRegisters
		r.attr.Sample_stack_user = stackBytes
		for bits := uint64(stackRegisters); bits != 0; bits &= bits - 1 {
			r.layout.registers++
		}
	}
	// Room for a quarter of a second of the longest samples.
	const longest = 127*8 + stackBytes + 64
	r.pages = 4
	for r.pages < 256 && r.pages*os.Getpagesize() < rate*longest/4 {
		r.pages *= 2
	}
	r.attr.Wakeup = uint32(r.pages * os.Getpagesize() / 2)
	return r
}

// everywhere is for asking for a thread on all cores, or for a core with all threads.
const everywhere = -1

// open asks for a thread or a core. What a system does not have is left out of this and later requests where
// samples are of use without it.
func (r *request) open(thread, cpu int) (*event, error) {
	for {
		fd, err := unix.PerfEventOpen(&r.attr, thread, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
		switch {
		case err == nil:
			return r.mapped(fd)
		case (errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EOPNOTSUPP)) && r.layout.registers > 0:
			r.layout.registers = 0
			r.attr.Sample_type &^= unix.PERF_SAMPLE_REGS_USER | unix.PERF_SAMPLE_STACK_USER
			r.attr.Sample_regs_user, r.attr.Sample_stack_user = 0, 0
		default:
			return nil, err
		}
	}
}

// openThread asks for a thread. Who may not know where the kernel is may still know where the program is.
func (r *request) openThread(thread int) (*event, error) {
	e, err := r.open(thread, everywhere)
	if refused(err) && r.kernel {
		r.attr.Bits |= unix.PerfBitExcludeKernel
		if e, err = r.open(thread, everywhere); err == nil {
			r.kernel = false
		} else {
			r.attr.Bits &^= unix.PerfBitExcludeKernel
		}
	}
	return e, err
}

// refused reports whether the system does not allow something.
func refused(err error) bool { return errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) }

// mapped makes the buffer of an event. There is a limit on the memory that buffers lock: small ones are better than none.
func (r *request) mapped(fd int) (*event, error) {
	page := os.Getpagesize()
	for {
		mem, err := unix.Mmap(fd, 0, (1+r.pages)*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err == nil {
			return &event{fd: fd, mem: mem, page: (*unix.PerfEventMmapPage)(unsafe.Pointer(&mem[0])), data: mem[page:]}, nil
		}
		if !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.ENOMEM) || r.pages == 1 {
			unix.Close(fd)
			return nil, fmt.Errorf("making a buffer: %w", err)
		}
		r.pages /= 2
		r.attr.Wakeup = uint32(r.pages * page / 2)
	}
}

func (e *event) close() {
	unix.Munmap(e.mem)
	unix.Close(e.fd)
}

// take appends what the kernel has written since to buf, and tells the kernel that there is room again.
func (e *event) take(buf []byte) []byte {
	head := atomic.LoadUint64(&e.page.Data_head) // the load comes before reading what is there
	tail := e.page.Data_tail                     // only we write it
	n := head - tail
	size := uint64(len(e.data))
	if n > size { // cannot be
		tail, n = head-size, size
	}
	from := tail % size
	first := min(n, size-from)
	buf = append(buf, e.data[from:from+first]...)
	buf = append(buf, e.data[:n-first]...)
	atomic.StoreUint64(&e.page.Data_tail, head)
	return buf
}

// cores lists those that are in use.
func cores() ([]int, error) {
	b, err := os.ReadFile("/sys/devices/system/cpu/online")
	if err != nil {
		return nil, err
	}
	return parseList(strings.TrimSpace(string(b)))
}

// parseList reads numbers such as 0-3,7.
func parseList(s string) ([]int, error) {
	const most = 1 << 13
	var out []int
	for part := range strings.SplitSeq(s, ",") {
		first, last, isRange := strings.Cut(part, "-")
		a, err := strconv.ParseUint(first, 10, 16)
		b := a
		if isRange && err == nil {
			b, err = strconv.ParseUint(last, 10, 16)
		}
		if err != nil || b < a || b >= most {
			return nil, fmt.Errorf("%q is not a list of cores", s)
		}
		for ; a <= b; a++ {
			out = append(out, int(a))
		}
	}
	return out, nil
}

// threadsOf lists the threads of a process.
func threadsOf(dir string) ([]int, error) {
	f, err := os.Open(dir + "/task")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	out := make([]int, 0, len(names))
	for _, name := range names {
		if n, err := strconv.Atoi(name); err == nil {
			out = append(out, n)
		}
	}
	return out, nil
}
