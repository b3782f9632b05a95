package profiletest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// known are functions that any Go program has on its stacks: name, file and first line.
const known = `
runtime.main runtime/proc.go 147
main.main cmd/shop/main.go 31
github.com/spf13/cobra.(*Command).ExecuteC github.com/spf13/cobra@v1.9.1/command.go 1067
github.com/spf13/cobra.(*Command).execute github.com/spf13/cobra@v1.9.1/command.go 901
net/http.(*Server).Serve.gowrap3 net/http/server.go 3522
net/http.(*conn).serve net/http/server.go 1930
net/http.serverHandler.ServeHTTP net/http/server.go 3317
net/http.(*ServeMux).ServeHTTP net/http/server.go 2802
net/http.HandlerFunc.ServeHTTP net/http/server.go 2321
golang.org/x/sync/errgroup.(*Group).Go.func1 golang.org/x/sync@v0.10.0/errgroup/errgroup.go 76
google.golang.org/grpc.(*Server).serveStreams.func2.1 google.golang.org/grpc@v1.70.0/server.go 1026
google.golang.org/grpc.(*Server).handleStream google.golang.org/grpc@v1.70.0/server.go 1710
google.golang.org/grpc.(*Server).processUnaryRPC google.golang.org/grpc@v1.70.0/server.go 1236
time.goFunc time/sleep.go 214
runtime.mallocgc runtime/malloc.go 1101
runtime.mallocgcTiny runtime/malloc.go 1198
runtime.mallocgcSmallNoscan runtime/malloc.go 1309
runtime.mallocgcSmallScanNoHeader runtime/malloc.go 1405
runtime.mallocgcLarge runtime/malloc.go 1624
runtime.(*mcache).nextFree runtime/malloc.go 978
runtime.(*mcache).refill runtime/mcache.go 154
runtime.(*mcentral).cacheSpan runtime/mcentral.go 81
runtime.heapSetTypeNoHeader runtime/mbitmap.go 664
runtime.newobject runtime/malloc.go 1744
runtime.makeslice runtime/slice.go 93
runtime.growslice runtime/slice.go 178
runtime.memmove runtime/memmove_amd64.s 32
runtime.memclrNoHeapPointers runtime/memclr_amd64.s 15
runtime.memclrNoHeapPointersChunked runtime/malloc.go 1711
runtime.memequal runtime/memequal_amd64.s 13
runtime.slicebytetostring runtime/string.go 90
runtime.stringtoslicebyte runtime/string.go 172
runtime.concatstrings runtime/string.go 28
runtime.convTstring runtime/iface.go 400
runtime.mapaccess1_faststr internal/runtime/maps/runtime_faststr_swiss.go 107
runtime.mapaccess2_faststr internal/runtime/maps/runtime_faststr_swiss.go 197
runtime.mapassign_faststr internal/runtime/maps/runtime_faststr_swiss.go 263
runtime.aeshashbody runtime/asm_amd64.s 1234
internal/runtime/maps.(*Map).getWithoutKeySmallFastStr internal/runtime/maps/runtime_faststr_swiss.go 18
internal/runtime/maps.(*table).grow internal/runtime/maps/table.go 1023
runtime.gcAssistAlloc runtime/mgcmark.go 443
runtime.gcAssistAlloc.func2 runtime/mgcmark.go 549
runtime.gcAssistAlloc1 runtime/mgcmark.go 641
runtime.gcDrainN runtime/mgcmark.go 1313
runtime.scanobject runtime/mgcmark.go 1446
runtime.greyobject runtime/mgcmark.go 1609
runtime.systemstack runtime/asm_amd64.s 486
runtime.gcWriteBarrier2 runtime/asm_amd64.s 1748
runtime.wbBufFlush runtime/mwbbuf.go 169
runtime.wbBufFlush1 runtime/mwbbuf.go 196
runtime.selectgo runtime/select.go 122
runtime.chansend runtime/chan.go 176
runtime.chanrecv runtime/chan.go 523
runtime.lock2 runtime/lock_spinbit.go 153
runtime.futexwakeup runtime/os_linux.go 82
runtime.futex runtime/sys_linux_amd64.s 557
syscall.Syscall syscall/syscall_linux.go 73
syscall.RawSyscall6 runtime/internal/syscall/asm_linux_amd64.s 36
internal/runtime/syscall.Syscall6 internal/runtime/syscall/asm_linux_amd64.s 36
time.now runtime/timestub.go 16
sync.(*Mutex).lockSlow internal/sync/mutex.go 95
sync.(*Mutex).Unlock sync/mutex.go 64
sync.(*RWMutex).Unlock sync/rwmutex.go 201
sync.(*RWMutex).RUnlock sync/rwmutex.go 114
sync.(*Mutex).Lock sync/mutex.go 45
sync.(*Pool).Get sync/pool.go 131
sync/atomic.(*Int64).Add sync/atomic/type.go 93
sync/atomic.(*Pointer[...]).Load sync/atomic/type.go 58
strings.(*Builder).WriteByte strings/builder.go 90
strings.(*Builder).WriteString strings/builder.go 114
strings.HasPrefix strings/strings.go 496
bytes.(*Buffer).Len bytes/buffer.go 77
context.Context.Value context/context.go 158
errors.Is errors/wrap.go 44
slices.SortFunc[...] slices/sort.go 28
slices.Contains[...] slices/slices.go 113
maps.Keys[...] maps/iter.go 12
unicode/utf8.DecodeRune unicode/utf8/utf8.go 155
reflect.Value.Field reflect/value.go 1281
time.Since time/time.go 1186
`

