package load

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"flag"
	"maps"
	"net/http/httptest"
	"net/url"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/latency"
	"github.com/hone-perf/hone/internal/load/loadtest"
)

// eachEngine runs a test with every engine that there is, the portable one with TLS, too.
func eachEngine(t *testing.T, test func(t *testing.T, e engineCase)) {
	for _, name := range Engines() {
		t.Run(strings.ReplaceAll(name, "/", ""), func(t *testing.T) { test(t, engineCase{name: name}) })
	}
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS()
	t.Cleanup(s.Close)
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	t.Run("TLS", func(t *testing.T) { test(t, engineCase{Portable, &s.TLS.Certificates[0], roots}) })
}

// waits leaves a test out of a short run.
func waits(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for seconds with each engine")
	}
}

// The servers are in this process, and the epoll engine keeps a P to itself. Tests that run at the same time wait, and need none.
func TestMain(m *testing.M) {
	flag.Set("test.parallel", "24")
	runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0)))
	os.Exit(m.Run())
}

type engineCase struct {
	name  string
	cert  *tls.Certificate
	roots *x509.CertPool
}

func (e engineCase) listen(t *testing.T, mix ...string) *loadtest.Server {
	t.Helper()
	return e.serve(t, loadtest.Options{Mix: mix})
}

func (e engineCase) serve(t *testing.T, opt loadtest.Options) *loadtest.Server {
	t.Helper()
	opt.Cert = e.cert
	s, err := loadtest.Listen(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func (e engineCase) plan(t *testing.T, address string) Plan {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return Plan{
		Targets: []Target{{URL: u}}, Agent: "hone/test", Engine: e.name, TLS: &tls.Config{RootCAs: e.roots},
		Timeout: time.Minute, // nothing depends on it, unless a test sets it
	}
}

func mustRun(t *testing.T, p Plan) *latency.Log {
	t.Helper()
	l, err := Run(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	checkSums(t, l)
	return l
}

// checkSums holds what is always so.
func checkSums(t *testing.T, l *latency.Log) {
	t.Helper()
	for what, c := range map[string]*latency.Counts{"": &l.Counts, "warm-up: ": &l.Warm} {
		after := c.Failed() - c.FailedBefore()
		if c.Sent != c.Answered+c.Unfinished+after {
			t.Errorf("%s%d sent, but %d answered, %d unfinished, %d failed", what, c.Sent, c.Answered, c.Unfinished, after)
		}
		sum, other := int64(0), int64(0)
		for _, n := range c.Status {
			sum += n
		}
		for _, n := range c.Unexpected {
			other += n
		}
		if sum != c.Answered || c.Answered != c.Good+other {
			t.Errorf("%s%d answered, statuses of %d, %d good, %d unexpected", what, c.Answered, sum, c.Good, other)
		}
	}
	if l.Asked != l.Sent+l.Unsent+l.FailedBefore() {
		t.Errorf("%d asked, but %d sent, %d not, %d could not be", l.Asked, l.Sent, l.Unsent, l.FailedBefore())
	}
	if l.Service.Count() != l.Answered {
		t.Errorf("%d answered, %d service times", l.Answered, l.Service.Count())
	}
	var rows latency.Row
	for _, r := range l.Rows {
		rows.Sent += r.Sent
		rows.Answered += r.Answered
		rows.Good += r.Good
		rows.Errors += r.Errors
	}
	if rows.Sent != l.Sent || rows.Answered != l.Answered || rows.Good != l.Good || rows.Errors != l.Failed() {
		t.Errorf("rows add up to %d sent, %d answered, %d good, %d errors; want %d, %d, %d, %d",
			rows.Sent, rows.Answered, rows.Good, rows.Errors, l.Sent, l.Answered, l.Good, l.Failed())
	}
}

// checkAgainst holds what a run counted against what the server did, to the last request.
func checkAgainst(t *testing.T, l *latency.Log, s *loadtest.Server) {
	t.Helper()
	status, faults := map[int]int64{}, map[latency.Cause]int64{}
	for what, n := range s.Did() {
		if code, err := strconv.Atoi(what); err == nil {
			status[code] += n
		} else {
			faults[latency.Cause(loadtest.Faults[what])] += n
		}
	}
	if !maps.Equal(l.Status, status) {
		t.Errorf("counted statuses %v, the server sent %v", l.Status, status)
	}
	if !maps.Equal(l.Errors, faults) {
		t.Errorf("counted errors %v, the server made %v", l.Errors, faults)
	}
	c := s.Counts()
	if l.Sent != c.Requests {
		t.Errorf("counted %d requests, the server %d", l.Sent, c.Requests)
	}
	if l.Opened != c.Conns && l.Engine != NetHTTP { // whose transport opens some ahead
		t.Errorf("counted %d connections, the server %d", l.Opened, c.Conns)
	}
}
