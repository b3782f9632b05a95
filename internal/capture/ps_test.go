package capture

import (
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/testrun"
)

func TestParsePS(t *testing.T) {
	tests := []struct {
		text string
		rss  int64
		cpu  float64
		ok   bool
	}{
		{"  1234   0:01.25\n", 1234 << 10, 1.25, true}, // macOS
		{" 8 123:45.60\n", 8 << 10, 123*60 + 45.6, true},
		{"52416 00:00:07\n", 52416 << 10, 7, true}, // Linux
		{"1 2-03:04:05\n", 1 << 10, 2*86400 + 3*3600 + 4*60 + 5, true},
		{"", 0, 0, false},
		{"1\n", 0, 0, false},
		{"x 0:01\n", 0, 0, false},
		{"1 a:01\n", 0, 0, false},
		{"1 1:2:3:4\n", 0, 0, false},
		{"-1 0:01\n", 0, 0, false},
	}
	for _, tt := range tests {
		rss, cpu, ok := parsePS(tt.text)
		if ok != tt.ok || ok && (rss != tt.rss || cpu < tt.cpu-1e-6 || cpu > tt.cpu+1e-6) {
			t.Errorf("parsePS(%q) = %d, %v, %v", tt.text, rss, cpu, ok)
		}
	}
	const listed = "USER   PID   TT   %CPU STAT PRI     STIME     UTIME COMMAND\n" +
		"me   4321 s000    0.0 S    31T   0:00.01   0:00.02 ./app\n     4321         0.0 S    31T   0:00.00   0:00.00 \n"
	if n := parseThreads(listed); n != 2 {
		t.Errorf("parseThreads counts %d threads", n)
	}
	if n := parseThreads(""); n != 0 {
		t.Errorf("parseThreads counts %d threads of nothing", n)
	}
}

// TestAskPS asks the ps of this machine about the test.
func TestAskPS(t *testing.T) {
	if _, err := exec.LookPath("ps"); err != nil {
		testrun.Missing(t, "there is no ps: apt-get install procps")
	}
	rss, cpu, _ := askPS(os.Getpid())
	if rss < 1<<20 || rss > 1<<36 || cpu < 0 {
		t.Errorf("the test has %d bytes and took %v s", rss, cpu)
	}
	if rss, cpu, threads := askPS(1 << 30); rss != 0 || cpu != 0 || threads != 0 {
		t.Errorf("a process that does not exist has %d bytes, %v s and %d threads", rss, cpu, threads)
	}
}

// TestProcessSaysWhatItTakes holds what a system says about a process of its own: Linux and Windows all of it, and macOS what getrusage does.
func TestProcessSaysWhatItTakes(t *testing.T) {
	p := processOf(os.Getpid())
	defer p.Close()
	for end := time.Now().Add(50 * time.Millisecond); time.Now().Before(end); {
	}
	if rss := p.RSS(); rss < 1<<20 || rss > 1<<36 {
		t.Errorf("RSS of the test is %d", rss)
	}
	if cpu, ok := p.CPU(); !ok || cpu <= 0 || cpu > 3600 {
		t.Errorf("the test took %v s, known: %v", cpu, ok)
	}
	if n := p.Threads(); runtime.GOOS != "freebsd" && (n < 1 || n > 1000) {
		t.Errorf("the test has %d threads", n)
	}
	if p.Memory() < 1<<24 {
		t.Errorf("this machine has %d bytes of memory", p.Memory())
	}
}
