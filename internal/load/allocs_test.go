package load

import (
	"bufio"
	"bytes"
	"net"
	"net/url"
	"runtime"
	"testing"

	"github.com/hone-perf/hone/internal/latency"
	"github.com/hone-perf/hone/internal/testrun"
)

// constant answers every request that has no body in the same way, and allocates nothing for that.
func constant(t *testing.T) *url.URL {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	answer := []byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				in := bufio.NewReader(c)
				for {
					line, err := in.ReadSlice('\n')
					if err != nil {
						return
					}
					if bytes.Equal(line, []byte("\r\n")) {
						if _, err := c.Write(answer); err != nil {
							return
						}
					}
				}
			}()
		}
	}()
	return &url.URL{Scheme: "http", Host: l.Addr().String(), Path: "/"}
}

// TestAllocations holds that the engines with a parser of their own allocate nothing for a request, whose memory so does not
// grow with the number of them.
func TestAllocations(t *testing.T) {
	target := constant(t)
	for _, engine := range Engines() {
		if engine == NetHTTP {
			continue // it is the standard library's
		}
		t.Run(engine, func(t *testing.T) {
			run := func(n int64) (mallocs float64) {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				l, err := Run(t.Context(), Plan{Targets: []Target{{URL: target}}, Number: n, Conns: 8, Engine: engine, Marks: true})
				runtime.ReadMemStats(&after)
				if err != nil || l.Good != n {
					t.Fatalf("%d of %d answers, %v; %+v", l.Good, n, err, l.Counts)
				}
				checkLog(t, l)
				return float64(after.Mallocs - before.Mallocs)
			}
			few, many := int64(2_000), int64(testrun.Size(42_000, 12_000))
			run(few)
			if each := (run(many) - run(few)) / float64(many-few); each > 0.05 {
				t.Errorf("%.3f allocations for each request", each)
			} else {
				t.Logf("%.4f allocations for each request", each)
			}
		})
	}
}

// checkLog holds that the marks of a log are in order and end with what was answered.
func checkLog(t *testing.T, l *latency.Log) {
	t.Helper()
	if len(l.Marks) == 0 {
		t.Fatal("there are no marks")
	}
	for i, m := range l.Marks[1:] {
		if m.At <= l.Marks[i].At || m.Answered < l.Marks[i].Answered {
			t.Fatalf("marks are out of order: %v, %v", l.Marks[i], m)
		}
	}
	if last := l.Marks[len(l.Marks)-1]; last.Answered != l.Answered {
		t.Errorf("the last mark has %d answers of %d", last.Answered, l.Answered)
	}
}
