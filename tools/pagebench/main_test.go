package main

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// The test binary also plays a server.
func TestMain(m *testing.M) {
	switch os.Getenv("PAGEBENCH_FAKE") {
	case "":
		os.Exit(m.Run())
	case "serve":
		l, err := net.Listen("tcp", "localhost:0")
		if err != nil {
			panic(err)
		}
		l.Close()
		io.WriteString(os.Stderr, "hello\nServing web UI on http://"+l.Addr().String()+"\n")
		time.Sleep(50 * time.Millisecond) // pprof listens only after it has said so
		if _, err := net.Listen("tcp", l.Addr().String()); err != nil {
			panic(err)
		}
		time.Sleep(time.Minute)
	case "refuse":
		io.WriteString(os.Stderr, "no such profile\n")
		os.Exit(1)
	}
}

func TestServer(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PAGEBENCH_FAKE", "serve")
	s, err := startServer(t.Context(), self)
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Errorf("it is said to serve at %s: %v", s.url, err)
	} else {
		c.Close()
	}
	if _, err := os.Stat("/proc/self/status"); err == nil {
		u, err := s.usage()
		if err != nil || u.rss < 1<<20 || u.peak < u.rss {
			t.Errorf("it takes %+v, %v", u, err)
		}
	}
	start := time.Now()
	s.stop()
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("it ended only after %v", took)
	}

	t.Setenv("PAGEBENCH_FAKE", "refuse")
	if _, err := startServer(t.Context(), self); err == nil || !strings.Contains(err.Error(), "no such profile") {
		t.Errorf("a server that ends gives %v", err)
	}
}

func TestParseUsage(t *testing.T) {
	const status = "Name:\ta (b) c\nVmPeak:\t 9000 kB\nVmHWM:\t  300 kB\nVmRSS:\t  200 kB\n"
	u, err := parseUsage([]byte("7 (a (b) c) S 1 7 7 0 -1 4 900 0 0 0 123 45 0 0 20 0 9 0\n"), []byte(status))
	if want := (usage{cpu: 1680 * time.Millisecond, rss: 200 << 10, peak: 300 << 10}); err != nil || u != want {
		t.Errorf("%+v, %v; want %+v", u, err, want)
	}
	for _, tt := range []struct{ stat, status string }{
		{"", status},
		{"7 (x) S 1 2 3", status},
		{"7 (x) S 1 7 7 0 -1 4 900 0 0 0 much 45 0 0 20", status},
		{"7 (x) S 1 7 7 0 -1 4 900 0 0 0 123 45 0 0 20", "Name:\tx\n"},
	} {
		if u, err := parseUsage([]byte(tt.stat), []byte(tt.status)); err == nil {
			t.Errorf("%q and %q give %+v", tt.stat, tt.status, u)
		}
	}
}

func TestQuantile(t *testing.T) {
	var xs []time.Duration
	for i := range 100 {
		xs = append(xs, time.Duration(100-i))
	}
	for _, tt := range []struct {
		xs   []time.Duration
		q    float64
		want time.Duration
	}{
		{xs, 0.5, 50},
		{xs, 0.95, 95},
		{xs, 1, 100},
		{xs[:1], 0.5, 100},
		{xs[:2], 0.95, 100},
	} {
		if got := quantile(tt.xs, tt.q); got != tt.want {
			t.Errorf("quantile of %d values, %g: %d, want %d", len(tt.xs), tt.q, got, tt.want)
		}
	}
	if xs[0] != 100 {
		t.Error("it sorts what it is given")
	}
}

func someLooks() []look {
	one := func(top, drawn time.Duration, frame time.Duration) look {
		return look{
			top: top, drawn: drawn, drawnPeak: 100 << 20, payload: 150_000, script: 30_000, focus: 200 * time.Millisecond,
			again: 60 * time.Millisecond, zoom: zoom{took: 40 * time.Millisecond}, rss: 90 << 20, peak: 450 << 20, nodes: 29_000,
			frames: []time.Duration{frame, frame}, steps: []time.Duration{2 * frame},
		}
	}
	const ms = time.Millisecond
	return []look{one(400*ms, 890*ms, ms), one(100*ms, 5000*ms, ms), one(500*ms, 100*ms, 9*ms)}
}

