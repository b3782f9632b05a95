package main

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
)

// A draft is a profile made by hand, one line a sample.
type draft struct {
	profile.Profile
	locations map[string]*profile.Location
	functions map[string]*profile.Function
	main      *profile.Mapping
}

// newDraft starts a profile whose sample types are named as in "samples/count cpu/nanoseconds".
func newDraft(types string) *draft {
	d := &draft{locations: map[string]*profile.Location{}, functions: map[string]*profile.Function{}}
	for _, t := range strings.Fields(types) {
		typ, unit, _ := strings.Cut(t, "/")
		d.SampleType = append(d.SampleType, &profile.ValueType{Type: typ, Unit: unit})
	}
	if len(d.SampleType) > 0 {
		last := *d.SampleType[len(d.SampleType)-1]
		d.PeriodType, d.Period = &last, 1
	}
	d.main = d.mapping("/srv/app/server", 0x400000)
	d.TimeNanos = 1700000000e9
	return d
}

// mapping adds a mapping of 16 MB with symbols.
func (d *draft) mapping(file string, start uint64) *profile.Mapping {
	m := &profile.Mapping{
		ID: uint64(len(d.Mapping) + 1), Start: start, Limit: start + 1<<24, File: file,
		HasFunctions: true, HasFilenames: true, HasLineNumbers: true, HasInlineFrames: true,
	}
	d.Mapping = append(d.Mapping, m)
	return m
}

// add adds a sample. Its stack reads from the root, as "main main.go:3;f f.go:5+g g.go:7;h": a
// location for each semicolon, and + between a function and what is inlined into it. A frame is a
// name and, where they are known, a file, a line and a column. A frame "0x1234" is an address alone.
func (d *draft) add(stack string, values ...int64) *profile.Sample {
	s := &profile.Sample{Value: values}
	if stack != "" {
		for f := range strings.SplitSeq(stack, ";") {
			s.Location = append([]*profile.Location{d.location(f)}, s.Location...)
		}
	}
	d.Sample = append(d.Sample, s)
	return s
}

func (d *draft) location(text string) *profile.Location {
	if l := d.locations[text]; l != nil {
		return l
	}
	n := uint64(len(d.Location) + 1)
	l := &profile.Location{ID: n, Address: d.main.Start + 16*n, Mapping: d.main}
	d.locations[text] = l
	d.Location = append(d.Location, l)
	if hex, ok := strings.CutPrefix(text, "0x"); ok {
		l.Address, _ = strconv.ParseUint(hex, 16, 64)
		return l
	}
	for frame := range strings.SplitSeq(text, "+") {
		name, place, _ := strings.Cut(frame, " ")
		parts := append(strings.Split(place, ":"), "", "")
		line, _ := strconv.ParseInt(parts[1], 10, 64)
		column, _ := strconv.ParseInt(parts[2], 10, 64)
		l.Line = append([]profile.Line{{Function: d.function(name, parts[0]), Line: line, Column: column}}, l.Line...)
	}
	return l
}

func (d *draft) function(name, file string) *profile.Function {
	key := name + " " + file
	fn := d.functions[key]
	if fn == nil {
		fn = &profile.Function{ID: uint64(len(d.Function) + 1), Name: name, SystemName: name, Filename: file}
		d.functions[key] = fn
		d.Function = append(d.Function, fn)
	}
	return fn
}

const (
	cpuTypes  = "samples/count cpu/nanoseconds"
	heapTypes = "alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes"
	waitTypes = "contentions/count delay/nanoseconds"
)

