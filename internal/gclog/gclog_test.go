package gclog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/hone-perf/hone/internal/testrun"
)

const (
	mb = 1 << 20
	us = time.Microsecond
	ms = time.Millisecond
)

// formats has a line of each form.
var formats = []struct {
	version string
	line    string
	want    Cycle
}{
	{
		"before 1.0",
		"gc3: 1+2+0 ms 4 -> 2 MB 900 -> 700 (1000-300) objects 5 pointer lookups (6 size, 7 addr) 8 handoff",
		Cycle{
			N: 3, Procs: 1, Format: Go10, Clock: Clock{Stopped: 3 * ms}, Before: 4 * mb, End: 2 * mb, Live: 2 * mb,
			Counts: []int64{3, 1, 1, 2, 0, 4, 2, 900, 700, 1000, 300, 8},
		},
	},
	{
		"1.0",
		"gc7(2): 2+3+1 ms 10 -> 5 MB 165691 -> 9524 (573016-563492) objects 508 handoff",
		Cycle{
			N: 7, Procs: 2, Format: Go10, Clock: Clock{Stopped: 6 * ms}, Before: 10 * mb, End: 5 * mb, Live: 5 * mb,
			Counts: []int64{7, 2, 2, 3, 1, 10, 5, 165691, 9524, 573016, 563492, 508},
		},
	},
	{
		"1.1",
		"gc4(2): 10+0+1 ms, 9 -> 8 MB 18744 -> 9807 (20077-10270) objects, 1(4) handoff, 3(210) steal, 32/22/14 yields",
		Cycle{
			N: 4, Procs: 2, Format: Go11, Clock: Clock{Stopped: 11 * ms}, Before: 9 * mb, End: 8 * mb, Live: 8 * mb,
			Counts: []int64{4, 2, 10, 0, 1, 9, 8, 18744, 9807, 20077, 10270, 1, 4, 3, 210, 32, 22, 14},
		},
	},
	{
		"1.1 with a blank before the comma",
		"gc4(1): 10+0+1 ms , 9 -> 8 MB 18744 -> 9807 (20077-10270) objects, 0(0) handoff, 0(0) steal, 0/0/0 yields",
		Cycle{
			N: 4, Procs: 1, Format: Go11, Clock: Clock{Stopped: 11 * ms}, Before: 9 * mb, End: 8 * mb, Live: 8 * mb,
			Counts: []int64{4, 1, 10, 0, 1, 9, 8, 18744, 9807, 20077, 10270, 0, 0, 0, 0, 0, 0, 0},
		},
	},
	{
		"1.3",
		"gc9(4): 12+3+2100+40 us, 6 -> 11 MB, 83070 (225370-142300) objects, 208/156/2 sweeps, 5(6) handoff, 17(70) steal, 100/4/1 yields",
		Cycle{
			N: 9, Procs: 4, Format: Go13, Clock: Clock{Stopped: 2155 * us}, Before: 6 * mb, End: 11 * mb,
			Counts: []int64{9, 4, 12, 3, 2100, 40, 6, 11, 83070, 225370, 142300, 208, 156, 2, 5, 6, 17, 70, 100, 4, 1},
		},
	},
	{
		"1.4",
		"gc9(4): 12+3+2100+40 us, 6 -> 11 MB, 83070 (225370-142300) objects, 34 goroutines, 208/156/2 sweeps, 5(6) handoff, 17(70) steal, 100/4/1 yields",
		Cycle{
			N: 9, Procs: 4, Format: Go14, Clock: Clock{Stopped: 2155 * us}, Before: 6 * mb, End: 11 * mb,
			Counts: []int64{9, 4, 12, 3, 2100, 40, 6, 11, 83070, 225370, 142300, 34, 208, 156, 2, 5, 6, 17, 70, 100, 4, 1},
		},
	},
	{
		"1.5",
		"gc 12 @1.635s 3%: 1.0+2.0+0.5+120+3.0 ms clock, 8.0+2.0+0+407/200/7.0+24 ms cpu, 32->38->25 MB, 39 MB goal, 8 P",
		Cycle{
			N: 12, Procs: 8, Format: Go15, Start: 1635 * ms, Share: 3,
			Clock:  Clock{SweepTerm: ms, Scan: 2 * ms, Sync: 500 * us, Mark: 120 * ms, MarkTerm: 3 * ms},
			CPU:    CPU{SweepTerm: 8 * ms, Scan: 2 * ms, Assist: 407 * ms, Background: 200 * ms, Idle: 7 * ms, MarkTerm: 24 * ms},
			Before: 32 * mb, End: 38 * mb, Live: 25 * mb, Goal: 39 * mb,
		},
	},
	{
		"1.6",
		"gc 18 @17.141s 0%: 0.21+4.8+0.007 ms clock, 1.7+0/0.45/4.8+0.062 ms cpu, 1->2->1 MB, 4 MB goal, 8 P (forced)",
		Cycle{
			N: 18, Procs: 8, Format: Go16, Start: 17141 * ms, Trigger: ByProgram,
			Clock:  Clock{SweepTerm: 210 * us, Mark: 4800 * us, MarkTerm: 7 * us},
			CPU:    CPU{SweepTerm: 1700 * us, Background: 450 * us, Idle: 4800 * us, MarkTerm: 62 * us},
			Before: mb, End: 2 * mb, Live: mb, Goal: 4 * mb,
		},
	},
	{
		"1.18",
		"gc 2 @0.034s 11%: 0.011+0.24+0.002 ms clock, 0.022+0.23/0.042/0.12+0.005 ms cpu, 3->4->1 MB, 5 MB goal, 6 MB stacks, 7 MB globals, 2 P",
		Cycle{
			N: 2, Procs: 2, Format: Go18, Start: 34 * ms, Share: 11,
			Clock:  Clock{SweepTerm: 11 * us, Mark: 240 * us, MarkTerm: 2 * us},
			CPU:    CPU{SweepTerm: 22 * us, Assist: 230 * us, Background: 42 * us, Idle: 120 * us, MarkTerm: 5 * us},
			Before: 3 * mb, End: 4 * mb, Live: mb, Goal: 5 * mb, Stacks: 6 * mb, Globals: 7 * mb,
		},
	},
	{
		"1.26 looking for leaks",
		"gc 2 @0.034s 1% (checking for goroutine leaks): 0.011+0.24+0 ms clock, 0.022+0/0/0+0 ms cpu, 3->4->1 MB, 5 MB goal, 0 MB stacks, 0 MB globals, 2 P (forced)",
		Cycle{
			N: 2, Procs: 2, Format: Go18, Start: 34 * ms, Share: 1, Trigger: ByProgram, Leaks: true,
			Clock:  Clock{SweepTerm: 11 * us, Mark: 240 * us},
			CPU:    CPU{SweepTerm: 22 * us},
			Before: 3 * mb, End: 4 * mb, Live: mb, Goal: 5 * mb,
		},
	},
	{
		"something new",
		"gc 2 @0.034s 1%: 0+0+0 ms clock, 0+0/0/0+0 ms cpu, 3->4->1 MB, 5 MB goal, 0 MB stacks, 0 MB globals, 9 MB off-heap, 2 P",
		Cycle{N: 2, Procs: 2, Format: Go18, Start: 34 * ms, Share: 1, Before: 3 * mb, End: 4 * mb, Live: mb, Goal: 5 * mb},
	},
}

