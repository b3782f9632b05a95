package scrape

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hone-perf/hone/internal/store"
)

func zipped(t *testing.T, size int64, first ...byte) []byte {
	t.Helper()
	var b bytes.Buffer
	zw, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	zw.Write(first)
	zeros := make([]byte, 1<<20)
	for n := int64(0); n < size; n += int64(len(zeros)) {
		zw.Write(zeros)
	}
	zw.Close()
	return b.Bytes()
}

// TestHostile holds that nothing that a server sends takes more time or memory than is allowed, and that each case is told apart.
func TestHostile(t *testing.T) {
	good := fleet(1, 1)[0].next["heap"][0].Raw
	limits := store.DefaultLimits
	limits.Bytes = 64 << 10
	// A valid beginning of a profile, and then strings for ever.
	begin := append([]byte{0x0a, 4, 8, 1, 16, 2}, 0x32, 0)
	long := binaryString(1 << 20)
	cpu := fleet(1, 1)[0].next["cpu"][0].Raw
	tests := []struct {
		name   string
		answer http.HandlerFunc
		cause  Cause
		text   string
	}{
		{"slow headers", func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, CauseTimeout, "it took longer than scrape_timeout"},
		{"slow body", func(w http.ResponseWriter, r *http.Request) {
			for i := 0; r.Context().Err() == nil; i++ {
				w.Write(good[i%len(good) : i%len(good)+1])
				w.(http.Flusher).Flush()
				sleep(r.Context(), 100*time.Millisecond)
			}
		}, CauseTimeout, "it took longer than scrape_timeout"},
		{"endless body", func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 4096)); err != nil {
					return
				}
			}
		}, CauseSize, "the answer has more than 65536 bytes"},
		{"announced", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "9000000000000")
			w.Write(good)
		}, CauseSize, "the answer has more than 65536 bytes"},
		{"cut", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "60000")
			w.Write(good)
		}, CauseConnect, "the connection was closed before the answer was complete"},
		{"cut profile", func(w http.ResponseWriter, r *http.Request) { w.Write(good[:len(good)-20]) }, CauseFormat, ""},
		{"packed answer", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(zipped(t, 30<<20))
		}, CauseSize, "the answer has more than 65536 bytes"},
		{"zip bomb", func(w http.ResponseWriter, r *http.Request) { w.Write(zipped(t, 40<<20, begin...)) }, CauseSize, "uncompressed"},
		{"profile bomb", func(w http.ResponseWriter, r *http.Request) {
			var b bytes.Buffer
			zw := gzip.NewWriter(&b)
			zw.Write(begin)
			for range 4 {
				zw.Write(long)
			}
			zw.Close()
			w.Write(b.Bytes())
		}, CauseSize, "the profile has more than 524288 bytes uncompressed"},
		{"packed twice", func(w http.ResponseWriter, r *http.Request) {
			var b bytes.Buffer
			zw := gzip.NewWriter(&b)
			zw.Write(good)
			zw.Close()
			w.Write(b.Bytes())
		}, CauseFormat, "compressed twice"},
		{"web page", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "<html>log in, please 12\n</html>") }, CauseFormat, "the answer is text, not a profile"},
		{"another kind", func(w http.ResponseWriter, r *http.Request) { w.Write(cpu) }, CauseFormat, "the profile is of kind cpu, not heap: its sample types are samples, cpu"},
		{"no sample types", func(w http.ResponseWriter, r *http.Request) { w.Write([]byte{0x32, 0, 0x48, 1}) }, CauseFormat, "the profile has no sample types"},
		{"nothing", func(w http.ResponseWriter, r *http.Request) {}, CauseFormat, "the answer is empty"},
		{"noise", func(w http.ResponseWriter, r *http.Request) { w.Write([]byte{1, 2, 3, 4, 5, 250, 251}) }, CauseFormat, ""},
		{"elsewhere", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://other:80/", http.StatusFound)
		}, CauseRedirect, "to another host"},
		{"elsewhere on the host", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "http://a:81/", http.StatusFound) }, CauseRedirect, "to another host"},
		{"round and round", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path+"x", http.StatusFound) }, CauseRedirect, "more than 3 redirects"},
		{"odd scheme", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		}, CauseRedirect, "to another host"},
		{"markup", func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, "\x1b[31mno\x00 \n\n"+strings.Repeat("x", 5000), http.StatusServiceUnavailable)
		}, CauseStatus, "HTTP 503 Service Unavailable: [31mno xxx"},
		{"headers", func(w http.ResponseWriter, r *http.Request) { w.Header().Set("X", strings.Repeat("x", 100<<10)) }, CauseConnect, ""},
		{"the secret", func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, r.Header.Get("Authorization")+" "+r.URL.String()+strings.Repeat("y", 970)+r.Header.Get("Authorization"), http.StatusUnauthorized)
		}, CauseStatus, "HTTP 401 Unauthorized: Bearer"},
	}
	const config = `
scrape_configs:
- job_name: shop
  authorization: {credentials: t0psecret-t0psecret}
  params: {token: [par4mParam5secret]}
  profiles: [heap]
  static_configs: [{targets: ["a:80"]}]
`
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			simulate(t, config, Options{Limits: limits, Memory: 1 << 20}, func(b *bench) {
				asked := 0
				defer b.serve("other:80", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { asked++; w.Write(good) }))()
				defer b.serve("a:81", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { asked++; w.Write(good) }))()
				defer b.serve("a:80", tt.answer)()
				time.Sleep(2 * time.Minute)
				synctest.Wait()
				st := b.profile("a:80", "heap")
				if st.Err == nil || st.Err.Cause != tt.cause || !strings.Contains(st.Err.Error(), tt.text) || len(st.Err.Error()) > 300 {
					t.Errorf("status %+v", st)
				}
				if st.Err != nil && (strings.Contains(st.Err.Error(), "t0p") || strings.Contains(st.Err.Error(), "par4m")) {
					t.Errorf("the secret is shown: %v", st.Err)
				}
				if st.Took > 10*time.Second || asked > 0 || b.memory.Load() != 0 {
					t.Errorf("it took %s and %d bytes; %d requests went elsewhere", st.Took, b.memory.Load(), asked)
				}
			})
		})
	}
}

