package ab

import (
	"bytes"
	"context"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/load/loadtest"
)

// Letters may stand together, an argument may follow at once, and the order of -t and -n matters.
func TestOptions(t *testing.T) {
	tests := []struct {
		args     string
		requests int64
		conns    int
		keep     bool
		limit    time.Duration
	}{
		{"-n 100 -c 5 http://localhost/", 100, 5, false, 0},
		{"-n100 -c5 -k localhost/", 100, 5, true, 0},
		{"-kc 5 -n 100 localhost/", 100, 5, true, 0},
		{"-kqc5 -n100 localhost/", 100, 5, true, 0},
		{"-t 3 localhost/", 50000, 1, false, 3 * time.Second},
		{"-n 7 -t 3 localhost/", 50000, 1, false, 3 * time.Second},
		{"-t 3 -n 7 localhost/", 7, 1, false, 3 * time.Second},
	}
	for _, test := range tests {
		var out, errs bytes.Buffer
		o, code := parse(System{Out: &out, Err: &errs, Zone: time.UTC}, strings.Fields(test.args))
		if o == nil {
			t.Errorf("%s: code %d, %s", test.args, code, &errs)
			continue
		}
		if o.requests != test.requests || o.concurrency != test.conns || o.keepAlive != test.keep || o.timeLimit != test.limit {
			t.Errorf("%s: %d requests, %d at once, keep-alive %v, %v", test.args, o.requests, o.concurrency, o.keepAlive, o.timeLimit)
		}
	}
}

// Whatever the arguments are, there is an answer.
func FuzzOptions(f *testing.F) {
	f.Add("-n100 -kc 5 http://localhost:80/a")
	f.Add("-5 -H a:b -Z")
	f.Add("-n 99999999999999999999 [::1]:1/")
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Fields(line)
		if slices.ContainsFunc(args, func(a string) bool { return strings.ContainsAny(a, "pu") && strings.HasPrefix(a, "-") }) {
			return // these read files
		}
		var out, errs bytes.Buffer
		o, code := parse(System{Out: &out, Err: &errs, Zone: time.UTC}, args)
		if o == nil {
			if code != exitDone && code != exitError && code != exitUsage {
				t.Errorf("%q: code %d", line, code)
			}
			return
		}
		if o.requests < 1 || o.concurrency < 1 || !strings.HasSuffix(o.wire(), "\r\n\r\n") {
			t.Errorf("%q: %+v", line, o)
		}
	})
}

// IPv4 addresses are read as inet_aton does, which getaddrinfo calls.
func TestSpelledOut(t *testing.T) {
	for name, want := range map[string]string{
		"127.0.0.1": "127.0.0.1", "127.1": "127.0.0.1", "127.0.258": "127.0.1.2", "127.65535": "127.0.255.255", "2130706433": "127.0.0.1",
		"0x7f.1": "127.0.0.1", "0X7F.0x0.0.1": "127.0.0.1", "017700000001": "127.0.0.1", "0177.0.0.010": "127.0.0.8", "00": "0.0.0.0", "4294967295": "255.255.255.255",
		"256.1": "", "127.16777216": "", "127.0.65536": "", "127.0.0.256": "", "4294967296": "", "1.2.3.4.5": "", "127.0.0.1.": "", "127..1": "", "": "",
		"08.1": "", "0x": "", "0x.1": "", "7f.1": "", "+127.1": "", "-1": "", "1_0.1": "", "0b1.1": "", "0o17.1": "", "::1": "", "localhost": "",
	} {
		if want == "" {
			want = name
		}
		if got := spelledOut(name); got != want {
			t.Errorf("%q is %s; want %s", name, got, want)
		}
	}
}

// What is said of times is what a list of them says, as ab computes it.
func TestSeries(t *testing.T) {
	for _, n := range []int{1, 2, 5, 100, 101} {
		var s series
		var list []time.Duration
		sum := 0.0
		for i := range n {
			d := time.Duration(i*i%997+3) * 100 * time.Microsecond
			s.add(d)
			list = append(list, d)
			sum += float64(d.Microseconds())
		}
		slices.Sort(list)
		l := s.line()
		median := list[n/2]
		if n > 1 && n%2 == 1 {
			median = (list[n/2] + list[n/2+1]) / 2
		}
		mean := math.Trunc(sum / float64(n))
		squares := 0.0
		for _, d := range list {
			squares += math.Pow(float64(d.Microseconds())-mean, 2)
		}
		deviation := 0.0
		if n > 1 {
			deviation = math.Sqrt(squares/float64(n-1)) / 1000
		}
		if l.min != millis(list[0]) || l.max != millis(list[n-1]) || l.mean != int64(mean+500)/1000 || math.Abs(l.deviation-deviation) > 1e-6*deviation || math.Abs(float64(l.median-millis(median))) > 1 {
			t.Errorf("of %d: %+v; want min %d, max %d, mean %v, median %d, deviation %v", n, l, millis(list[0]), millis(list[n-1]), mean/1000, millis(median), deviation)
		}
	}
}

// An interrupt gives the report of what was done, and a code that says so.
func TestInterrupted(t *testing.T) {
	s, err := loadtest.Listen(loadtest.Options{Mix: []string{"200", "hang"}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, cancel := context.WithCancel(context.Background())
	var out, errs bytes.Buffer
	done := make(chan int)
	go func() {
		done <- Main(ctx, System{Out: &out, Err: &errs, Zone: time.UTC}, []string{"-n10", s.URL + "/mix"})
	}()
	for s.Did()["hang"] == 0 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if code := <-done; code != exitError || !strings.Contains(out.String(), "Complete requests:      1\n") || !strings.Contains(out.String(), "Requests per second:") {
		t.Errorf("code %d:\n%s%s", code, &out, &errs)
	}
}