// rootChains are the ways into the program, the busiest first. Each ends in a call of whatever it was given.
const rootChains = `
net/http.(*Server).Serve.gowrap3 net/http.(*conn).serve net/http.serverHandler.ServeHTTP net/http.(*ServeMux).ServeHTTP net/http.HandlerFunc.ServeHTTP
google.golang.org/grpc.(*Server).serveStreams.func2.1 google.golang.org/grpc.(*Server).handleStream google.golang.org/grpc.(*Server).processUnaryRPC
golang.org/x/sync/errgroup.(*Group).Go.func1
runtime.main main.main github.com/spf13/cobra.(*Command).ExecuteC github.com/spf13/cobra.(*Command).execute
time.goFunc
`

// cpuEnds are what a CPU sample may end in below its last ordinary function.
const cpuEnds = `
runtime.mallocgc runtime.mallocgcSmallScanNoHeader
runtime.memmove
runtime.newobject runtime.mallocgc runtime.mallocgcSmallScanNoHeader runtime.heapSetTypeNoHeader
runtime.growslice runtime.mallocgc runtime.mallocgcSmallNoscan runtime.(*mcache).nextFree
runtime.mapaccess2_faststr
runtime.growslice runtime.memmove
syscall.Syscall syscall.RawSyscall6 internal/runtime/syscall.Syscall6
runtime.mapaccess1_faststr runtime.aeshashbody
runtime.memclrNoHeapPointers
runtime.newobject runtime.mallocgc runtime.mallocgcTiny
runtime.slicebytetostring runtime.mallocgc runtime.mallocgcTiny
runtime.mallocgc runtime.gcAssistAlloc runtime.systemstack runtime.gcAssistAlloc.func2 runtime.gcAssistAlloc1 runtime.gcDrainN runtime.scanobject
runtime.memequal
runtime.concatstrings runtime.mallocgc runtime.mallocgcTiny
runtime.mapassign_faststr internal/runtime/maps.(*table).grow runtime.memmove
runtime.makeslice runtime.mallocgc runtime.mallocgcLarge runtime.memclrNoHeapPointersChunked runtime.memclrNoHeapPointers
runtime.mapaccess2_faststr internal/runtime/maps.(*Map).getWithoutKeySmallFastStr
runtime.convTstring runtime.mallocgc runtime.mallocgcTiny
runtime.stringtoslicebyte runtime.mallocgc runtime.mallocgcSmallNoscan
runtime.mallocgc runtime.mallocgcSmallScanNoHeader runtime.(*mcache).nextFree runtime.(*mcache).refill runtime.(*mcentral).cacheSpan
runtime.gcWriteBarrier2 runtime.wbBufFlush runtime.systemstack runtime.wbBufFlush1
runtime.selectgo
sync.(*Mutex).lockSlow
runtime.mallocgc runtime.gcAssistAlloc runtime.systemstack runtime.gcAssistAlloc.func2 runtime.gcAssistAlloc1 runtime.gcDrainN runtime.scanobject runtime.greyobject
runtime.chansend runtime.lock2
runtime.chanrecv runtime.lock2 runtime.futexwakeup runtime.futex
time.now
`