// binaryString returns a string table entry of profile.proto of so many bytes.
func binaryString(n int) []byte {
	b := []byte{0x32, byte(n&0x7f) | 0x80, byte(n>>7&0x7f) | 0x80, byte(n >> 14)}
	return append(b, bytes.Repeat([]byte{'s'}, n)...)
}

// TestRedirect holds that redirects within a host are followed, with who asks, unless they are not to be.
func TestRedirect(t *testing.T) {
	for follow, want := range map[string]Health{"true": Up, "false": Down} {
		config := "scrape_configs: [{job_name: shop, follow_redirects: " + follow + ", authorization: {credentials: x}, profiles: [heap], static_configs: [{targets: ['a:80']}]}]"
		simulate(t, config, Options{}, func(b *bench) {
			a := fleet(1, 3)[0]
			defer b.serve("a:80", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/debug/pprof/heap" {
					http.Redirect(w, r, "/moved/heap", http.StatusMovedPermanently)
					return
				}
				a.ServeHTTP(w, r)
			}))()
			time.Sleep(2 * time.Minute)
			if st := b.profile("a:80", "heap"); st.Health != want {
				t.Errorf("follow_redirects %s: %+v", follow, st)
			} else if want == Up && a.auth[0] != "Bearer x" {
				t.Errorf("asked with %q", a.auth)
			}
		})
	}
}

// TestMemory holds that many large answers at a time take no more memory than allowed, and that what does not fit is told.
func TestMemory(t *testing.T) {
	var config strings.Builder
	config.WriteString("scrape_configs:\n- job_name: shop\n  profiles: [heap]\n  relabel_configs: [{source_labels: [__address__], target_label: n}]\n  static_configs:\n  - targets:\n")
	for i := range 30 {
		fmt.Fprintf(&config, "    - h%d:80\n", i)
	}
	simulate(t, config.String(), Options{Memory: 512 << 10}, func(b *bench) {
		var most atomic.Int64
		for i := range 30 {
			defer b.serve(fmt.Sprintf("h%d:80", i), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				for range 20 {
					w.Write(bytes.Repeat([]byte{10}, 10<<10))
					sleep(r.Context(), 400*time.Millisecond)
					for now := b.memory.Load(); ; {
						was := most.Load()
						if now <= was || most.CompareAndSwap(was, now) {
							break
						}
					}
				}
			}))()
		}
		time.Sleep(3 * time.Minute)
		full := 0
		for _, tg := range b.Status().Targets {
			if e := tg.Profiles[0].Err; e != nil && e.Cause == CauseMemory {
				full++
			}
		}
		if most.Load() > 512<<10 || full == 0 {
			t.Errorf("%d bytes were taken; %d answers did not fit", most.Load(), full)
		}
	})
}

