package scrape

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/store"
	"github.com/hone-perf/hone/internal/store/storetest"
)

// BenchmarkScrape asks for a profile of the usual size, reads it and hands it to nobody.
func BenchmarkScrape(b *testing.B) {
	var raw []byte
	storetest.Like117kB().Uploads(func(u *store.Upload) bool { raw = u.Raw; return false })
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write(raw) }))
	defer srv.Close()
	s := New(&Config{}, Options{Sink: func(context.Context, string, []*store.Upload) error { return nil }})
	j := mustParse(b, "scrape_configs: [{job_name: a, profiles: [heap]}]").Jobs[0]
	tg, err := j.target(set{addressLabel: strings.TrimPrefix(srv.URL, "http://")}, j.Profiles[0])
	if err != nil {
		b.Fatal(err)
	}
	t := &task{target: tg, s: s, client: s.newClient(HTTP{}, true)}
	defer t.client.close()
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		t.ask(b.Context())
		if t.state.Err != nil {
			b.Fatal(t.state.Err)
		}
		batch, _ := s.queue.batch(time.Now())
		s.queue.deliver(b.Context(), batch)
	}
}

// BenchmarkTargets says what memory a target takes while it waits for its turn.
func BenchmarkTargets(b *testing.B) {
	const n = 1000
	var config strings.Builder
	config.WriteString("scrape_configs:\n- job_name: a\n  scrape_interval: 1h\n  static_configs:\n  - labels: {version: v1, region: eu}\n    targets:\n")
	for i := range n {
		fmt.Fprintf(&config, "    - 127.0.0.1:%d\n", 1+i%1000)
	}
	cfg := mustParse(b, config.String())
	memory := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapInuse + m.StackInuse
	}
	for b.Loop() {
		before := memory()
		s := New(cfg, Options{})
		ctx, cancel := context.WithCancel(b.Context())
		done := make(chan struct{})
		go func() { defer close(done); s.Run(ctx) }()
		for len(s.Status().Targets) < n {
			time.Sleep(time.Millisecond)
		}
		b.ReportMetric(float64(memory()-before)/n, "B/target")
		cancel()
		<-done
	}
}
