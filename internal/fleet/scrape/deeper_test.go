package scrape

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/store"
)

// A deeper look asks the process that is meant, and says what it could not get.
func TestDeeper(t *testing.T) {
	p := profile.NewBuilder(profile.Header{SampleTypes: []profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}})
	p.Add(nil, 0, []int64{1, 1e7})
	made, err := p.Profile()
	if err != nil {
		t.Fatal(err)
	}
	var raw bytes.Buffer
	if err := made.Write(&raw); err != nil {
		t.Fatal(err)
	}
	goroutines := fleet(1, 1)[0].next["goroutine"][0].Raw
	asked := make(chan string, 100)
	mux := http.NewServeMux()
	mux.HandleFunc("/p/debug/pprof/", func(w http.ResponseWriter, r *http.Request) {
		asked <- strings.TrimPrefix(r.URL.Path, "/p/debug/pprof/") + " " + r.FormValue("seconds") + r.FormValue("key") + " " + r.Header.Get("Authorization")
		switch {
		case strings.HasSuffix(r.URL.Path, "/trace"):
			io.WriteString(w, "go 1.26 trace\x00\x00\x00")
		case strings.HasSuffix(r.URL.Path, "/heap"):
			http.Error(w, "no", http.StatusForbidden)
		case strings.HasSuffix(r.URL.Path, "/goroutine"):
			w.Write(goroutines)
		default:
			w.Write(raw.Bytes())
		}
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	cfg, err := Parse("hone.yml", []byte(`
scrape_configs:
  - job_name: api
    scrape_interval: 1h
    path_prefix: /p
    params: {key: [x]}
    authorization: {credentials: secret}
    static_configs: [{targets: ["`+strings.TrimPrefix(server.URL, "http://")+`", "`+strings.TrimPrefix(other.URL, "http://")+`"], labels: {version: v1}}]
`))
	if err != nil {
		t.Fatal(err)
	}
	s := New(cfg, Options{Tenant: "t", Sink: func(context.Context, string, []*store.Upload) error { return nil }})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	defer func() { stop(); <-ended }()
	for len(s.Status().Targets) < 2 {
		time.Sleep(time.Millisecond)
	}
	if _, err := s.Deeper(ctx, Deeper{Tenant: "other", Service: "api", CPU: time.Second}); err == nil {
		t.Error("another tenant may look")
	}
	got, err := s.Deeper(ctx, Deeper{Tenant: "t", Service: "api", Instance: strings.TrimPrefix(server.URL, "http://"), CPU: 7 * time.Second, Trace: 2500 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]bool{}
	for _, p := range got.Parts {
		kinds[p.Kind] = true
		if (p.Upload == nil) != (p.Kind == TraceKind) || p.Upload != nil && (p.Upload.Service != "api" || p.Upload.Kind != p.Kind) {
			t.Errorf("%s: %+v", p.Kind, p.Upload)
		}
	}
	if len(got.Parts) != 3 || !kinds["cpu"] || !kinds["goroutine"] || !kinds[TraceKind] || got.Err == nil || !strings.Contains(got.Err.Error(), "heap: HTTP 403") {
		t.Errorf("%v, missing: %v", kinds, got.Err)
	}
	want := map[string]bool{"profile 7x Bearer secret": true, "trace 3x Bearer secret": true, "heap x Bearer secret": true, "goroutine x Bearer secret": true}
	for len(want) > 0 {
		delete(want, <-asked)
	}
	// The other one has nothing.
	if got, err := s.Deeper(ctx, Deeper{Tenant: "t", Service: "api", Instance: strings.TrimPrefix(other.URL, "http://"), CPU: time.Second, Trace: time.Second}); err == nil {
		t.Errorf("got %+v", got)
	}
	if n := s.memory.Load(); n != 0 {
		t.Errorf("%d bytes are still reserved", n)
	}
}
