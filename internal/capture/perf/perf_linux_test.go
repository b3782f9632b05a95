package perf

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/testrun"
)

// Shares of profiles agree the better the longer they are: go test -run Agree -for 20s -within 3
var (
	howLong = flag.Duration("for", 4*time.Second, "how long to sample programs for")
	within  = flag.Float64("within", 0, "by how many `points` a function's share may differ from the program's own profile; 0 is 3 and what chance explains")
)

// record samples a process for a while and returns all segments as one profile.
func record(t *testing.T, ctx context.Context, pid int, opt Options) (*profile.Profile, Outcome) {
	t.Helper()
	var all profile.Merger
	emit := opt.Emit
	opt.Emit = func(p *profile.Profile, from, to time.Duration) error {
		if emit != nil {
			if err := emit(p, from, to); err != nil {
				return err
			}
		}
		// What is written is what counts.
		var b bytes.Buffer
		if err := p.Write(&b); err != nil {
			return err
		}
		q, err := profile.Parse(&b)
		if err != nil {
			return err
		}
		return all.Add(q)
	}
	out, err := Record(ctx, pid, opt)
	needPermission(t, err)
	if err != nil {
		t.Fatal(err)
	}
	p, err := all.Profile()
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range out.Notes {
		t.Log("note:", n)
	}
	return p, out
}

// needPermission skips a test where the system does not let us sample, and only then.
func needPermission(t *testing.T, err error) {
	t.Helper()
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENOSYS) {
		testrun.Unable(t, "NOT TESTED: this system does not let programs be sampled: %v", err)
	}
}

// build builds a program of examples, with more flags.
func build(t *testing.T, dir string, flags ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "program")
	cmd := exec.Command("go", append(append([]string{"build", "-buildvcs=false", "-o", file}, flags...), ".")...)
	cmd.Dir = filepath.Join("../../../examples", dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return file
}

// start starts a program, and ends it with the test.
func start(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return cmd
}

// shares returns which percentage of the CPU time of p each function has by itself, and with what it calls.
func shares(p *profile.Profile) (flat, cum map[string]float64) {
	flat, cum = make(map[string]float64), make(map[string]float64)
	values := p.Values(1)
	total := 0.0
	for _, v := range values {
		total += float64(v)
	}
	var stack []uint32
	for i, v := range values {
		share := 100 * float64(v) / total
		stack = p.Stack(i, stack[:0])
		// On a busy machine two signals often come at once. Then the one for the profile finds the program where the
		// runtime has put it because of the other, which wanted the goroutine to let others run.
		if len(stack) > 1 {
			if lines := p.Locations[stack[0]].Lines; len(lines) == 1 && p.Functions[lines[0].Function].Name == "runtime.asyncPreempt" {
				stack = stack[1:]
			}
		}
		seen := make(map[string]bool)
		for j, l := range stack {
			lines := p.Locations[l].Lines
			if len(lines) == 0 {
				seen["?"] = true
				if j == 0 {
					flat["?"] += share
				}
			}
			for k, line := range lines {
				name := p.Functions[line.Function].Name
				if j == 0 && k == 0 {
					flat[name] += share
				}
				seen[name] = true
			}
		}
		for name := range seen {
			cum[name] += share
		}
	}
	return flat, cum
}

// top returns the names with the largest shares.
func top(share map[string]float64, n int) []string {
	names := slices.SortedFunc(maps.Keys(share), func(a, b string) int {
		return cmp.Or(cmp.Compare(share[b], share[a]), strings.Compare(a, b))
	})
	return names[:min(n, len(names))]
}

// sum returns the sum of the values of a sample type.
func sum(p *profile.Profile, k int) (n time.Duration) {
	for _, v := range p.Values(k) {
		n += time.Duration(v)
	}
	return n
}

