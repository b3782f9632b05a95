package profiletest

import (
	"fmt"
	"math/bits"
	"strings"
)

type valueType struct{ typ, unit string }

// kinds says what the header of each kind of profile holds.
var kinds = [...]struct {
	sampleTypes []valueType
	defaultType string
	periodType  valueType
	period      uint64
}{
	CPU: {
		sampleTypes: []valueType{{"samples", "count"}, {"cpu", "nanoseconds"}},
		periodType:  valueType{"cpu", "nanoseconds"},
		period:      cpuPeriod,
	},
	Heap: {
		sampleTypes: []valueType{{"alloc_objects", "count"}, {"alloc_space", "bytes"}, {"inuse_objects", "count"},
			{"inuse_space", "bytes"}},
		defaultType: "inuse_space",
		periodType:  valueType{"space", "bytes"},
		period:      heapPeriod,
	},
	Mutex: {
		sampleTypes: []valueType{{"contentions", "count"}, {"delay", "nanoseconds"}},
		periodType:  valueType{"contentions", "count"},
		period:      1,
	},
}

const (
	cpuPeriod  = 10_000_000 // nanoseconds
	heapPeriod = 512 << 10  // bytes
)

// appendValues appends the values of the sample that h is for.
func appendValues(v []int64, k Kind, h uint64) []int64 {
	h = mix(h ^ 0x76616c)
	switch k {
	case CPU:
		count := longTail(h, 5, 8)
		return append(v, count, count*cpuPeriod)
	case Heap:
		size := blockSize(h)
		// The runtime samples every so many bytes and scales up what it saw.
		objects := longTail(mix(h), 5, 8) * (1 + heapPeriod/size)
		var inUse int64
		if h>>20%100 < 60 {
			inUse = max(1, objects*int64(h>>32%100)/100)
		}
		return append(v, objects, objects*size, inUse, inUse*size)
	default:
		count := longTail(h, 5, 8)
		return append(v, count, count*(200+longTail(mix(h), 1, 1)*int64(500+h>>40%1500)))
	}
}

// longTail returns 1 or more. Every doubling of the number makes it 2^(den/num) times rarer.
func longTail(h uint64, num, den int) int64 {
	low := int64(1) << min(bits.LeadingZeros64(h)*num/den, 24)
	return low + int64(h%uint64(low))
}

// blockSize returns the size of the objects that the heap sample h is for, a size class of the runtime's allocator.
func blockSize(h uint64) int64 {
	classes := [...]int64{8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 144, 160, 192, 208, 256, 320, 384, 416, 512, 640, 768,
		896, 1024, 1280, 1536, 2048, 2688, 4096, 6144, 8192, 16384, 32768, 65536, 262144, 1048576}
	rnd := random(h)
	return classes[(rnd.below(len(classes))+rnd.below(len(classes)))/2]
}

// appendLabels appends the labels of the sample that h is for.
func (e *encoder) appendLabels(b []byte, h uint64) []byte {
	if e.Kind == Heap {
		b = e.appendLabel(b, "bytes", "", blockSize(mix(h^0x76616c)), "")
	}
	rnd := random(h ^ 0x6c6162)
	if !e.Labels || !rnd.percent(80) {
		return b
	}
	b = e.appendLabel(b, "endpoint", e.endpoints[rnd.low(len(e.endpoints))], 0, "")
	if rnd.percent(75) {
		b = e.appendLabel(b, "user", e.users[rnd.low(len(e.users))], 0, "")
	}
	return e.appendLabel(b, "request", "", 1+int64(rnd.low(64))*1024, "bytes")
}

func (e *encoder) appendLabel(b []byte, key, str string, num int64, unit string) []byte {
	e.sub = appendNumber(e.sub[:0], labelKey, e.str(key))
	e.sub = appendNumber(e.sub, labelStr, e.str(str))
	e.sub = appendNumber(e.sub, labelNum, uint64(num))
	e.sub = appendNumber(e.sub, labelUnit, e.str(unit))
	return appendBytes(b, sampleLabel, e.sub)
}

func makeEndpoints() []string {
	var all []string
	for area := range strings.FieldsSeq(ownAreas) {
		all = append(all, "/api/"+area, "/api/"+area+"/{id}")
	}
	return all
}

func makeUsers() []string {
	all := make([]string, 2000)
	for i := range all {
		all[i] = fmt.Sprintf("user-%05d", i*37%100000)
	}
	return all
}
