package worker

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math/bits"
	"os"
	"reflect"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// channels returns where requests come from and where answers go. Standard output and error are files, which hold what the code that
// is called prints: any package may have taken os.Stdout for its own before this one was initialized.
func channels() (fromHone, toHone *os.File) {
	in, out, ok := strings.Cut(os.Getenv(Mark), ",")
	if !ok {
		return os.Stdin, os.Stdout
	}
	return inherited(in), inherited(out)
}

func inherited(handle string) *os.File {
	n, _ := strconv.ParseUint(handle, 10, 64)
	return os.NewFile(uintptr(n), "hone")
}

// Mark is the environment variable that says that a process is a worker: the handles of its two channels.
const Mark = "HONE_PROVE_WORKER"

// Requests to a worker.
const (
	OpConfig byte = 'c'
	OpBatch  byte = 'b'
	OpForget byte = 'f' // counters that count as new again
)

// How a batch is run.
const (
	Full      byte = 1 << iota // says all lines, not only their hashes
	FlushEach                  // says so after each program, in case the next one is the last
)

// A Config is what a worker is told before anything else.
type Config struct {
	Fields map[string][]FieldRule // of structs, by the name of the type
	Masks  map[string]int         // by MaskKey
	Limit  time.Duration          // of one program
	Memory uint64                 // bytes in use; twice as many are taken of the machine at most
	Stack  int                    // bytes of a goroutine
	Aside  int                    // goroutines that are started and end, so that later ones have other numbers
}

// A Seen is what became of a program.
type Seen struct {
	Status byte
	Took   time.Duration
	Hashes []Hash  // in short; in full, only their sums
	Cover  []Count // counters that are new
	Lines  []Line  // in full
}

// A Hash stands for all lines of a layer and a step.
type Hash struct {
	Step  int
	Layer Layer
	Sum   uint64 // of what masks leave
	All   uint64 // of what they take as well, but for the order of lists; 0 is the same as Sum
	Order uint64 // of lists whose order they take, in order; 0 is none
}

// A Count is a counter and how often it counted: the number of the counter times eight, plus the count.
type Count struct {
	Step    int // the number of steps when it may have been in any
	Counter uint32
}

// maxFrame limits what one message can be.
const maxFrame = 256 << 20

// Serve answers requests until there are no more.
func Serve(t Table) {
	debug.SetGCPercent(400)
	runtime.GOMAXPROCS(1) // as little as possible shall depend on what else the machine does
	findMemory()
	t.names = namesOf(t.Types)
	fromHone, toHone := channels()
	s := &server{table: &t, out: bufio.NewWriterSize(toHone, 1<<16), seen: make([]byte, len(t.Cover)+len(t.Away)), limit: time.Second}
	if os.Getenv(Mark) != "" {
		log.SetFlags(log.Flags() &^ (log.Ldate | log.Ltime | log.Lmicroseconds)) // which differ each time
	}
	if os.Getenv(Mark) != "" {
		t.home = os.Getenv("HOME") // which hone made for this process alone
	}
	s.printed = printed{written(os.Stdout), written(os.Stderr)}
	done := make(chan struct{})
	go s.watch(done)
	go func() {
		defer close(done) // also when what is called ends its goroutine
		if own := goroutineName(); t.Refuse != nil {
			*t.Refuse = func() { t.refuse(own) }
		}
		s.serve(bufio.NewReaderSize(fromHone, 1<<16))
	}()
	<-done
}

// namesOf returns the name of each type. Of several, as byte and uint8, it is the shortest, so that it is the same in all processes.
func namesOf(list map[string]reflect.Type) map[reflect.Type]string {
	names := make(map[reflect.Type]string, len(list))
	for name, of := range list {
		if was, ok := names[of]; !ok || len(name) < len(was) || len(name) == len(was) && name < was {
			names[of] = name
		}
	}
	return names
}

type server struct {
	table   *Table
	mu      sync.Mutex // of out
	out     *bufio.Writer
	seen    []byte // buckets of counts that were seen, by counter
	printed printed
	limit   time.Duration
	memory  atomic.Pointer[memory]
	started atomic.Int64 // when the program began that runs; 0 is none
}

