package scrape

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/store"
)

// TestMetrics scrapes counts of requests and memory, and holds what the store says of them, also when the process starts again.
func TestMetrics(t *testing.T) {
	const config = `
scrape_configs:
- job_name: shop
  profiles: [heap]
  metrics: {requests: http_requests_total, handler: path, functions: {"/orders": example.com/shop.(*Server).orders}}
  static_configs: [{targets: ["a:6060"]}]
`
	simulate(t, config, Options{}, func(b *bench) {
		rounds := 0
		stop := b.serve("a:6060", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/metrics" {
				http.NotFound(w, r)
				return
			}
			n := rounds
			if rounds >= 5 { // it starts again
				n -= 5
			}
			rounds++
			fmt.Fprintf(w, `# HELP http_requests_total Requests.
# TYPE http_requests_total counter
http_requests_total{code="200",path="/orders"} %d
http_requests_total{code="500",path="/orders"} %d 1700000000000
http_requests_total{path="/a \"b\"\\",code="200"} %g
http_requests_total_other{path="/orders"} 1e9
process_resident_memory_bytes %e
`, 100+60*n, n, 7+float64(n), 1e6*float64(50+rounds))
		}))
		defer stop()
		time.Sleep(8 * time.Minute)
		b.stop()
		m, err := b.sink.Merge(t.Context(), store.Query{Tenant: "main", Selector: store.Service("shop"), Kind: recording.Process, From: time.Unix(0, 0), To: time.Now().Add(time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		p := m.Profile
		if len(p.SampleTypes) != 2 || p.SampleTypes[0].Type != "rss" || p.SampleTypes[1].Type != "requests" {
			t.Fatalf("the sample types are %v", p.SampleTypes)
		}
		got := map[string][2]int64{}
		var stack []uint32
		for i := range p.NumSamples() {
			stack = p.Stack(i, stack[:0])
			v := got[p.Functions[p.Locations[stack[0]].Lines[0].Function].Name]
			got[p.Functions[p.Locations[stack[0]].Lines[0].Function].Name] = [2]int64{v[0] + p.Values(0)[i], v[1] + p.Values(1)[i]}
		}
		// Five rounds grow by four times 61; after the new start, 100 requests came before the first round, and rounds-6 times 61 after it.
		later := int64(rounds - 6)
		if v := got["example.com/shop.(*Server).orders"]; v[1] != 4*61+100+later*61 {
			t.Errorf("orders has %d requests, want %d", v[1], 4*61+100+later*61)
		}
		if v := got[`/a "b"\`]; v[1] != 4+7+later {
			t.Errorf("the other handler has %d requests", v[1])
		}
		if v := got[allMemory]; v[0] < 51e6 || v[0] > 59e6 || len(got) != 3 {
			t.Errorf("the memory is %v in %v", v, got)
		}
		if st := b.profile("a:6060", recording.Process); st.Health != Up || st.Profiles < 7 {
			t.Errorf("the status is %+v", st)
		}
	})
}

// TestHostileMetrics holds that answers that are none, or that would take much memory, are refused or cut.
func TestHostileMetrics(t *testing.T) {
	m := &Metrics{Requests: "r", Handler: "h"}
	at := time.Unix(1, 0)
	var many strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&many, "r{h=\"%d%s\"} 1\n", i, strings.Repeat("x", 1000))
	}
	p, err := m.profile([]byte(many.String()), at)
	if err != nil {
		t.Fatal(err)
	}
	if n := p.NumSamples(); n > mostHandlers+2 || sums(p)[1] != 10_000 {
		t.Errorf("%d samples with %v", n, sums(p))
	}
	for _, f := range p.Functions {
		if len(f.Name) > mostHandlerName {
			t.Errorf("a name has %d bytes", len(f.Name))
		}
	}
	for text, want := range map[string]string{
		"":                       "the answer has neither r nor process_resident_memory_bytes",
		"<html>login</html>":     "the answer has neither r nor process_resident_memory_bytes",
		"r{h=\"a 1":              "is not a line of metrics",
		"r{h=\"a\\\"":            "is not a line of metrics",
		"r{h} 1":                 "is not a line of metrics",
		"r{":                     "is not a line of metrics",
		"r one":                  "is not a line of metrics",
		"r":                      "the answer has neither r nor process_resident_memory_bytes",
		"r NaN\nr -1\nr +Inf":    "the answer has neither r nor process_resident_memory_bytes",
		"r{h=\"\xff\",,} 1e300 ": "the answer has neither r nor process_resident_memory_bytes",
	} {
		if _, err := m.profile([]byte(text), at); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if p, err := m.profile([]byte("r 9007199254740992\nr 9007199254740992\n"), at); err != nil || sums(p)[1] != mostCount {
		t.Errorf("too many requests are %v, %v", p, err)
	}

	simulate(t, "scrape_configs: [{job_name: j, profiles: [heap], metrics: {}, static_configs: [{targets: ['a:1']}]}]", Options{}, func(b *bench) {
		defer b.serve("a:1", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			line := strings.Repeat("x", 1<<16)
			for range mostMetrics>>16 + 1 {
				if _, err := io.WriteString(w, line); err != nil {
					return
				}
			}
		}))()
		time.Sleep(3 * time.Minute)
		if st := b.profile("a:1", recording.Process); st.Err == nil || st.Err.Cause != CauseSize {
			t.Errorf("a large answer: %+v", st)
		}
	})
}

// FuzzMetrics holds that no answer makes a panic, or a profile that cannot be kept.
func FuzzMetrics(f *testing.F) {
	f.Add([]byte("# HELP r x\nr{h=\"/a\",code=\"200\"} 12 1700000000000\nprocess_resident_memory_bytes 1.2e7\n"))
	f.Add([]byte("r{h=\"\\n\\\\\\\"\"}1\nr{,} 2"))
	f.Fuzz(func(t *testing.T, b []byte) {
		m := &Metrics{Requests: "r", Handler: "h"}
		p, err := m.profile(b, time.Unix(1, 0))
		if err != nil {
			return
		}
		for _, v := range sums(p) {
			if v < 0 {
				t.Errorf("a sum is %d", v)
			}
		}
	})
}
