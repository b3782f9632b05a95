package exectrace

import (
	"encoding/binary"
	"testing"
)

// made puts a trace of one generation together, of batches.
func made(batches ...[]byte) []byte {
	b := []byte("go 1.26 trace\x00\x00\x00")
	for thread, data := range batches {
		b = append(b, evEventBatch, 1, byte(thread), 5)
		b = binary.AppendUvarint(b, uint64(len(data)))
		b = append(b, data...)
	}
	return append(b, evEndOfGeneration)
}

// TestNumbersAreNotSizes holds that numbers in a file, which go up to 2⁶⁴, make no table of that size, and that what makes no sense is said.
func TestNumbersAreNotSizes(t *testing.T) {
	huge := binary.AppendUvarint(nil, 1<<64-1)
	join := func(parts ...[]byte) (b []byte) {
		for _, p := range parts {
			b = append(b, p...)
		}
		return b
	}
	tests := map[string][]byte{
		"goroutine":     join([]byte{evGoStatus, 1}, huge, []byte{1, 4}),
		"P":             join([]byte{evProcStatus, 1}, huge, []byte{2}),
		"name":          join([]byte{evStrings, evString}, huge, []byte{1, 'x'}),
		"stack":         join([]byte{evStacks, evStack}, huge, []byte{1}, huge, huge, huge, huge),
		"length":        join([]byte{evStrings, evString, 1}, huge),
		"calls":         join([]byte{evStacks, evStack, 1}, huge),
		"time":          join([]byte{evGoStatus}, huge, []byte{1, 1, 4}),
		"state":         join([]byte{evGoStatus, 1, 1, 1}, huge),
		"frequency":     join([]byte{evSync, evFrequency}, huge),
		"clock":         join([]byte{evSync, evClockSnapshot, 1}, huge, huge, huge),
		"sample":        join([]byte{evCPUSamples, evCPUSample}, huge, huge, huge, huge, huge),
		"unknown event": {0x7f, 1, 1},
	}
	for name, data := range tests {
		t.Run(name, func(t *testing.T) {
			b := made(data)
			n := 0
			for e, err := range open(t, b).Events() {
				if err != nil {
					return
				}
				if e.Time < 0 {
					t.Errorf("time %d", e.Time)
				}
				n++
			}
			if n > 1 {
				t.Errorf("%d events", n)
			}
		})
	}
}

// TestEndlessZeros holds that a file of zeros behind a header is refused at once.
func TestEndlessZeros(t *testing.T) {
	b := append([]byte("go 1.26 trace\x00\x00\x00"), make([]byte, 8<<20)...)
	tr := open(t, b)
	if list := times(t, tr); len(list) > 0 || len(tr.Damage()) == 0 {
		t.Errorf("%d events, damage %v", len(list), tr.Damage())
	}
}

// TestTwice holds that two traces in one file are one after the other, as far as the second can be told from damage.
func TestTwice(t *testing.T) {
	all := recorded(t)
	one := all["go1.26.8"]
	tr := open(t, append(append([]byte{}, one...), all["go1.27.3"]...))
	if n, want := len(times(t, tr)), len(times(t, open(t, one))); n < want || len(tr.Damage()) == 0 {
		t.Errorf("%d events, want %d or more, and the damage %v", n, want, tr.Damage())
	}
}

// TestNewer holds that a trace of a version that is not known is read as far as it makes sense.
func TestNewer(t *testing.T) {
	b := append([]byte{}, recorded(t)["go1.27.3"]...)
	copy(b[5:], "99")
	if n := len(times(t, open(t, b))); n == 0 {
		t.Error("no events")
	}
}

// TestTable holds that a table has what was put into it, in any order, and takes memory for that alone.
func TestTable(t *testing.T) {
	var tab table[int]
	for i := range 5000 {
		tab.set(uint64(4999-i), i+1)
	}
	for i := range 5000 {
		if got := tab.get(uint64(4999 - i)); got != i+1 {
			t.Fatalf("%d is %d, want %d", 4999-i, got, i+1)
		}
	}
	tab.reset()
	if got := tab.get(7); got != 0 {
		t.Errorf("%d after a reset", got)
	}
	for i := range 40 {
		tab.set(1<<i, i)
	}
	if len(tab.list) > 4096 || tab.get(1<<39) != 39 || tab.get(1) != 0 {
		t.Errorf("a list of %d for 40 values", len(tab.list))
	}
}

// TestFirstEventOfThread holds that a thread whose first event makes no sense ends nothing but itself and what waits for it.
func TestFirstEventOfThread(t *testing.T) {
	b := made([]byte{evProcStatus, 1, 0, 1, evGoStatus, 1, 9, 0, 2}, []byte{0x7f, 1, 1})
	tr := open(t, b)
	if list := times(t, tr); len(list) != 2 || len(tr.Damage()) == 0 {
		t.Errorf("%q, damage %v", list, tr.Damage())
	}
}

// TestManyThreads holds that threads which all wait for each other end.
func TestManyThreads(t *testing.T) {
	if testing.Short() {
		t.Skip("reads a trace of 20,000 threads several times")
	}
	b := []byte("go 1.26 trace\x00\x00\x00")
	for thread := range 20_000 {
		b = append(b, evEventBatch, 1)
		b = binary.AppendUvarint(b, uint64(thread))
		data := []byte{evProcStatus}
		data = binary.AppendUvarint(data, uint64(20_000-thread))
		data = append(data, 1, 2)
		if thread == 0 {
			data = []byte{evGoStart, 0, 1, 1}
		}
		b = append(b, 5)
		b = binary.AppendUvarint(b, uint64(len(data)))
		b = append(b, data...)
	}
	tr := open(t, append(b, evEndOfGeneration))
	times(t, tr)
	if len(tr.Damage()) == 0 {
		t.Error("no damage")
	}
}

// TestManyGoroutines holds that the limit of goroutines is one for all ways in which they begin.
func TestManyGoroutines(t *testing.T) {
	for kind, name := range map[byte]string{evGoCreate: "created", evGoCreateBlocked: "created blocked", evGoCreateSyscall: "from C", evGoStatus: "there before"} {
		d := &decoder{t: &Trace{}, goroutines: map[uint64]*goroutine{}, threads: map[uint64]*thread{}, most: 3, unit: 1, yield: func(*Event, error) bool { return true }}
		var err error
		made := 0
		for id := uint64(1); id < 10 && err == nil; id++ {
			th := &thread{id: 1, p: &proc{}}
			th.next.kind, th.next.args = kind, [5]uint64{id, noThread, 4} // 4: it waits
			if _, err = d.advance(th); err == nil {
				made++
			}
		}
		if made != 3 || err == nil || err.Error() != "there are more than 3 goroutines" {
			t.Errorf("%s: %d goroutines, and then: %v", name, made, err)
		}
	}
}