func parse(t *testing.T, text string) *Log {
	t.Helper()
	log, err := Parse(strings.NewReader(text))
	if err != nil {
		t.Fatalf("Parse(%q): %v", text, err)
	}
	return log
}

func TestFormats(t *testing.T) {
	for _, tt := range formats {
		tt.want.Line, tt.want.Marking = 1, -1
		for _, around := range []string{"%s", "%s\r\n", "2026-01-02T03:04:05.678Z stderr F %s\n", "no newline%s\n", `{"log":"%s\n"}`} {
			log := parse(t, fmt.Sprintf(around, tt.line))
			if len(log.Cycles) != 1 || !reflect.DeepEqual(log.Cycles[0], tt.want) {
				t.Errorf("%s: "+around+"\n got %+v\nwant %+v", tt.version, tt.line, log.Cycles, tt.want)
			}
		}
		if n := len(tt.want.Counts); n != len(tt.want.Format.Columns()) {
			t.Errorf("%s has %d numbers and %d columns", tt.version, n, len(tt.want.Format.Columns()))
		}
	}
}

// A line can be cut by another line wherever the runtime makes a new piece.
func TestTorn(t *testing.T) {
	pieces := regexp.MustCompile(`[0-9.]+|[^0-9.]+`)
	others := []string{"2026/01/02 03:04:05 hello", "2026-01-02T03:04:05Z hello", "x", "7 lines\nand another\n", `{"a":1}`, "gc "}
	for _, tt := range formats {
		if tt.version == "something new" {
			continue // its number has a dash beside it
		}
		tt.want.Line, tt.want.Marking = 1, -1
		cut := 0
		all := pieces.FindAllString(tt.line, -1)
		for i, piece := range all[:len(all)-1] {
			cut += len(piece)
			if i < 2 || !tt.want.Format.Timed() && i < 4 {
				continue // nobody can tell that this is a line about a cycle
			}
			if left := tt.line[cut:]; !strings.ContainsAny(left, "0123456789") {
				continue // all numbers are there
			}
			for _, other := range others {
				if isDigit(other[0]) && isDigit(tt.line[cut-1]) && dateIn(other) < 0 {
					continue // nobody can tell where one number ends and the other begins
				}
				text := tt.line[:cut] + other + "\n" + tt.line[cut:] + "\nend\n"
				log := parse(t, text)
				if len(log.Cycles) != 1 || !reflect.DeepEqual(log.Cycles[0], tt.want) {
					t.Errorf("%s, cut:\n%s got %+v\nwant %+v", tt.version, text, log.Cycles, tt.want)
				}
			}
		}
	}
}