// TestWhoAsks holds that TLS, certificates of clients, passwords and tokens are as they are set, and that files are read when they are needed.
func TestWhoAsks(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return filepath.ToSlash(name)
	}
	var got string
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Get("Authorization")
		if len(r.TLS.PeerCertificates) > 0 {
			got += " with certificate"
		}
	}))
	srv.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	defer srv.Close()
	cert := srv.TLS.Certificates[0]
	key, err := pkcs8(cert)
	if err != nil {
		t.Fatal(err)
	}
	ca := file("ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Certificate[0]})))
	keyFile := file("key.pem", string(key))
	token := file("token", "from-a-file\n")
	other := file("other.pem", strings.Replace(string(key), "PRIVATE", "OTHER", 2))

	host := strings.TrimPrefix(srv.URL, "https://")
	tests := []struct{ config, want, err string }{
		{"tls_config: {ca_file: " + ca + "}", "", ""},
		{"tls_config: {insecure_skip_verify: true}", "", ""},
		{"tls_config: {}", "", "certificate"},
		{"tls_config: {ca_file: " + ca + ", server_name: elsewhere.test}", "", "elsewhere.test"},
		{"tls_config: {ca_file: " + ca + ", server_name: example.com, min_version: TLS13, cert_file: " + ca + ", key_file: " + keyFile + "}", " with certificate", ""},
		{"tls_config: {ca_file: " + dir + "/none.pem}", "", "none.pem"},
		{"tls_config: {ca_file: " + other + "}", "", "no certificate in ca or ca_file"},
		{"tls_config: {ca_file: " + ca + ", cert_file: " + ca + ", key_file: " + other + "}", "", "the certificate or its key cannot be used"},
		{"tls_config: {insecure_skip_verify: true}\n  basic_auth: {username: u, password: $HOME}", "Basic dTokSE9NRQ==", ""},
		{"tls_config: {insecure_skip_verify: true}\n  basic_auth: {username_file: " + token + ", password_file: " + token + "}", "Basic ZnJvbS1hLWZpbGU6ZnJvbS1hLWZpbGU=", ""},
		{"tls_config: {insecure_skip_verify: true}\n  authorization: {credentials: abc}", "Bearer abc", ""},
		{"tls_config: {insecure_skip_verify: true}\n  authorization: {type: Token, credentials_file: " + token + "}", "Token from-a-file", ""},
		{"tls_config: {insecure_skip_verify: true}\n  authorization: {credentials_file: " + keyFile + "}", "", "more than one line"},
		{"tls_config: {insecure_skip_verify: true}\n  authorization: {credentials_file: " + dir + "/none}", "", "none"},
	}
	for _, tt := range tests {
		got = ""
		cfg := mustParse(t, "scrape_configs:\n- job_name: a\n  scheme: https\n  "+tt.config)
		c := New(cfg, Options{}).newClient(cfg.Jobs[0].HTTP, true)
		u, _ := url.Parse("https://" + host + "/debug/pprof/heap")
		_, err := c.get(t.Context(), u, request{most: 100, reserve: func(int64) bool { return true }})
		c.close()
		if (err != nil) != (tt.err != "") || err != nil && !strings.Contains(err.Error(), tt.err) || got != tt.want {
			t.Errorf("%s\ngives %v and asks with %q; want %q and %q", tt.config, err, got, tt.err, tt.want)
		}
		var known *Error
		if err != nil && (!errors.As(err, &known) || known.Cause != CauseSecret && known.Cause != CauseConnect) {
			t.Errorf("%s\ngives %#v", tt.config, err)
		}
	}
	// A token that is replaced counts from the next request on.
	cfg := mustParse(t, "scrape_configs:\n- job_name: a\n  tls_config: {insecure_skip_verify: true}\n  authorization: {credentials_file: "+token+"}")
	c := New(cfg, Options{}).newClient(cfg.Jobs[0].HTTP, true)
	defer c.close()
	for _, now := range []string{"one", "two"} {
		file("token", now)
		u, _ := url.Parse("https://" + host + "/")
		if _, err := c.get(context.Background(), u, request{most: 100, reserve: func(int64) bool { return true }}); err != nil || got != "Bearer "+now {
			t.Errorf("asked with %q, %v", got, err)
		}
	}
}