// agree checks that the functions that cost most have the same share in our profile of a program as in its own.
func agree(t *testing.T, ours, own *profile.Profile) {
	t.Helper()
	flat, cum := shares(ours)
	wantFlat, wantCum := shares(own)
	t.Logf("CPU time: ours %v in %d samples, its own %v", sum(ours, 1), int(sum(ours, 0)), sum(own, 1))
	// may returns by how much a share may differ.
	may := func(share float64) float64 {
		if *within > 0 {
			return *within
		}
		return 3 + 3.5*math.Sqrt(share*(100-share)*(1/float64(sum(ours, 0))+1/float64(sum(own, 0))))
	}
	compare := func(what string, got, want map[string]float64, n int) {
		names := top(want, n)
		for _, name := range top(got, n) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		worst := 0.0
		for _, name := range names {
			d := got[name] - want[name]
			worst = max(worst, math.Abs(d))
			t.Logf("%s %6.2f %6.2f %+6.2f  %s", what, got[name], want[name], d, name)
			if math.Abs(d) > may(min(max(got[name], want[name]), 99)) {
				t.Errorf("%s share of %s is %.2f%%; in its own profile it is %.2f%%", what, name, got[name], want[name])
			}
		}
		t.Logf("%s: at most %.2f points apart", what, worst)
	}
	compare("flat", flat, wantFlat, 10)
	compare("cum", cum, wantCum, 25)
}

// TestAgreeStripped samples a program without symbols while it profiles itself.
func TestAgreeStripped(t *testing.T) {
	if testing.Short() {
		t.Skip("samples a program for seconds")
	}
	file := build(t, "stripped", "-trimpath", "-ldflags=-s -w")
	own := filepath.Join(t.TempDir(), "own.pb.gz")
	cmd := start(t, file, "-for", howLong.String(), "-cpuprofile", own)
	ours, out := record(t, t.Context(), cmd.Process.Pid, Options{})
	if !out.Exited {
		t.Error("the end of the process was not seen")
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	// Its own profile counts too little when the machine is busy; the kernel knows.
	took := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if a, b := sum(ours, 1).Seconds(), took.Seconds(); math.Abs(a-b) > (0.1+3/math.Sqrt(float64(sum(ours, 0))))*b {
		t.Errorf("the profile has %.2fs of CPU time; the program took %.2fs", a, b)
	} else {
		t.Logf("the profile has %.2fs of CPU time; the program took %.2fs", a, b)
	}
	agree(t, ours, read(t, own))
	// letter is inlined into spell, rotate into mix, and the files have no folders.
	for _, want := range [][3]string{{"main.letter", "main.spell", "main.(*shift).run.func1"}, {"main.rotate", "main.mix", "main.(*shift).run.func3"}} {
		if !hasStack(ours, want[:]) {
			t.Errorf("there is no stack with %s in %s in %s", want[0], want[1], want[2])
		}
	}
	for _, f := range ours.Functions {
		if strings.HasPrefix(f.Name, "main.") && f.File != "example.com/stripped/stripped.go" && f.File != "./stripped.go" {
			t.Errorf("%s is in %s", f.Name, f.File)
		}
		if f.Name == "main.mix" && f.StartLine != 63 {
			t.Errorf("main.mix begins in line %d; want 63", f.StartLine)
		}
	}
}

// hasStack reports whether a sample begins with frames of these names.
func hasStack(p *profile.Profile, names []string) bool {
	var stack []uint32
	for i := range p.NumSamples() {
		var got []string
		stack = p.Stack(i, stack[:0])
		for _, l := range stack {
			for _, line := range p.Locations[l].Lines {
				got = append(got, p.Functions[line.Function].Name)
			}
		}
		if len(got) >= len(names) && slices.Equal(got[:len(names)], names) {
			return true
		}
	}
	return false
}

func read(t *testing.T, file string) *profile.Profile {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := profile.Parse(f)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestC samples a program that spends its time in C, with and without symbols.
func TestC(t *testing.T) {
	testrun.Live(t, "builds and samples programs of C")
	if _, err := exec.LookPath("gcc"); err != nil {
		testrun.Missing(t, "there is no C compiler: apt-get install gcc libc6-dev")
	}
	dir := t.TempDir()
	const program = `package main

// #cgo CFLAGS: -O1 -fno-omit-frame-pointer
// int spin(int n) { volatile int s = 0; for (int i = 0; i < n; i++) s += i; return s; }
import "C"

//go:noinline
func callC() { C.spin(1000000) }

func main() {
	for {
		callC()
	}
}
`
	for name, text := range map[string]string{"go.mod": "module example.com/c\n\ngo 1.26\n", "main.go": program} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, flags := range []string{"", "-s -w"} {
		t.Run("flags "+flags, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "c")
			cmd := exec.Command("go", "build", "-o", file, "-ldflags="+flags, ".")
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("go build: %v\n%s", err, out)
			}
			ctx, stop := context.WithTimeout(t.Context(), 1500*time.Millisecond)
			defer stop()
			p, _ := record(t, ctx, start(t, file).Process.Pid, Options{Rate: 250})
			flat, cum := shares(p)
			leaf := "spin"
			if flags != "" {
				leaf = "?" // nothing in the file says what it is
			}
			if flat[leaf] < 80 || cum["runtime.cgocall"] < 80 || cum["main.callC"] < 80 || cum["runtime.main"] < 80 {
				t.Errorf("flat %v\ncum %v", flat, cum)
			}
		})
	}
}