func (s *server) serve(in io.Reader) {
	for {
		frame, err := ReadFrame(in)
		if err != nil || len(frame) == 0 {
			return
		}
		switch frame[0] {
		case OpConfig:
			var c Config
			if json.Unmarshal(frame[1:], &c) != nil {
				return
			}
			s.table.fields, s.table.masks = c.Fields, c.Masks
			s.limit = c.Limit
			debug.SetMaxStack(c.Stack)
			s.memory.Store(newMemory(c.Memory))
			var wg sync.WaitGroup
			for range c.Aside {
				wg.Add(1)
				go wg.Done()
			}
			wg.Wait()
		case OpBatch:
			s.batch(frame[1:])
		case OpForget:
			for b := frame[1:]; len(b) > 0; {
				c, n := binary.Uvarint(b)
				if n <= 0 {
					return
				}
				s.forget(uint32(c))
				b = b[n:]
			}
		default:
			return
		}
		s.mu.Lock()
		s.out.Flush()
		s.mu.Unlock()
	}
}

// batch runs programs: a byte of flags, and then one after the other.
func (s *server) batch(b []byte) {
	if len(b) == 0 {
		return
	}
	full, each := b[0]&Full != 0, b[0]&FlushEach != 0
	b = b[1:]
	for len(b) > 0 {
		var p Program
		rest, err := p.Decode(b)
		if err != nil {
			return
		}
		b = rest
		clear(s.table.Cover)
		clear(s.table.Away)
		var seen Seen
		began := time.Now()
		s.started.Store(began.UnixNano())
		seen.Status = s.table.run(&p, full, s.printed, func(r *rendering) {
			if len(s.table.masks) > 0 { // then it matters which step it was
				seen.Cover = s.cover(seen.Cover, r.step)
			}
			seen.Lines = append(seen.Lines, r.lines...)
			seen.Hashes = r.hashes(seen.Hashes)
		})
		s.started.Store(0)
		seen.Took = time.Since(began)
		seen.Cover = s.cover(seen.Cover, len(p.Steps))
		if seen.Status == Invalid { // what it came to was not reached
			for _, c := range seen.Cover {
				s.forget(c.Counter)
			}
			seen.Cover = nil
		}
		s.answer(&seen, each)
	}
}

// hashes adds those of a step to list.
func (r *rendering) hashes(list []Hash) []Hash {
	for i, sum := range r.hash {
		h := Hash{Step: r.step, Layer: LayerPanic + Layer(i), Sum: sum, All: r.all[i], Order: r.order[i]}
		if h.All == sum {
			h.All = 0
		}
		if h.Sum != 0 || h.All != 0 {
			list = append(list, h)
		}
	}
	return list
}

// forget makes a counter that counted so often new again.
func (s *server) forget(c uint32) {
	if i := int(c / 8); i < len(s.seen) {
		s.seen[i] &^= 1 << (c % 8)
	}
}

// cover adds the counters to list that by now count as they never did before.
func (s *server) cover(list []Count, step int) []Count {
	first := 0
	for _, counters := range [][]byte{s.table.Cover, s.table.Away} {
		for i, n := range counters {
			if n == 0 {
				continue
			}
			i += first
			bucket := min(bits.Len8(n)-1, 7)
			if s.seen[i]&(1<<bucket) == 0 {
				s.seen[i] |= 1 << bucket
				list = append(list, Count{step, uint32(i*8 + bucket)})
			}
		}
		first += len(counters)
	}
	return list
}

func (s *server) answer(seen *Seen, flush bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	WriteFrame(s.out, seen.append(nil))
	if flush {
		s.out.Flush()
	}
}

// watch ends the worker when a program takes too long or too much.
func (s *server) watch(done chan struct{}) {
	var last int64
	var before time.Duration
	for {
		select {
		case <-done:
			return
		case <-time.After(20 * time.Millisecond):
		}
		began := s.started.Load()
		if began == 0 {
			continue
		}
		if began != last {
			last, before = began, cpuTime()
		}
		status := byte(Done)
		if tooLong(time.Since(time.Unix(0, began)), cpuTime()-before, s.limit) {
			status = Late
		}
		if m := s.memory.Load(); m != nil && m.exceeded() {
			status = Large
		}
		if status != Done && s.started.Load() == began {
			s.answer(&Seen{Status: status}, true)
			os.Exit(0)
		}
	}
}