// TestTarget holds how URLs, labels and services of targets come about.
func TestTarget(t *testing.T) {
	tests := []struct{ job, found, want string }{
		{"", `{"__address__": "a:1"}`, `http://a:1/debug/pprof/heap service=j {job="j"} {instance="a:1"}`},
		{"scheme: https\n  path_prefix: /x/", `{"__address__": "a"}`, `https://a/x/debug/pprof/heap service=j {job="j"} {instance="a"}`},
		{"params: {a: ['1', '2'], b: []}", `{"__address__": "a", "__param_a": "3", "__param_c": "x y"}`, `http://a/debug/pprof/heap?a=3&a=2&c=x+y service=j {job="j"} {instance="a"}`},
		{"", `{"__address__": "a", "job": "k", "service_name": "s", "pod": "p", "v": "1", "__meta_x": "y", "__tmp": "z"}`,
			`http://a/debug/pprof/heap service=s {job="k",v="1"} {instance="a",pod="p"}`},
		{"service_label: app\n  row_labels: [v]", `{"__address__": "a", "app": "s", "pod": "p", "v": "1"}`,
			`http://a/debug/pprof/heap service=s {instance="a",job="j",pod="p"} {v="1"}`},
		{"", `{"__address__": "a", "__scheme__": "https", "__profile_path_prefix__": "/p", "__profile_path__": "/q%2Fr"}`,
			`https://a/p/q%2Fr service=j {job="j"} {instance="a"}`},
		{"relabel_configs: [{source_labels: [__name__], target_label: kind}, {target_label: __address__, replacement: b:2}]", `{"__address__": "a", "instance": "i"}`,
			`http://b:2/debug/pprof/heap service=j {job="j",kind="heap"} {instance="i"}`},
		{"relabel_configs: [{source_labels: [__name__], regex: heap, action: drop}]", `{"__address__": "a"}`, "error: dropped"},
		{"", `{}`, "error: a target has no address"},
		{"", `{"__address__": "http://u:p@a/"}`, "error: a target is host:port, not a URL; use scheme, path_prefix, params and basic_auth for the rest"},
		{"", `{"__address__": "a:b:c"}`, "error: a target is host:port, such as 10.0.0.7:6060, api:6060 or [::1]:6060"},
		{"", `{"__address__": "a", "__scheme__": "file"}`, `error: the scheme "file" is neither http nor https`},
		{"", `{"__address__": "a", "__profile_path__": "/x?debug=1"}`, "error: a path has a ? or #; parameters are in params"},
		{"", `{"__address__": "a", "__scrape_interval__": "never"}`, `error: __scrape_interval__: "never" is not a time such as 30s, 1h30m or 7d`},
		{"", `{"__address__": "a", "__scrape_timeout__": "1d"}`, `error: __scrape_timeout__: 1d is not a time from 100ms to 10m`},
		{"relabel_configs: [{action: labeldrop, regex: job}]", `{"__address__": "a"}`, "error: a target has neither a label that names its service nor a job"},
	}
	for _, tt := range tests {
		j := mustParse(t, "scrape_configs:\n- job_name: j\n  profiles: [heap]\n  "+tt.job).Jobs[0]
		var found set
		if err := json.Unmarshal([]byte(tt.found), &found); err != nil {
			t.Fatal(err)
		}
		tg, err := j.target(found, j.Profiles[0])
		got := fmt.Sprintf("error: %v", err)
		if err == nil {
			got = fmt.Sprintf("%s service=%s %s %s", tg.url, tg.service, tg.labels, tg.row)
		}
		if got != tt.want {
			t.Errorf("%s with %s is\n%s, want\n%s", tt.found, tt.job, got, tt.want)
		}
	}
}

// pkcs8 returns the key of a certificate as PEM.
func pkcs8(cert tls.Certificate) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), err
}