// handmade are the profiles that hold one oddity each.
var handmade = []struct {
	name string
	make func() *draft
}{
	{"empty", func() *draft { return newDraft(cpuTypes) }},
	{"no types", func() *draft { return newDraft("") }},
	{"one sample", func() *draft {
		d := newDraft(cpuTypes)
		d.add("main.main main.go:10", 1, 10e6)
		return d
	}},
	{"zeros", func() *draft {
		d := newDraft(heapTypes)
		d.add("main.main m.go:1;main.a a.go:1", 0, 0, 0, 0)
		d.add("main.main m.go:1;main.b b.go:1", 3, 300, 0, 0)
		d.add("main.main m.go:1;main.c c.go:1", 0, 0, 1, 100)
		d.add("main.main m.go:1", 0, 0, 0, 0)
		return d
	}},
	{"all zeros", func() *draft {
		d := newDraft(cpuTypes)
		d.add("main.main m.go:1;main.a a.go:1", 0, 0)
		d.add("main.main m.go:1;main.b b.go:1", 0, 0)
		return d
	}},
	{"begins below", func() *draft { // as functions that the compiler makes of what is in generated code
		d := newDraft(cpuTypes)
		d.add("main.main m.go:1;main.init.0 gone.go:2", 4, 40e6).Label = map[string][]string{"where": {"init"}}
		d.add("main.main m.go:1;main.gone gone.go:12", 8, 80e6).Label = map[string][]string{"where": {"gone"}}
		d.add("main.main m.go:1;main.late late.go:2", 5, 50e6)
		d.add("main.main m.go:1;main.late late.go:70", 5, 50e6)
		d.add("main.main m.go:1;map.init.0 other.go:1", 1, 10e6)
		for _, f := range d.Function {
			f.StartLine = 60
		}
		return d
	}},
	{"no stack", func() *draft {
		d := newDraft(cpuTypes)
		d.add("", 5, 50e6)
		d.add("main.main m.go:1", 1, 10e6)
		return d
	}},
	{"negative", func() *draft {
		d := newDraft(cpuTypes)
		d.add("main.main m.go:1;main.a a.go:1", 5, 50e6)
		d.add("main.main m.go:1;main.b b.go:1", -7, -70e6)
		d.add("main.main m.go:1;main.a a.go:1;main.c c.go:1", -5, -50e6)
		d.add("main.main m.go:1;main.d d.go:1;main.c c.go:1", 5, 50e6)
		d.add("main.main m.go:1;main.d d.go:1", 1, 9999)
		return d
	}},
	{"base inside", func() *draft {
		d := newDraft(cpuTypes)
		d.add("main.main m.go:1;main.a a.go:1", 5, 50e6)
		d.add("main.main m.go:1;main.a a.go:1", -4, -40e6).Label = map[string][]string{"pprof::base": {"true"}}
		d.add("main.main m.go:1;main.b b.go:1", -3, -30e6).Label = map[string][]string{"pprof::base": {"true"}}
		return d
	}},
	{"huge", func() *draft {
		d := newDraft("objects/count space/bytes")
		d.add("main.main m.go:1;main.a a.go:1", 1, math.MaxInt64/2)
		d.add("main.main m.go:1;main.b b.go:1", 1, math.MaxInt64/3)
		d.add("main.main m.go:1;main.c c.go:1", math.MaxInt32, 1)
		return d
	}},
	{"overflow", func() *draft {
		d := newDraft("samples/count time/hours")
		d.add("main.main m.go:1;main.a a.go:1", 1, math.MaxInt64)
		d.add("main.main m.go:1;main.b b.go:1", 2, math.MaxInt64)
		d.add("main.main m.go:1;main.c c.go:1", 3, math.MinInt64)
		d.add("main.main m.go:1;main.d d.go:1", 4, 12)
		return d
	}},
	{"units", func() *draft {
		d := newDraft("a/seconds b/microseconds c/GCU d/nanogcu e/widgets f g/kilobytes h/unit i/μs j/Bytes k/hr l/pb m/s")
		for i := range int64(9) {
			vs := make([]int64, len(d.SampleType))
			for k := range vs {
				vs[k] = (i + 1) * int64(math.Pow(7, float64(k%7)))
			}
			d.add(fmt.Sprintf("main.main m.go:1;main.f%d f.go:%d", i%4, i), vs...)
		}
		return d
	}},
	{"odd units labels", func() *draft {
		d := newDraft(cpuTypes)
		for i := range int64(12) {
			s := d.add(fmt.Sprintf("main.main m.go:1;main.f%d f.go:%d", i%3, i), 1, 10e6)
			s.NumLabel = map[string][]int64{"size": {i * 1000}, "wait": {i * 1e6, 5}, "bare": {i}, "request": {64 << i}, "alignment": {8}}
			s.NumUnit = map[string][]string{"size": {"bytes"}, "wait": {"nanoseconds", "nanoseconds"}, "bare": {""}, "request": {""}}
			if i == 7 {
				s.NumUnit["size"] = []string{"kilobytes"}
			}
		}
		return d
	}},
	{"two odd units", func() *draft {
		d := newDraft(cpuTypes)
		for i, u := range []string{"bytes", "megabytes", "kilobytes", "items"} {
			s := d.add("main.main m.go:1", 1, 10e6)
			s.NumLabel = map[string][]int64{"size": {int64(i)}, "cost": {int64(i)}}
			s.NumUnit = map[string][]string{"size": {u}, "cost": {u}}
		}
		return d
	}},
	{"labels", func() *draft {
		d := newDraft(cpuTypes)
		for i := range int64(24) {
			s := d.add(fmt.Sprintf("main.main m.go:1;main.serve s.go:%d;main.f%d f.go:%d", 5+i%2, i%5, i), 1+i%3, 10e6*(1+i%3))
			s.Label = map[string][]string{"handler": {fmt.Sprintf("/v1/item%d", i%6)}}
			if i%4 == 0 {
				s.Label["tenant"] = []string{"red", "blue team"}
				s.Label["tier"] = []string{"go,ld"}
			}
			if i%3 == 0 {
				s.NumLabel = map[string][]int64{"bytes": {1 << (10 + i/2)}}
				s.NumUnit = map[string][]string{"bytes": {"bytes"}}
			}
		}
		return d
	}},
	{"nodelets", func() *draft {
		d := newDraft(heapTypes)
		for i := range int64(40) {
			s := d.add(fmt.Sprintf("main.main m.go:1;main.alloc%d a.go:%d", i%3, i%3), 1, 16<<(i%20), 1, 8<<(i%20))
			s.NumLabel = map[string][]int64{"bytes": {16 << (i % 20)}}
			if i%2 == 0 {
				s.Label = map[string][]string{"kind": {"k" + strconv.Itoa(int(i%7))}}
			}
		}
		return d
	}},
	{"mappings", func() *draft {
		d := newDraft(cpuTypes)
		d.Mapping[0].BuildID = "deadbeef0123"
		d.add("main.main m.go:1;read r.go:9", 3, 30e6)
		libc := d.mapping("/lib/libc-9.99.so", 0x7f0000000000)
		vdso := d.mapping("[vdso]", 0x7fff00000000)
		d.main = libc
		d.add("main.main m.go:1;read libc.c:4", 2, 20e6)
		d.add("main.main m.go:1;write libc.c:8", 1, 10e6)
		d.main = vdso
		d.add("main.main m.go:1;clock_gettime", 4, 40e6)
		kernel := d.mapping("[kernel.kallsyms]_text", 0xffffffff80000000)
		kernel.KernelRelocationSymbol = "_text"
		d.main = kernel
		d.add("main.main m.go:1;write libc.c:8;sys_write", 9, 90e6)
		return d
	}},
	{"windows", func() *draft {
		d := newDraft(cpuTypes)
		d.Mapping[0].File, d.Mapping[0].BuildID = `C:\app\app.exe`, `C:\app\app.exe2026-01-02 03:04:05 +0000 UTC`
		add := func(value int64, files ...string) {
			s := d.add("", value, value*10e6)
			for i, f := range files {
				l := d.location(fmt.Sprintf("main.f%d ", i) + strings.ReplaceAll(f, ":", "|") + ":" + strconv.Itoa(i+1))
				l.Line[0].Function.Filename = f
				s.Location = append(s.Location, l)
			}
		}
		add(3, "C:/app/x/../main.go", `C:\app\x\..\c.c`, `\\server\share\far.go`, "//server/share/x/near.go", `pkg\rel.go`)
		add(2, `C:\app\x\..\c.c`)
		d.main = d.mapping(`C:\Windows\System32\ntdll.dll`, 0x7ff00000000)
		d.main.HasFunctions = false
		d.add("0x7ff00001000", 1, 10e6)
		return d
	}},
	{"unsymbolized", func() *draft {
		d := newDraft(cpuTypes)
		*d.main = profile.Mapping{ID: 1, Start: 0x400000, Limit: 0x500000, File: "/nowhere/bin/server", BuildID: "abcd"}
		lib := &profile.Mapping{ID: 2, Start: 0x7f0000, Limit: 0x800000, File: "/nowhere/lib/libx.so"}
		d.Mapping = append(d.Mapping, lib)
		d.add("0x401000;0x402000;0x403000", 3, 30e6)
		d.add("0x401000;0x402000", 2, 20e6)
		d.main = lib
		d.add("0x7f1000;0x7f2000", 1, 10e6)
		d.add("0x401000;0x7f2000;0x402000", 1, 10e6)
		return d
	}},
	{"no mapping", func() *draft {
		d := newDraft(cpuTypes)
		d.add("main.main m.go:1;main.a a.go:7", 3, 30e6)
		d.add("main.main m.go:1;0x5555", 1, 10e6)
		d.Mapping = nil
		for _, l := range d.Location {
			l.Mapping = nil
		}
		return d
	}},
	{"nameless", func() *draft {
		d := newDraft(cpuTypes)
		d.add("main.main m.go:1; f.go:7", 3, 30e6)
		d.add("main.main m.go:1; ", 2, 20e6)
		d.add("main.main;main.plain;0x0", 1, 10e6)
		d.add("main.main;noline n.go", 1, 10e6)
		d.locations["noline n.go"].IsFolded = true
		return d
	}},
	{"header", func() *draft {
		d := newDraft(cpuTypes)
		d.DurationNanos, d.Period = 30e9, 10e6
		d.Comments = []string{"built by hand", "#hidden in headers", "", "two words"}
		d.DocURL = "https://example.com/how-to-read?a=b&c=d"
		d.Mapping[0].BuildID = "0123456789abcdef"
		d.add("main.main m.go:1;main.a a.go:7", 3, 30e6)
		d.add("main.main m.go:1;main.b a.go:7", 2000, 20e9)
		return d
	}},
	{"no time", func() *draft {
		d := newDraft(waitTypes)
		d.TimeNanos, d.PeriodType, d.Period = 0, nil, 0
		d.DurationNanos = 1
		d.add("main.main m.go:1;main.a a.go:7", 3, 3e12)
		d.add("main.main m.go:1;main.b a.go:7", 0, 7e12)
		d.add("main.main m.go:1;main.c a.go:7", 7, 1)
		return d
	}},
	{"default type", func() *draft {
		d := newDraft(heapTypes)
		d.DefaultSampleType = "alloc_space"
		d.add("main.main m.go:1;main.a a.go:7", 3, 3000, 1, 1000)
		d.add("main.main m.go:1;main.b a.go:7", 2, 20000, 0, 0)
		return d
	}},
	{"default unknown", func() *draft {
		d := newDraft(heapTypes)
		d.DefaultSampleType = "no_such_type"
		d.add("main.main m.go:1;main.a a.go:7", 3, 3000, 1, 1000)
		return d
	}},
	{"drop frames", func() *draft {
		d := newDraft(heapTypes)
		d.DropFrames, d.KeepFrames = `runtime\..*|.*::Alloc`, `runtime\.panic.*`
		d.add("main.main m.go:1;main.a a.go:7;runtime.mallocgc mal.go:9;runtime.sys s.go:3", 3, 3000, 1, 1000)
		d.add("main.main m.go:1;runtime.panicwrap p.go:7;main.handler h.go:9;runtime.gopanic p.go:1", 2, 2000, 1, 900)
		d.add("main.main m.go:1;main.(*T).Do t.go:3+runtime.newobject mal.go:5;runtime.mallocgc mal.go:9", 1, 4000, 1, 70)
		d.add("main.main m.go:1;(anonymous\u00a0namespace)::f(int) c.cc:3;base::Alloc(int,int) alloc.cc:1", 1, 500, 1, 7)
		d.add("runtime.goexit g.go:1;runtime.main r.go:2", 1, 500, 1, 7)
		return d
	}},
	{"drop frames bad", func() *draft {
		d := newDraft(cpuTypes)
		d.DropFrames = `runtime\.(`
		d.add("main.main m.go:1", 3, 3000)
		return d
	}},
	{"same names", func() *draft {
		d := newDraft(cpuTypes)
		d.add("main.main m.go:1;init a/x.go:7;get a/y.go:2", 3, 30e6)
		d.add("main.main m.go:1;init b/x.go:7;get b/y.go:2", 3, 30e6)
		d.add("main.main m.go:1;init c/x.go:9;get a/y.go:3", 2, 20e6)
		d.add("main.main m.go:1;init b/x.go:7;get c/y.go:3", 2, 20e6)
		return d
	}},
	{"recursion", func() *draft {
		d := newDraft(cpuTypes)
		d.add("main.main m.go:1;walk w.go:3;walk w.go:3;walk w.go:5", 4, 40e6)
		d.add("main.main m.go:1;walk w.go:3;visit w.go:9;walk w.go:3;visit w.go:9", 3, 30e6)
		d.add("main.main m.go:1;visit w.go:9;visit w.go:9+walk w.go:3+visit w.go:9", 2, 20e6)
		d.add("walk w.go:3", 1, 10e6)
		return d
	}},
	{"inlining", func() *draft {
		d := newDraft(cpuTypes)
		d.add("main.main m.go:1+main.run m.go:9+main.step m.go:20;hash h.go:4+rotate h.go:1", 4, 40e6)
		d.add("main.main m.go:1+main.run m.go:9;main.step m.go:20;hash h.go:4+rotate h.go:1", 3, 30e6)
		d.add("main.main m.go:2;rotate h.go:1", 1, 1e6)
		d.add("main.main m.go:2+rotate h.go:1+rotate h.go:1", 200, 2000e6)
		return d
	}},
	{"mangled", func() *draft {
		d := newDraft(cpuTypes)
		d.add("main;_ZN3foo3barEv foo.cc:3;_ZNSt6vectorIiSaIiEE9push_backERKi vector.h:9", 5, 50e6)
		d.add("main;_ZN3foo3barEv foo.cc:3;_ZZN3foo3barEvENKUlvE_clEv foo.cc:4", 4, 40e6)
		d.add("main;__ZN3abc1fEi a.cc:9;_RNvC6_123foo3bar r.rs:1;_RNvMs_NtCs1234_7mycrate3mapINtB4_3MapE3get r.rs:4", 3, 30e6)
		d.add("main;ns::Klass<int,std::map<char,long>>::method(int*)const k.cc:4;operator\u00a0delete[](void*)", 2, 20e6)
		d.add("java.lang.Thread.run;com.example.Main.<init> Main.java:3;com.example.Main$Inner.call Main.java:9;scala.Fn$$anonfun$1.apply", 2, 20e6)
		d.add("main.main m.go:1;main.Map[...].Get map.go:3;main.(*List[go.shape.int]).Push l.go:2;main.run.func1.2 m.go:8;main.T.M-fm m.go:9;type:.eq.[2]main.T", 1, 10e6)
		d.add("_start;__libc_start_main;_ZN4core3ptr13drop_in_place17h0123456789abcdefE;_ZL6staticv;__Z;_Z", 1, 10e6)
		return d
	}},
	{"strange names", func() *draft {
		d := newDraft(cpuTypes)
		d.add("main.main m.go:1;日本.関数 日本.go:3;ünïcödé", 4, 40e6)
		d.add(`main.main m.go:1;quo"ted q"uo.go:3;back\slash C:\dir\b.go`, 3, 30e6)
		d.add("main.main m.go:1;two\nlines t.go:3;tab\tbed", 2, 20e6)
		d.add("main.main m.go:1;bad\xff\xfeutf8", 2, 20e6)
		d.add("main.main m.go:1;"+strings.Repeat("long.", 100)+"name "+strings.Repeat("deep/", 100)+"f.go:3", 2, 20e6)
		d.add("main.main m.go:1;<b>&amp;</b> %s%d.go:3;a.b::c...d;[...]", 1, 10e6)
		return d
	}},
	{"columns", func() *draft {
		d := newDraft(cpuTypes)
		d.add("main.main m.go:1:5;main.a a.go:7:3", 4, 40e6)
		d.add("main.main m.go:1:9;main.a a.go:7:30", 3, 30e6)
		d.add("main.main m.go:1:9;main.a a.go:7:30+main.b b.go:1:2", 2, 20e6)
		d.add("main.main m.go:1;main.a a.go:8", 1, 10e6)
		return d
	}},
	{"start lines", func() *draft {
		d := newDraft(cpuTypes)
		d.add("main.main m.go:10;main.a a.go:7", 4, 40e6)
		d.add("main.main m.go:10;main.a a.go:9", 3, 30e6)
		for i, f := range d.Function {
			f.StartLine = int64(3 * (i + 1))
			f.SystemName = "sys." + f.Name
		}
		return d
	}},
	{"listing", func() *draft {
		d := newDraft(cpuTypes)
		d.add("main.main odd.txt:1;main.tabs odd.txt:3", 4, 40e6)
		d.add("main.main odd.txt:1;main.crlf odd.txt:5", 3, 30e6)
		d.add("main.main odd.txt:2;main.last odd.txt:9", 2, 20e6)
		d.add("main.main odd.txt:2;main.beyond odd.txt:400", 1, 10e6)
		d.add("main.main missing.txt:2;main.split odd.txt:6;main.split other.txt:6", 1, 10e6)
		d.add("main.main missing.txt:2;main.zero odd.txt:0;main.nofile", 1, 10e6)
		return d
	}},
	{"ties", func() *draft {
		d := newDraft(cpuTypes)
		for i := range 12 {
			d.add(fmt.Sprintf("main.main m.go:1;main.call%c c.go:%d;main.leaf%c l.go:%d", 'a'+i%4, i, 'a'+i%3, i), 1, 10e6)
		}
		return d
	}},
	{"wide", func() *draft {
		d := newDraft(cpuTypes)
		for i := range int64(400) {
			stack := fmt.Sprintf("main.main m.go:1;pkg%d.route r.go:%d;pkg%d.handle h.go:%d", i%7, i%7, i%31, i%31)
			if i%3 == 0 {
				stack += fmt.Sprintf("+pkg%d.inlined i.go:%d", i%11, i%11)
			}
			d.add(stack+fmt.Sprintf(";util.work%d u.go:%d", i%150, i), 1+i%13, (1+i%13)*10e6+i)
		}
		return d
	}},
	{"deep", func() *draft {
		d := newDraft(cpuTypes)
		var frames []string
		for i := range int64(200) {
			frames = append(frames, fmt.Sprintf("main.level%d l.go:%d", i%120, i))
			if i%10 == 9 {
				d.add(strings.Join(frames, ";"), i, i*10e6)
			}
		}
		return d
	}},
	{"rounding", func() *draft {
		d := newDraft("objects/count space/bytes")
		for i, v := range []int64{1, 1023, 1024, 1025, 1535, 1536, 99_949, 99_950, 1_048_575, 1_048_576, 5_242_880_000} {
			d.add(fmt.Sprintf("main.main m.go:1;main.f%d f.go:%d", i, i), v, v)
		}
		return d
	}},
	{"short times", func() *draft {
		d := newDraft("n/count t/nanoseconds")
		for i, v := range []int64{1, 999, 1000, 1001, 1_000_000, 59_999_999_999, 60_000_000_000, 3_600_000_000_000} {
			d.add(fmt.Sprintf("main.main m.go:1;main.f%d f.go:%d", i, i), int64(i), v)
		}
		return d
	}},
}

// oddText is what the profile "listing" names: tabs, both kinds of line ends, no end to the last line.
const oddText = "plain\n\tone tab\n\t\ttwo tabs\n    spaces\nwith return\r\n日本語 ünï\n\nlast but one\nlast without end"

// handmadeSubjects writes the handmade profiles.
func (l *lab) handmadeSubjects(t *testing.T) []*subject {
	t.Helper()
	l.put(t, "odd.txt", []byte(oddText))
	// The richest of them see half of the flag sets each.
	rich := map[string]bool{"labels": true, "wide": true, "inlining": true, "nodelets": true}
	var out []*subject
	for _, h := range handmade {
		name := strings.ReplaceAll(h.name, " ", "-")
		d := h.make()
		var b bytes.Buffer
		if err := d.Write(&b); err != nil {
			t.Fatalf("%s: %v", h.name, err)
		}
		s := &subject{name: "hand-" + name, path: l.put(t, "hand/"+name+".pb.gz", b.Bytes()), every: 10}
		if rich[h.name] {
			s.every = 2
		}
		if h.name == "listing" {
			s.tree = "."
		}
		out = append(out, s)
	}
	return out
}