const (
	gc1 = "gc 1 @0.010s 1%: 0.1+1.0+0.1 ms clock, 0.2+0.1/0.2/0.3+0.2 ms cpu, 4->5->2 MB, 4 MB goal, 0 MB stacks, 0 MB globals, 2 P"
	gc2 = "gc 2 @0.020s 1%: 0.1+1.0+0.1 ms clock, 0.2+0.1/0.2/0.3+0.2 ms cpu, 4->5->2 MB, 4 MB goal, 0 MB stacks, 0 MB globals, 2 P"
	gc3 = "gc 3 @130.020s 1%: 0.1+1.0+0.1 ms clock, 0.2+0.1/0.2/0.3+0.2 ms cpu, 4->5->2 MB, 4 MB goal, 0 MB stacks, 0 MB globals, 2 P"
)

func TestLines(t *testing.T) {
	tests := []struct {
		name, in string
		cycles   string // process:number/trigger
		skipped  string
		rest     string
	}{
		{"nothing", "", "", "", ""},
		{"other text", "hello\n\nworld", "", "2 other text from 1", "hello\n\nworld\n"},
		{"glued", gc1 + gc2, "0:1/heap 0:2/heap", "", ""},
		{"glued to text", "progress " + gc1 + "done", "0:1/heap", "1 other text beside GC lines from 1", "progress done\n"},
		{"torn", gc1[:20] + "hello\n" + gc1[20:], "0:1/heap", "1 other text beside GC lines from 1", "hello\n"},
		{"torn behind prefixes", "a b | " + gc1[:20] + "hello\na b | " + gc1[20:], "0:1/heap", "2 other text beside GC lines from 1", "a b | hello\na b | \n"},
		{"torn on one line", gc1[:20] + "hello " + gc1[20:], "0:1/heap", "1 other text beside GC lines from 1", "hello \n"},
		{"torn by a log of requests", strings.Replace(gc1, "0 MB globals", "2026/11/28 04:11:22.920701 POST /pad\n0 MB globals", 1), "0:1/heap", "1 other text beside GC lines from 1", "2026/11/28 04:11:22.920701 POST /pad\n"},
		{"torn by another", gc2[:14] + gc1 + "\n" + gc2[14:], "0:1/heap 0:2/heap", "", ""},
		{"cut short", gc1[:70] + "\n" + gc2, "0:2/heap", "1 GC lines cut short from 1", ""},
		{"never ends", gc1[:30], "", "1 GC lines cut short from 1", ""},
		{"without a beginning", gc1[20:], "", "1 GC lines cut short from 1", gc1[20:] + "\n"},
		{"GOGC=off", "gc 3 @0.050s 7%: 0.10+0.44+0.002 ms clock, 0.21+0/0.13/0.26+0.004 ms cpu, 50->50->0 MB, 8532210231536 MB goal, 0 MB stacks, 0 MB globals, 2 P (forced)", "0:3/program", "", ""},
		{"again", gc1 + "\n" + gc2 + "\n" + gc1, "0:1/heap 0:2/heap 1:1/heap", "", ""},
		{"two at once", gc1 + "\n" + gc1 + "\n" + gc2 + "\n" + gc2 + "\n" + gc3, "0:1/heap 1:1/heap 0:2/heap 1:2/heap 0:3/heap", "", ""},
		{"periodic", gc1 + "\nGC forced\n" + gc3, "0:1/heap 0:3/time", "", ""},
		{"too early for that", "GC forced\n" + gc1 + "\n" + gc3, "0:1/heap 0:3/time", "", ""},
		{"periodic in Go 1.0", "scvg3: GC forced\n" + formats[1].line, "0:7/time", "", ""},
		{
			"scavenger", "scvg0: inuse: 426, idle: 1, sys: 427, released: 2, consumed: 425 (MB)\nscvg1: 0x1f MB released\n" +
				"scvg: 8 KB released\nforced scvg: 3 MB released\nscav 8 1 KiB work, 64 KiB total, 12% util\n" +
				"scav 0 KiB work (bg), 0 KiB work (eager), 3728 KiB now, 96% util (forced)\n",
			"", "6 scavenger from 1, 1 other text beside GC lines from 4", "forced \nscav 8 1 KiB work, 64 KiB total, 12% util\nscav 0 KiB work (bg), 0 KiB work (eager), 3728 KiB now, 96% util (forced)\n",
		},
		{
			"pacer", "pacer: assist ratio=+7.7e-001 (scan 0 MB in 3->4 MB) workers=0++2.5e-001\n" +
				"pacer: 53% CPU (25 exp.) for 1+2+3 B work (4 B exp.) in 5 B -> 6 B (∆goal 7, cons/mark +0e+000)" + gc1,
			"0:1/heap", "2 pacer from 1", "pacer: assist ratio=+7.7e-001 (scan 0 MB in 3->4 MB) workers=0++2.5e-001\n" +
				"pacer: 53% CPU (25 exp.) for 1+2+3 B work (4 B exp.) in 5 B -> 6 B (∆goal 7, cons/mark +0e+000)\n",
		},
		{
			"scheduler", "SCHED 0ms: gomaxprocs=2 idleprocs=1" + gc1 + "\n  P0: status=1 schedtick=2 syscalltick=3\n" +
				"init net @0.45 ms, 0.004 ms clock, 16 bytes, 1 allocs\nscan: total 1+2+3=6 objs, 1+2=3 spans\n" +
				"checkfinalizers: queue: 1 finalizers + 2 cleanups\n",
			"0:1/heap",
			"2 scheduler from 1, 1 package initialization from 3, 1 scan statistics from 4, " +
				"1 finalizers and cleanups from 5",
			"SCHED 0ms: gomaxprocs=2 idleprocs=1\n  P0: status=1 schedtick=2 syscalltick=3\n" +
				"init net @0.45 ms, 0.004 ms clock, 16 bytes, 1 allocs\ncheckfinalizers: queue: 1 finalizers + 2 cleanups\n",
		},
		{"bold", strings.Replace(gc1, "1%:", "**1%:**", 1), "0:1/heap", "", ""},
		{"quoted", strings.NewReplacer("cpu", "CPU", "goal", "Goal").Replace(gc1), "0:1/heap", "", ""},
		{"looks like it", "gc 1 hour, gc1, scvg, pacer:x, gc 7 @ home", "", "1 other text from 1", "gc 1 hour, gc1, scvg, pacer:x, gc 7 @ home\n"},
		{"too large", "gc 99999999999999999999 @1s", "", "1 other text beside GC lines from 1, 1 GC lines cut short from 1", "99999999999999999999 @1s\n"},
	}
	for _, tt := range tests {
		log := parse(t, tt.in)
		var cycles, skipped []string
		for _, c := range log.Cycles {
			cycles = append(cycles, fmt.Sprintf("%d:%d/%v", c.Process, c.N, c.Trigger))
		}
		for _, s := range log.Skipped {
			skipped = append(skipped, fmt.Sprintf("%d %s from %d", s.Lines, s.What, s.First))
		}
		if got := strings.Join(cycles, " "); got != tt.cycles {
			t.Errorf("%s: cycles are %s, want %s", tt.name, got, tt.cycles)
		}
		if got := strings.Join(skipped, ", "); got != tt.skipped {
			t.Errorf("%s: skipped are %s, want %s", tt.name, got, tt.skipped)
		}
		var p Parser
		var rest strings.Builder
		for line := range strings.Lines(tt.in) {
			if r, own := p.Line(strings.TrimSuffix(line, "\n")); !own {
				rest.WriteString(r + "\n")
			}
		}
		if rest.String() != tt.rest {
			t.Errorf("%s: what is left is\n%q, want\n%q", tt.name, rest.String(), tt.rest)
		}
	}
}

