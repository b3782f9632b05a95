package exectrace

import "sync"

// The types of events in a file, see internal/trace/tracev2 of Go.
const (
	evEventBatch = 1 + iota
	evStacks
	evStack
	evStrings
	evString
	evCPUSamples
	evCPUSample
	evFrequency
	evProcsChange
	evProcStart
	evProcStop
	evProcSteal
	evProcStatus
	evGoCreate
	evGoCreateSyscall
	evGoStart
	evGoDestroy
	evGoDestroySyscall
	evGoStop
	evGoBlock
	evGoUnblock
	evGoSyscallBegin
	evGoSyscallEnd
	evGoSyscallEndBlocked
	evGoStatus
	evSTWBegin
	evSTWEnd
	evGCActive
	evGCBegin
	evGCEnd
	evGCSweepActive
	evGCSweepBegin
	evGCSweepEnd
	evGCMarkAssistActive
	evGCMarkAssistBegin
	evGCMarkAssistEnd
	evHeapAlloc
	evHeapGoal
	evGoLabel
	evUserTaskBegin
	evUserTaskEnd
	evUserRegionBegin
	evUserRegionEnd
	evUserLog
	evGoSwitch
	evGoSwitchDestroy
	evGoCreateBlocked
	evGoStatusStack
	evExperimentalBatch
	evSync
	evClockSnapshot
	evEndOfGeneration
)

// args is how many numbers an event of a thread has after its time; none for those that are no event of a thread.
var args = [256]int8{
	evProcsChange: 2 + 1, evProcStart: 2 + 1, evProcStop: 0 + 1, evProcSteal: 3 + 1, evProcStatus: 2 + 1,
	evGoCreate: 3 + 1, evGoCreateSyscall: 1 + 1, evGoStart: 2 + 1, evGoDestroy: 0 + 1, evGoDestroySyscall: 0 + 1,
	evGoStop: 2 + 1, evGoBlock: 2 + 1, evGoUnblock: 3 + 1, evGoSyscallBegin: 2 + 1, evGoSyscallEnd: 0 + 1, evGoSyscallEndBlocked: 0 + 1,
	evGoStatus: 3 + 1, evSTWBegin: 2 + 1, evSTWEnd: 0 + 1, evGCActive: 1 + 1, evGCBegin: 2 + 1, evGCEnd: 1 + 1,
	evGCSweepActive: 1 + 1, evGCSweepBegin: 1 + 1, evGCSweepEnd: 2 + 1, evGCMarkAssistActive: 1 + 1, evGCMarkAssistBegin: 1 + 1, evGCMarkAssistEnd: 0 + 1,
	evHeapAlloc: 1 + 1, evHeapGoal: 1 + 1, evGoLabel: 1 + 1, evUserTaskBegin: 4 + 1, evUserTaskEnd: 2 + 1,
	evUserRegionBegin: 3 + 1, evUserRegionEnd: 3 + 1, evUserLog: 4 + 1, evGoSwitch: 2 + 1, evGoSwitchDestroy: 2 + 1,
	evGoCreateBlocked: 3 + 1, evGoStatusStack: 4 + 1,
	// An experiment of Go, with objects and stacks.
	127 + 1: 3 + 1, 127 + 2: 3 + 1, 127 + 3: 1 + 1, 127 + 4: 2 + 1, 127 + 5: 2 + 1, 127 + 6: 1 + 1, 127 + 7: 2 + 1, 127 + 8: 2 + 1, 127 + 9: 1 + 1,
}

// Limits of the format; a file that has more is damaged.
const (
	maxBatch  = 64 << 10
	maxText   = 1 << 10
	maxFrames = 128
)

// uvarint reads a number. n is 0 when there is none.
func uvarint(b []byte) (v uint64, n int) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), 1
	}
	for i, c := range b {
		if i == 9 && c > 1 || i > 9 {
			return 0, 0
		}
		v |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			return v, i + 1
		}
	}
	return 0, 0
}

// reasons are why a goroutine waits, in the words of the runtime, and in the order in which it numbers them.
var reasons = [...]struct {
	text   string
	reason Reason
}{
	{"unspecified", OtherReason},
	{"forever", Forever},
	{"network", Network},
	{"select", Select},
	{"sync.(*Cond).Wait", Cond},
	{"sync", Sync},
	{"chan send", ChanSend},
	{"chan receive", ChanReceive},
	{"GC mark assist wait for work", GCAssist},
	{"GC background sweeper wait", GCSweep},
	{"system goroutine wait", SystemGoroutine},
	{"preempted", Preempted},
	{"wait for debug call", Debug},
	{"wait until GC ends", GCAssist},
	{"sleep", Sleep},
	{"GC weak to strong wait", GCWeakToStrong},
	{"synctest", Synctest},
	// Why a goroutine gave its P away.
	{"runtime.Gosched", Yielded},
	{"runtime.GoSched", Yielded},
	// Not of the runtime: coroutines have no reason in a trace.
	{"coroutine", Coroutine},
}

var reasonOf = sync.OnceValue(func() map[string]Reason {
	m := make(map[string]Reason, len(reasons))
	for _, r := range reasons {
		m[r.text] = r.reason
	}
	return m
})

// firstReason is the number that the runtime gives to the first of reasons. It is not promised, but was so in all versions from Go 1.23
// to 1.27; it counts where a trace was cut before its names.
const firstReason = 5