func TestRows(t *testing.T) {
	const s = time.Second
	for _, tt := range []struct {
		name    string
		samples int
		res     result
		want    []string // lines that must be there
	}{
		{"with pprof", 50_000, result{looks: someLooks(), pprof: &rival{drawn: 9 * s, cpu: 2 * s, peak: 800 << 20, payload: 74_000_000}}, []string{
			"| p | `hone top` |  | 0.40 s |  |  |",
			"| p | start to flame graph | 9.00 s | 0.89 s | ≤ 1.5 × top + 0.3 s = 0.90 s | yes |",
			"| p | … sooner than pprof |  | 10.1× | ≥ 10× | yes |",
			"| p | … peak memory of the server | 800 MB | 100 MB | ≤ 400 MB | yes |",
			"| p | … answers, packed | 74000 kB | 150 kB | ≤ 200 kB | yes |",
			"| p | … the same again |  | 60 ms | ≤ 50 ms | **no** |",
			"| p | … at its peak |  | 450 MB | ≤ 400 MB | **no** |",
			"| p | painting 29000 calls, p50 |  | 1 ms |  |  |",
			"| p | … p95 |  | 9 ms | ≤ 8 ms | **no** |",
			"| p | … p95 |  | 18 ms | ≤ 8 ms | **no** |",
		}},
		{"pprof too fast", 500_000, result{looks: someLooks(), pprof: &rival{drawn: 9 * s}}, []string{
			"| p | … sooner than pprof |  | 10.1× | ≥ 20× | **no** |",
		}},
		{"pprof too slow to wait for", 500_000, result{looks: someLooks(), pprof: &rival{drawn: 90 * s, timedOut: true}}, []string{
			"| p | start to flame graph | > 90.00 s | 0.89 s | ≤ 1.5 × top + 0.3 s = 0.90 s | yes |",
			"| p | … sooner than pprof |  | 101.1× | ≥ 20× | yes |",
		}},
		{"without pprof", 500_000, result{looks: someLooks()}, []string{
			"| p | … sooner than pprof |  |  | ≥ 20× |  |",
		}},
		{"failed", 50_000, result{failed: errors.New("broken")}, []string{"| p | flame graph |  | failed |  | **no** |"}},
	} {
		var lines []string
		for _, r := range rowsOf(tt.samples, tt.res) {
			lines = append(lines, r.markdown("p"))
		}
		for _, want := range tt.want {
			if !slices.Contains(lines, want) {
				t.Errorf("%s: no line %s in\n%s", tt.name, want, strings.Join(lines, "\n"))
			}
		}
	}
	for _, r := range rowsOf(2_000_000, result{looks: someLooks()}) {
		if strings.Contains(r.what, "pprof") {
			t.Errorf("at 2M there is a line %s", r.markdown("p"))
		}
	}
}

func TestOptions(t *testing.T) {
	opt, err := parseOptions([]string{"-only", "50k|2M", "-n", "2", "-pprof", "0", "-dir", "d", "-limit", "2m"}, io.Discard)
	if err != nil || !slices.Equal(opt.sizes, []int{50_000, 2000_000}) || opt.rounds != 2 || opt.pprof != 0 || opt.dir != "d" || opt.limit != 2*time.Minute {
		t.Errorf("%+v, %v", opt, err)
	}
	if opt, err = parseOptions([]string{"-sizes", "100k,3000"}, io.Discard); err != nil || !slices.Equal(opt.sizes, []int{100_000, 3000}) || opt.pprof != 500_000 {
		t.Errorf("%+v, %v", opt, err)
	}
	for args, want := range map[string]string{
		"-only (":      "-only: ",
		"-only 7M":     "no profile",
		"-n 0":         "at least one round",
		"-sizes 50m":   `"50m" is not a number of samples`,
		"-sizes 50k,":  `"" is not a number of samples`,
		"-pprof some":  "-pprof: ",
		"-limit 0s":    "-limit 0s",
		"-hone none":   "-hone none: no such program",
		"50k":          "unexpected argument",
		"-sizes 0k":    "is not a number",
		"-sizes 9999M": "is not a number",
	} {
		if opt, err := parseOptions(strings.Fields(args), io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v; want %s", args, opt, err, want)
		}
	}
}

func TestFetchAll(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/page" {
			http.NotFound(w, r)
			return
		}
		io.WriteString(w, strings.Repeat("box ", 1000))
	}))
	defer srv.Close()
	before := time.Now()
	at, n, err := fetchAll(t.Context(), srv.URL+"/page")
	if err != nil || n != 4000 || at.Before(before) {
		t.Errorf("%v, %d bytes, %v", at, n, err)
	}
	if _, _, err := fetchAll(t.Context(), srv.URL+"/else"); err == nil {
		t.Error("a page that is not there was fetched")
	}
}

func TestPacked(t *testing.T) {
	if n := packed(strings.Repeat("let x = 1;\n", 10_000)); n < 20 || n > 2000 {
		t.Errorf("%d bytes", n)
	}
}