func TestScavenger(t *testing.T) {
	log := parse(t, "scvg0: inuse: 426, idle: 1, sys: 527, released: 2, consumed: 425 (MB)\n"+
		"scvg1: inuse: 426, idle: 1, sys: 427, released: 3, consumed: 424 (MB)\n")
	if want := (Scavenger{2, 427 * mb, 527 * mb, 3 * mb}); log.Scavenger != want {
		t.Errorf("scavenger is %+v, want %+v", log.Scavenger, want)
	}
	log = parse(t, "pacer: 53% CPU (25 exp.) for 1 B\n"+gc1+"\npacer: H_m_prev=1 u_a=+9.726e-001 u_g=+2.5e-001\n"+gc2+"\n"+gc3)
	if log.Cycles[0].Marking != 53 || log.Cycles[1].Marking != 97 || log.Cycles[2].Marking != -1 {
		t.Errorf("shares of marking are %d, %d, %d", log.Cycles[0].Marking, log.Cycles[1].Marking, log.Cycles[2].Marking)
	}
}

func TestReadError(t *testing.T) {
	log, err := Parse(io.MultiReader(strings.NewReader(gc1+"\n"), iotest.ErrReader(errors.New("gone"))))
	if err == nil || len(log.Cycles) != 1 {
		t.Errorf("%d cycles, %v", len(log.Cycles), err)
	}
}