// leastWait is how long a program that waits is given: it may only wait for its turn.
const leastWait = 700 * time.Millisecond

// tooLong reports whether a program took too long: by CPU time, as a busy machine makes everything take longer; and by the
// clock when it does nothing but wait. One of many processes on a busy machine still gets more than a fiftieth.
func tooLong(took, cpu, limit time.Duration) bool {
	if !hasCPUTime {
		return took > limit
	}
	return cpu > limit || took > max(limit, leastWait) && cpu < took/50 || took > max(10*limit, 5*time.Second)
}

// written returns a function that returns what was written to a file since it was last called.
func written(f *os.File) func() string {
	if os.Getenv(Mark) == "" {
		return func() string { return "" }
	}
	return func() string {
		n, err := f.Seek(0, io.SeekCurrent)
		if err != nil || n == 0 {
			return ""
		}
		b := make([]byte, min(n, maxWritten))
		got, _ := f.ReadAt(b, 0)
		f.Truncate(0)
		f.Seek(0, io.SeekStart)
		return string(b[:got])
	}
}

// ReadFrame reads a message: its length in four bytes, then it.
func ReadFrame(r io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint32(head[:])
	if n > maxFrame {
		return nil, fmt.Errorf("a message of %s bytes is too long", strconv.Itoa(int(n)))
	}
	b := make([]byte, n)
	_, err := io.ReadFull(r, b)
	return b, err
}

// WriteFrame writes a message.
func WriteFrame(w io.Writer, b []byte) error {
	var head [4]byte
	binary.LittleEndian.PutUint32(head[:], uint32(len(b)))
	if _, err := w.Write(head[:]); err != nil {
		return err
	}
	_, err := w.Write(b)
	return err
}

func (s *Seen) append(b []byte) []byte {
	b = append(b, s.Status)
	b = binary.AppendUvarint(b, uint64(s.Took))
	b = binary.AppendUvarint(b, uint64(len(s.Hashes)))
	for _, h := range s.Hashes {
		b = binary.AppendUvarint(b, uint64(h.Step))
		b = append(b, byte(h.Layer))
		b = binary.LittleEndian.AppendUint64(b, h.Sum)
		b = binary.AppendUvarint(b, h.All)
		b = binary.AppendUvarint(b, h.Order)
	}
	b = binary.AppendUvarint(b, uint64(len(s.Cover)))
	for _, c := range s.Cover {
		b = binary.AppendUvarint(b, uint64(c.Step))
		b = binary.AppendUvarint(b, uint64(c.Counter))
	}
	b = binary.AppendUvarint(b, uint64(len(s.Lines)))
	for _, l := range s.Lines {
		b = binary.AppendUvarint(b, uint64(l.Step))
		b = append(b, byte(l.Layer))
		b = appendText(b, l.Path)
		b = appendText(b, l.Text)
	}
	return b
}

// DecodeSeen reads what a worker says about a program.
func DecodeSeen(b []byte) (*Seen, error) {
	d := decoder{b: b}
	s := &Seen{Status: d.byte(), Took: time.Duration(d.uint())}
	for range d.count() {
		h := Hash{Step: int(d.uint()), Layer: Layer(d.byte())}
		if len(d.b) < 8 {
			return nil, errDamaged
		}
		h.Sum = binary.LittleEndian.Uint64(d.b)
		d.b = d.b[8:]
		h.All, h.Order = d.uint(), d.uint()
		s.Hashes = append(s.Hashes, h)
	}
	for range d.count() {
		s.Cover = append(s.Cover, Count{int(d.uint()), uint32(d.uint())})
	}
	for range d.count() {
		s.Lines = append(s.Lines, Line{int(d.uint()), Layer(d.byte()), d.text(), d.text()})
	}
	if d.bad {
		return nil, errDamaged
	}
	return s, nil
}

func (d *decoder) byte() byte {
	if len(d.b) == 0 {
		d.bad = true
		return 0
	}
	c := d.b[0]
	d.b = d.b[1:]
	return c
}