// mutexEnds are where the runtime notices that somebody had to wait. Heap samples end in ordinary functions, since
// the runtime leaves itself out of them.
const mutexEnds = `
sync.(*Mutex).Unlock
sync.(*RWMutex).RUnlock
sync.(*RWMutex).Unlock
`

// inlinable are known functions that the compiler puts into their callers.
const inlinable = `
sync.(*Mutex).Lock sync.(*Mutex).Unlock sync.(*Pool).Get sync/atomic.(*Int64).Add sync/atomic.(*Pointer[...]).Load
strings.(*Builder).WriteByte strings.(*Builder).WriteString strings.HasPrefix bytes.(*Buffer).Len context.Context.Value
errors.Is slices.SortFunc[...] slices.Contains[...] maps.Keys[...] unicode/utf8.DecodeRune reflect.Value.Field
runtime.newobject time.Since
`

// numKnown returns how many functions are known.
func numKnown() int { return strings.Count(strings.TrimSpace(known), "\n") + 1 }

// addKnown adds the known functions.
func (b *builder) addKnown() {
	for l := range strings.Lines(strings.TrimSpace(known)) {
		f := strings.Fields(l)
		line, err := strconv.Atoi(f[2])
		if err != nil {
			panic(fmt.Sprintf("profiletest: known function %s: %v", f[0], err))
		}
		dir := goroot
		switch {
		case strings.Contains(f[1], "@"):
			dir = modcache
		case f[0] == "main.main":
			dir = ownDir
		}
		b.known[f[0]] = uint32(len(b.funcs))
		b.funcs = append(b.funcs, function{name: f[0], file: dir + f[1], start: line, lines: 60, calls: 2, bodies: 6})
	}
	for name := range strings.FieldsSeq(inlinable) {
		b.inlined = append(b.inlined, b.function(name))
	}
	b.ends[CPU] = b.chains(cpuEnds)
	b.ends[Mutex] = b.chains(mutexEnds)
}

// addRoots adds the ways into the program to the calls.
func (b *builder) addRoots(callees [][]uint32) {
	for _, c := range b.chains(rootChains) {
		for i, f := range c[1:] {
			callees[c[i]] = []uint32{f}
		}
		b.roots = append(b.roots, c[0])
		last := c[len(c)-1]
		for range 24 {
			// The first functions of the first layer: nobody else may call them.
			if top := uint32(b.rnd.below(max(b.walked/pathLength, 24))); !slices.Contains(callees[last], top) {
				callees[last] = append(callees[last], top)
			}
		}
	}
}

func (b *builder) chains(s string) [][]uint32 {
	var all [][]uint32
	for l := range strings.Lines(strings.TrimSpace(s)) {
		var c []uint32
		for name := range strings.FieldsSeq(l) {
			c = append(c, b.function(name))
		}
		all = append(all, c)
	}
	return all
}

// function returns the known function of this name.
func (b *builder) function(name string) uint32 {
	f, ok := b.known[name]
	if !ok {
		panic("profiletest: " + name + " is not a known function")
	}
	return f
}