// Lines without end are read in parts.
func TestLongLine(t *testing.T) {
	log := parse(t, strings.Repeat("x", 10*maxLine)+gc1+"\n"+gc2)
	if log.Lines != 2 || log.Cycles[len(log.Cycles)-1].Line != 2 {
		t.Errorf("%d lines, %+v", log.Lines, log.Cycles)
	}
}

// letters are as many of one letter as somebody wants to read.
type letters struct{}

func (letters) Read(b []byte) (int, error) { return copy(b, bytes.Repeat([]byte("x"), len(b))), nil }

// What has no end is no line, and what was in front of it is still read.
func TestEndlessLine(t *testing.T) {
	log, err := Parse(io.MultiReader(strings.NewReader(gc1+"\n"), letters{}))
	if err == nil || err.Error() != "line 2 is longer than 256MB" || len(log.Cycles) != 1 {
		t.Errorf("%d cycles, %v", len(log.Cycles), err)
	}
}

// TestCorpus counts: every line about a cycle is read, or is the part of one that was joined.
func TestCorpus(t *testing.T) {
	files := testrun.Corpus(t, "gctrace")
	var index []byte
	for _, dir := range testrun.CorpusFolders(t, "gctrace") {
		text, err := os.ReadFile(filepath.Join(dir, "INDEX.tsv"))
		if err != nil {
			t.Fatal(err)
		}
		index = append(index, text...)
	}
	head := regexp.MustCompile(`gc ?[0-9]+(\([0-9]+\):| @)`)
	total := 0
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		log := parse(t, string(text))
		want := len(head.FindAll(text, -1))
		if len(log.Cycles) != want {
			t.Errorf("%s: %d cycles, want %d; skipped: %v", filepath.Base(name), len(log.Cycles), want, log.Skipped)
		}
		total += len(log.Cycles)
		for _, s := range log.Skipped {
			if s.What == cutShort {
				t.Errorf("%s:%d: cut short", filepath.Base(name), s.First)
			}
		}
	}
	counted := 0
	for line := range strings.Lines(string(index)) {
		var n int
		if fields := strings.Split(line, "\t"); len(fields) > 3 {
			fmt.Sscan(fields[3], &n)
		}
		counted += n
	}
	t.Logf("%d GC lines in %d files, %d by the index", total, len(files), counted)
	if total < counted {
		t.Errorf("read %d GC lines; the index counts %d", total, counted)
	}
}