// TestThreads samples a program thread by thread, as when only that is allowed.
func TestThreads(t *testing.T) {
	if testing.Short() {
		t.Skip("samples a program for seconds")
	}
	cmd := start(t, build(t, "stripped", "-trimpath", "-ldflags=-s -w"), "-for", "2s")
	segments := 0
	last := time.Duration(0)
	p, out := record(t, t.Context(), cmd.Process.Pid, Options{
		Rate: 250, Segment: 200 * time.Millisecond, Threads: true, perThread: true,
		Emit: func(p *profile.Profile, from, to time.Duration) error {
			if from != last || to <= from {
				t.Errorf("segment is from %v to %v; the one before ended at %v", from, to, last)
			}
			last = to
			segments++
			if m := p.Mappings[0]; filepath.Base(m.File) != "program" || !m.HasFunctions && p.NumSamples() > 0 {
				t.Errorf("the first mapping is %+v", m)
			}
			return nil
		},
	})
	if _, cum := shares(p); cum["main.main"] < 90 {
		t.Errorf("main.main has %.1f%%", cum["main.main"])
	}
	if segments < 8 || segments > 14 || !out.Exited || len(out.Notes) == 0 {
		t.Errorf("%d segments; outcome is %+v", segments, out)
	}
	found := false
	for _, set := range p.LabelSets() {
		for _, l := range set {
			found = found || l.Key == "thread" && l.Num == int64(cmd.Process.Pid)
		}
	}
	if !found {
		t.Errorf("no sample is labeled with the first thread: %v", p.LabelSets())
	}
}

// TestRefused checks what is said when there is nothing to record, or when it is not allowed.
func TestRefused(t *testing.T) {
	opt := Options{Emit: func(*profile.Profile, time.Duration, time.Duration) error { return nil }}
	ended := start(t, "true")
	ended.Wait()
	sleep := start(t, "sleep", "60")
	for _, tt := range []struct {
		name string
		pid  int
		want error
		text string
	}{
		{"negative", -1, ErrGone, "no such process"},
		{"ended", ended.Process.Pid, ErrGone, "no such process"},
		{"another language", sleep.Process.Pid, ErrNotGo, "no table of Go functions"},
	} {
		_, err := Record(t.Context(), tt.pid, opt)
		needPermission(t, err)
		if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s: %v; want %q", tt.name, err, tt.text)
		}
	}
	// Of another user.
	if os.Geteuid() == 0 {
		asNobody(t, "TestNobody")
	}
}

// sink keeps what takes CPU time.
var sink int

