//go:build unix

package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/fleet/event"
)

// soon waits until something is so, and fails when it never is.
func soon(t *testing.T, s *served, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if is() {
			return
		}
	}
	t.Fatalf("never came: %s\n%s", what, s.err)
}

// TestServeRules follows a rule from the profile of a service to the recording that is taken because of it.
func TestServeRules(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	practice := httptest.NewServer(mux)
	defer practice.Close()

	type told struct {
		body   []byte
		header http.Header
	}
	calls := make(chan told, 100)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		calls <- told{body, r.Header}
	}))
	defer hook.Close()

	folder := t.TempDir()
	config := filepath.Join(folder, "hone.yaml")
	write := func(more string) {
		t.Helper()
		text := fmt.Sprintf(`scrape_configs:
  - job_name: shop
    scrape_interval: 1s
    profiles: {cpu: {seconds: 1, interval: 1h}, goroutine: {}, heap: {}}
    static_configs: [{targets: [%q], labels: {service_name: shop}}]
`, practice.Listener.Addr()) + more
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("")
	s := startServe(t, filepath.Join(folder, "data"), "--config", config)
	t.Setenv("HONE_STORE", s.url)
	soon(t, s, "a profile of goroutines", func() bool { return s.profiles(t, "shop@-1h")["shop goroutine"] > 0 })

	write(fmt.Sprintf(`
rules: [{name: leak, when: goroutines > 1, for: 0s}]
actions:
  - on: [rule leak]
    webhook: {url: %q, secret: between-us}
    pin: {}
    capture: {cpu: 1s, trace: 1s}
`, hook.URL))
	s.cmd.Process.Signal(syscall.SIGHUP)
	var got told
	select {
	case got = <-calls:
	case <-time.After(time.Minute):
		t.Fatalf("the webhook was not told\n%s", s.err)
	}
	mac := hmac.New(sha256.New, []byte("between-us"))
	fmt.Fprintf(mac, "%s.%s", got.header.Get("X-Hone-Time"), got.body)
	if want := "sha256=" + hex.EncodeToString(mac.Sum(nil)); got.header.Get("X-Hone-Signature") != want {
		t.Errorf("the signature is %q, want %q", got.header.Get("X-Hone-Signature"), want)
	}
	if !strings.Contains(string(got.body), `"began"`) || !strings.Contains(string(got.body), "leak") {
		t.Errorf("the webhook was told %s", got.body)
	}

	events := func() []event.Event {
		resp, err := http.Get(s.url + "/api/v1/events")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var out struct {
			Events []event.Event `json:"events"`
		}
		if err := json.NewDecoder(resp.Body).Decode(&out); err != nil {
			t.Fatal(err)
		}
		return out.Events
	}
	var recording string
	soon(t, s, "a pin and a capture", func() bool {
		pinned := false
		for _, e := range events() {
			pinned = pinned || e.Kind == event.Broken && e.Pin != ""
			if e.Kind == event.Captured {
				if e.Capture.Failed != "" {
					t.Fatalf("the capture failed: %s", e.Capture.Failed)
				}
				recording = e.Capture.Recording
			}
		}
		return pinned && recording != ""
	})
	link := s.url + "/shelf/" + recording
	if out := hone(t, "shelf"); !strings.Contains(out, recording) {
		t.Errorf("hone shelf has no %s:\n%s", recording, out)
	}
	if out := hone(t, "top", "--metric", "inuse_space", link); !strings.Contains(out, "inuse_space") {
		t.Errorf("hone top of the capture:\n%s", out)
	}

	// A broken file changes nothing, and is named.
	write("\nrules: [{name: leak, when: gorutines > 1}]\n")
	s.cmd.Process.Signal(syscall.SIGHUP)
	soon(t, s, "what is wrong with the file", func() bool {
		text := s.err.String()
		return strings.Contains(text, "the configuration stays as it was") && strings.Contains(text, "hone.yaml:7:") && strings.Contains(text, "goroutines")
	})
	for _, e := range events() {
		if e.Kind == event.Broken && !e.Ended.IsZero() {
			t.Error("the rule of the old file is gone")
		}
	}

	// A file without the rule ends its event, and limits of tenants hold at once.
	write("\nlimits: [{labels: 20}, {tenant: default, labels: 1}]\n")
	s.cmd.Process.Signal(syscall.SIGHUP)
	soon(t, s, "the end of the rule", func() bool {
		for _, e := range events() {
			if e.Kind == event.Broken && !e.Ended.IsZero() {
				return true
			}
		}
		return false
	})
	soon(t, s, "a refusal", func() bool {
		resp, err := http.Post(s.url+"/api/v1/profiles?service=x&kind=cpu&label=a=1&label=b=2", "", strings.NewReader("x"))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		return strings.Contains(string(text), "set labels under limits in the configuration of the server")
	})
	s.stop(t)
}

// TestHangUpWithoutConfig sends SIGHUP to a server that has no configuration: it goes on.
func TestHangUpWithoutConfig(t *testing.T) {
	s := startServe(t, t.TempDir())
	s.cmd.Process.Signal(syscall.SIGHUP)
	soon(t, s, "a warning", func() bool { return strings.Contains(s.err.String(), "there is no configuration to read again") })
	resp, err := http.Get(s.url + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	s.stop(t)
}