func FuzzParse(f *testing.F) {
	for _, tt := range formats {
		f.Add(tt.line)
		f.Add(tt.line[:len(tt.line)/2] + "hello\n" + tt.line[len(tt.line)/2:])
	}
	f.Add("scvg0: inuse: 426, idle: 1, sys: 427, released: 2, consumed: 425 (MB)\nGC forced\n" + gc3)
	f.Add("scav 0 KiB work (bg), 0 KiB work (eager), 3728 KiB now, 96% util\npacer: 53% CPU (25 exp.)" + gc1 + gc2)
	f.Fuzz(func(t *testing.T, text string) {
		log, err := Parse(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		counted := 0
		for i := range log.Cycles {
			c := &log.Cycles[i]
			if c.Pause() < 0 || c.Wall() < c.Pause() || c.CPU.Total() < 0 || c.Before < 0 || c.End < 0 || c.Live < 0 || c.Goal < 0 {
				t.Fatalf("%+v", c)
			}
			if c.Process < 0 || c.Process >= len(log.Processes) || c.Line < 1 || c.Line > log.Lines {
				t.Fatalf("%+v of %d processes, %d lines", c, len(log.Processes), log.Lines)
			}
			if !c.Format.Timed() && len(c.Counts) != len(c.Format.Columns()) {
				t.Fatalf("%+v", c)
			}
		}
		for _, p := range log.Processes {
			counted += p.Cycles
		}
		if counted != len(log.Cycles) {
			t.Fatalf("processes have %d cycles, the log %d", counted, len(log.Cycles))
		}
	})
}

func BenchmarkParse(b *testing.B) {
	var text strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&text, "gc %d @%d.020s 1%%: 0.1+1.0+0.1 ms clock, 0.2+0.1/0.2/0.3+0.2 ms cpu, 4->5->2 MB, 4 MB goal, 0 MB stacks, 0 MB globals, 2 P\n", i+1, i)
		text.WriteString("2026/01/02 03:04:05 GET /checkout 200 12ms some request that was served\n")
	}
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if log, err := Parse(strings.NewReader(text.String())); err != nil || len(log.Cycles) != 20_000 {
			b.Fatal(len(log.Cycles), err)
		}
	}
}

// A log ends before the collection that a recorder asked for, in the process that it was in.
func TestEndAt(t *testing.T) {
	cycle := func(n int, at, more string) string {
		return fmt.Sprintf("gc %d @%ss 1%%: 1+8+1 ms clock, 2+0/8/0+2 ms cpu, 4->4->1 MB, 4 MB goal, 0 MB stacks, 0 MB globals, 2 P%s\n", n, at, more)
	}
	text := cycle(1, "1.000", " (forced)") + cycle(2, "2.000", "") + cycle(3, "3.000", "") + cycle(4, "3.100", " (forced)") + cycle(5, "3.200", "") + cycle(1, "0.100", "")
	for _, test := range []struct{ n, recorder, left int }{
		{0, 0, 6}, {1, 1, 1}, {2, 4, 4}, {3, 4, 4}, {4, 4, 4}, {5, 0, 6},
	} {
		log := parse(t, text)
		log.EndAt(test.n)
		got := 0
		if log.Recorder != nil {
			got = log.Recorder.N
		}
		if got != test.recorder || len(log.Cycles) != test.left || log.Processes[0].Cycles != test.left-1 {
			t.Errorf("ended at %d, the cycle of the recorder is %d and %d are left (%d of the program), want %d and %d",
				test.n, got, len(log.Cycles), log.Processes[0].Cycles, test.recorder, test.left)
		}
		if c := log.Profiled(time.Minute); got != 0 && (c == nil || c.N != got) {
			t.Errorf("ended at %d, a heap profile from the end is as of %+v, want that of the recorder", test.n, c)
		}
	}
}

// The runtime publishes what a cycle left at the end of the next one, or at once for runtime.GC.
func TestProfiled(t *testing.T) {
	cycle := func(n int, at, more string) string {
		return fmt.Sprintf("gc %d @%ss 1%%: 1+8+1 ms clock, 2+0/8/0+2 ms cpu, 4->4->1 MB, 4 MB goal, 0 MB stacks, 0 MB globals, 2 P%s\n", n, at, more)
	}
	steady := cycle(1, "1.000", "") + cycle(2, "2.000", "") + cycle(3, "3.000", "")
	for _, test := range []struct {
		log  string
		at   time.Duration
		want int // 0 is unknown
	}{
		{steady, 500 * time.Millisecond, 0},
		{steady, 1500 * time.Millisecond, 0},
		{steady, 2005 * time.Millisecond, 0}, // the second one has not ended
		{steady, 2010 * time.Millisecond, 1},
		{steady, time.Minute, 2},
		{cycle(1, "1.000", "") + cycle(2, "2.000", " (forced)"), time.Minute, 2},
		{cycle(1, "1.000", "") + cycle(3, "3.000", ""), time.Minute, 0}, // the log lacks one
		{steady + cycle(1, "0.500", ""), time.Minute, 0},                // two processes
	} {
		log, err := Parse(strings.NewReader(test.log))
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		if c := log.Profiled(test.at); c != nil {
			got = c.N
		}
		if got != test.want {
			t.Errorf("a heap profile at %s is as of cycle %d, want %d:\n%s", test.at, got, test.want, test.log)
		}
	}
}