// TestNobody is run by TestRefused as another user, who may sample his own programs at most.
func TestNobody(t *testing.T) {
	if os.Getenv("HONE_TEST_NOBODY") == "" {
		t.Skip("run by TestRefused")
	}
	opt := Options{Emit: func(*profile.Profile, time.Duration, time.Duration) error { return nil }}
	if _, err := Record(t.Context(), os.Getppid(), opt); !errors.Is(err, ErrPermission) || !strings.Contains(err.Error(), "another user: record it as root") {
		t.Errorf("a process of root: %v", err)
	}
	// It takes a second of CPU time, however long that is on a busy machine.
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		defer stop()
		spent := func() time.Duration {
			var u syscall.Rusage
			if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
				t.Error(err)
			}
			return time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
		for start := spent(); spent()-start < time.Second && ctx.Err() == nil; {
			for n := range 100_000 {
				sink += n
			}
		}
	}()
	var samples int64
	opt.Emit = func(p *profile.Profile, _, _ time.Duration) error {
		for _, v := range p.Values(0) {
			samples += v
		}
		return nil
	}
	out, err := Record(ctx, os.Getpid(), opt)
	level, _ := paranoid()
	switch {
	case level > 2:
		if !errors.Is(err, ErrPermission) || !strings.Contains(err.Error(), "kernel.perf_event_paranoid is") {
			t.Errorf("with kernel.perf_event_paranoid %d: %v", level, err)
		}
	case err != nil && level <= 2:
		t.Errorf("its own process, with kernel.perf_event_paranoid %d: %v", level, err)
	case samples < 10 || level == 2 && !strings.Contains(strings.Join(out.Notes, "\n"), "kernel time"):
		t.Errorf("%d samples, %+v", samples, out)
	}
}

// asNobody runs a test of this program as a user who may do little.
func asNobody(t *testing.T, name string) {
	t.Helper()
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	// By its handle: the folder that it is in may not be open to others.
	cmd := exec.Command("/proc/self/fd/3", "-test.run", "^"+name+"$", "-test.v")
	cmd.ExtraFiles = []*os.File{self}
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), "HONE_TEST_NOBODY=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("--- PASS: "+name)) {
		t.Errorf("as another user: %v\n%s", err, out)
	}
}

// TestAgreeServer samples a busy server while it serves its own profile.
func TestAgreeServer(t *testing.T) {
	testrun.Nightly(t, "builds net/http servers, and samples them for seconds")
	for _, mode := range []string{"exe", "pie"} {
		t.Run(mode, func(t *testing.T) {
			at, pid := busyServer(t, "-buildmode="+mode, "-ldflags=-s -w")
			sampling, enough := context.WithCancel(t.Context())
			own := make(chan []byte, 1)
			go func() {
				defer enough()
				resp, err := http.Get(fmt.Sprintf("%s/debug/pprof/profile?seconds=%d", at, int(howLong.Seconds())))
				if err != nil {
					t.Error(err)
					own <- nil
					return
				}
				defer resp.Body.Close()
				b, err := io.ReadAll(resp.Body)
				if err != nil {
					t.Error(err)
				}
				own <- b
			}()
			ours, _ := record(t, sampling, pid, Options{})
			p, err := profile.ParseBytes(<-own)
			if err != nil {
				t.Fatal(err)
			}
			agree(t, ours, p)
		})
	}
}

// busyServer starts a server that profiles itself when asked, and visits it until the test ends. It returns its address
// and process.
func busyServer(t *testing.T, flags ...string) (at string, pid int) {
	t.Helper()
	dir, err := filepath.Abs("../../../examples/hi/stage0")
	if err != nil {
		t.Fatal(err)
	}
	more := filepath.Join(t.TempDir(), "more.go")
	overlay := filepath.Join(t.TempDir(), "overlay.json")
	b, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(dir, "more.go"): more}})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{more: []byte("package main\n\nimport _ \"net/http/pprof\"\n"), overlay: b} {
		if err := os.WriteFile(name, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(build(t, "hi/stage0", append(flags, "-overlay="+overlay)...), "-addr", "127.0.0.1:0")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	line := make([]byte, 200)
	n, err := stderr.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	at = regexp.MustCompile(`http://\S+`).FindString(string(line[:n]))
	ctx, stop := context.WithCancel(context.Background())
	var load sync.WaitGroup
	t.Cleanup(load.Wait)
	t.Cleanup(stop)
	const visitors = 16
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: visitors}}
	t.Cleanup(client.CloseIdleConnections)
	for range visitors {
		load.Go(func() { visit(ctx, client, at+"/?color=red") })
	}
	time.Sleep(300 * time.Millisecond)
	return at, cmd.Process.Pid
}

// visit asks for a page again and again.
func visit(ctx context.Context, client *http.Client, url string) {
	for ctx.Err() == nil {
		req, err := http.NewRequestWithContext(ctx, "GET", url, nil)
		if err != nil {
			return
		}
		resp, err := client.Do(req)
		if err != nil {
			return
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
}
