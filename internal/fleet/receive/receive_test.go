package receive

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/fleet/message"
	"github.com/hone-perf/hone/internal/fleet/token"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/store"
	"github.com/hone-perf/hone/internal/store/storetest"
)

var now = time.Date(2026, 9, 1, 10, 30, 0, 0, time.UTC)

// A bench is a server on a store, with tokens of two tenants.
type bench struct {
	t      *testing.T
	server *Server
	mux    *http.ServeMux
	store  *storetest.Memory
	clock  time.Time

	shop, other, reader string // tokens
}

func newBench(t *testing.T, edit func(*Options)) *bench {
	t.Helper()
	f, err := token.Open(filepath.Join(t.TempDir(), "tokens.json"))
	if err != nil {
		t.Fatal(err)
	}
	mk := func(name, tenant string, s token.Scope) string {
		secret, err := f.Make(token.Token{Name: name, Tenant: tenant, Scopes: []token.Scope{s}})
		if err != nil {
			t.Fatal(err)
		}
		return secret
	}
	b := &bench{t: t, mux: http.NewServeMux(), store: storetest.NewMemory(), clock: now}
	b.shop, b.other, b.reader = mk("shop", "shop", token.Write), mk("other", "other", token.Write), mk("reader", "shop", token.Read)
	b.store.Now = func() time.Time { return b.clock }
	opt := Options{Store: b.store, Gate: &token.Gate{Tokens: f}, Now: b.store.Now}
	if edit != nil {
		edit(&opt)
	}
	b.server = New(opt)
	b.server.Register(b.mux)
	return b
}

// withLimits changes the limits of all tenants.
func withLimits(edit func(*Limits)) func(*Options) {
	return func(o *Options) {
		l := DefaultLimits
		edit(&l)
		o.Limits = func(string) Limits { return l }
	}
}

// A call is a request to be made.
type call struct {
	path   string
	token  string
	kind   string // Content-Type
	body   []byte
	header map[string]string
}

func (b *bench) do(c call) *httptest.ResponseRecorder {
	b.t.Helper()
	r := httptest.NewRequest("POST", "http://hone.example"+c.path, bytes.NewReader(c.body))
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	if c.kind != "" {
		r.Header.Set("Content-Type", c.kind)
	}
	for k, v := range c.header {
		r.Header.Set(k, v)
	}
	w := httptest.NewRecorder()
	b.mux.ServeHTTP(w, r)
	return w
}

func (b *bench) ok(c call) string {
	b.t.Helper()
	w := b.do(c)
	if w.Code != http.StatusOK {
		b.t.Fatalf("%s: %d %s", c.path, w.Code, w.Body)
	}
	return w.Body.String()
}

// entries returns what a tenant has, as text.
func (b *bench) entries(tenant string) (lines []string) {
	b.t.Helper()
	all, _, err := b.store.Entries(context.Background(), store.Query{Tenant: tenant, To: b.clock.Add(time.Hour)}, 1000)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, e := range all {
		// Builds are what the store itself finds in profiles.
		labels := slices.DeleteFunc(e.Labels, func(l store.Label) bool { return l.Name == store.BuildLabel })
		line := fmt.Sprintf("%s %s %s %s", e.Service, e.Kind, labels, e.Start.UTC().Format(time.RFC3339))
		for i, t := range e.Types {
			line += fmt.Sprintf(" %s/%s=%d", t.Type, t.Unit, e.Totals[i])
		}
		if e.Counters {
			line += " counters"
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return lines
}

func (b *bench) wantEntries(tenant string, want ...string) {
	b.t.Helper()
	slices.Sort(want)
	if got := b.entries(tenant); !slices.Equal(got, want) {
		b.t.Errorf("%s has\n%s\nwant\n%s", tenant, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// profiles of each kind.
func upload(t testing.TB, kind string) *store.Upload {
	t.Helper()
	f := storetest.Small()
	f.Start = now
	var out *store.Upload
	f.Uploads(func(u *store.Upload) bool {
		if u.Kind == kind {
			out = u
		}
		return out == nil
	})
	return out
}

func gz(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// form is a body of several parts.
func form(t testing.TB, parts ...string) (kind string, data []byte) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for i := 0; i < len(parts); i += 2 {
		p, err := w.CreateFormFile(parts[i], parts[i])
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(p, parts[i+1])
	}
	w.Close()
	return w.FormDataContentType(), b.Bytes()
}

const at = "&from=1788258600&until=1788258610" // now and ten seconds later

func TestIngest(t *testing.T) {
	b := newBench(t, nil)
	folded := []byte("main;serve;read 3\nmain;serve 2\n")
	b.ok(call{path: "/ingest?name=api.cpu{version=v2,pod=p1}&sampleRate=100" + at, token: b.shop, body: folded})
	b.ok(call{path: "/ingest?name=lines&format=lines&sampleRate=50" + at, token: b.shop, body: []byte("main;a\nmain;b\n\nmain;a\n")})
	b.ok(call{path: "/ingest?name=gzipped.alloc_space&format=folded" + at, token: b.shop, body: gz(t, folded), header: map[string]string{"Content-Encoding": "gzip"}})
	b.ok(call{path: "/ingest?name=dotted.name&format=folded" + at, token: b.shop, body: folded})
	b.ok(call{path: "/ingest?name=empty&format=pprof" + at, token: b.shop})
	b.wantEntries("shop",
		`api cpu {pod="p1",version="v2"} 2026-09-01T10:30:00Z cpu/nanoseconds=50000000`,
		`lines cpu {} 2026-09-01T10:30:00Z cpu/nanoseconds=60000000`,
		`gzipped heap {} 2026-09-01T10:30:00Z alloc_space/bytes=5`,
		`dotted.name cpu {} 2026-09-01T10:30:00Z cpu/nanoseconds=50000000`,
	)
	series, err := b.store.Series(context.Background(), store.Query{Tenant: "shop", To: now.Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(series[0].Labels); got != `{version="v2"}` {
		t.Errorf("the labels of the series are %s; pod belongs to the row", got)
	}
}

// TestIngestClock holds that the end of a profile is held against the clock as its beginning is.
func TestIngestClock(t *testing.T) {
	b := newBench(t, nil)
	folded := []byte("main;serve;read 3\n")
	for name, until := range map[string]time.Duration{"day": 24 * time.Hour, "minute": time.Minute} {
		b.ok(call{path: fmt.Sprintf("/ingest?name=%s.cpu&from=%d&until=%d", name, now.Add(-10*time.Second).Unix(), now.Add(until).Unix()), token: b.shop, body: folded})
	}
	ahead := now.Add(24 * time.Hour).Unix()
	b.ok(call{path: fmt.Sprintf("/ingest?name=both.cpu&from=%d&until=%d", ahead, ahead+10), token: b.shop, body: folded})
	for name, want := range map[string]struct {
		start time.Time
		took  time.Duration
	}{"day": {now, 0}, "minute": {now.Add(-10 * time.Second), 70 * time.Second}, "both": {now, 10 * time.Second}} {
		got, err := b.store.Merge(context.Background(), store.Query{Tenant: "shop", Selector: store.Service(name), Kind: "cpu", To: now.Add(time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		if h := got.Profile.Header; !got.First.Equal(want.start) || h.TimeNanos != want.start.UnixNano() || h.DurationNanos != int64(want.took) {
			t.Errorf("%s: %v, in the profile %v and %v, want %v and %v", name, got.First, time.Unix(0, h.TimeNanos).UTC(), time.Duration(h.DurationNanos), want.start, want.took)
		}
	}
	w := b.do(call{path: fmt.Sprintf("/ingest?name=back.cpu&from=%d&until=%d", now.Unix(), now.Unix()-1), token: b.shop, body: folded})
	if w.Code != 400 || !strings.Contains(w.Body.String(), "until is before from") {
		t.Errorf("an end before the beginning: %d %s", w.Code, w.Body)
	}
}

func TestIngestProfiles(t *testing.T) {
	b := newBench(t, nil)
	cpu, heap, mutex := upload(t, "cpu"), upload(t, "heap"), upload(t, "mutex")
	b.ok(call{path: "/ingest?name=raw&format=pprof" + at, token: b.shop, body: cpu.Raw})
	b.ok(call{path: "/ingest?name=sniffed" + at, token: b.shop, body: heap.Raw})
	kind, data := form(t, "profile", string(mutex.Raw), "sample_type_config", `{"contentions":{"display-name":"block_count","units":"lock_samples"},"delay":null}`)
	b.ok(call{path: "/ingest?name=form{__session_id__=s1,__private__=x,empty=}" + at, token: b.shop, kind: kind, body: data})
	kind, data = form(t, "profile", string(mutex.Raw))
	b.ok(call{path: "/ingest?name=plainform" + at, token: b.shop, kind: kind, body: data, header: map[string]string{"Authorization": basic(b.shop)}})
	b.wantEntries("shop",
		"raw cpu {} 2026-09-01T10:30:00Z"+totals(t, cpu),
		"sniffed heap {} 2026-09-01T10:30:00Z"+totals(t, heap), // the SDKs send what was allocated since the last time
		`form block {__session_id__="s1"} 2026-09-01T10:30:00Z`+totals(t, mutex),
		"plainform mutex {} 2026-09-01T10:30:00Z"+totals(t, mutex),
	)
	kind, data = form(t, "profile", string(mutex.Raw), "prev_profile", string(mutex.Raw))
	w := b.do(call{path: "/ingest?name=old" + at, token: b.shop, kind: kind, body: data})
	if w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), "unsupported client version") {
		t.Errorf("a previous profile: %d %s", w.Code, w.Body)
	}
}

func basic(secret string) string {
	r := httptest.NewRequest("GET", "/", nil)
	r.SetBasicAuth("anybody", secret)
	return r.Header.Get("Authorization")
}

func totals(t testing.TB, u *store.Upload) (text string) {
	t.Helper()
	p, err := profile.ParseBytes(u.Raw)
	if err != nil {
		t.Fatal(err)
	}
	for k, typ := range p.SampleTypes {
		sum := int64(0)
		for _, v := range p.Values(k) {
			sum += v
		}
		text += fmt.Sprintf(" %s/%s=%d", typ.Type, typ.Unit, sum)
	}
	return text
}

// pushOf is what Alloy sends for an upload.
func pushOf(u *store.Upload, name string, more ...labelPair) *pushRequest {
	s := rawSeries{Labels: append([]labelPair{{"__name__", name}, {"service_name", u.Service}}, more...), Samples: []rawSample{{Raw: u.Raw, ID: "x"}}}
	for _, l := range u.Labels.With(u.Row) {
		s.Labels = append(s.Labels, labelPair(l))
	}
	return &pushRequest{[]rawSeries{s}}
}

func TestPush(t *testing.T) {
	b := newBench(t, nil)
	const path = "/push.v1.PusherService/Push"
	cpu, heap, mutex := upload(t, "cpu"), upload(t, "heap"), upload(t, "mutex")
	if got := b.ok(call{path: path, token: b.shop, kind: "application/proto", body: message.Marshal(pushOf(cpu, "process_cpu"))}); got != "" {
		t.Errorf("the answer is %q", got)
	}
	if got := b.ok(call{path: path, token: b.shop, kind: "application/json; charset=utf-8", body: message.MarshalJSON(pushOf(heap, "memory"))}); got != "{}" {
		t.Errorf("the answer is %q", got)
	}
	b.ok(call{path: path, token: b.shop, kind: "application/proto", body: gz(t, message.Marshal(pushOf(mutex, "mutex", labelPair{"__delta__", "false"}))),
		header: map[string]string{"Content-Encoding": "gzip", "Connect-Protocol-Version": "1"}})
	b.ok(call{path: path, token: b.shop, kind: "application/proto", body: message.Marshal(pushOf(heap, "godeltaprof_memory", labelPair{"__delta__", "false"}, labelPair{"delta", "yes"}))})
	b.ok(call{path: path, token: b.shop, kind: "application/proto"})
	row := `instance="10.0.0.0:80",version="v0"} 2026-09-01T10:30:00Z`
	b.wantEntries("shop",
		"service-0 cpu {"+row+totals(t, cpu),
		"service-0 heap {"+row+totals(t, heap)+" counters",
		"service-0 mutex {"+row+totals(t, mutex),
		`service-0 heap {delta="yes",`+row+totals(t, heap),
	)
}

func TestPushErrors(t *testing.T) {
	b := newBench(t, nil)
	const path = "/push.v1.PusherService/Push"
	good := message.Marshal(pushOf(upload(t, "cpu"), "process_cpu"))
	tests := []struct {
		c            call
		status       int
		code, within string
	}{
		{call{path: path, kind: "application/grpc", body: good}, 415, "unimplemented", "application/proto"},
		{call{path: path, kind: "application/proto", body: []byte("x")}, 400, "invalid_argument", "not a valid message"},
		{call{path: path, kind: "application/json", body: []byte(`{"series":1}`)}, 400, "invalid_argument", "series"},
		{call{path: path, kind: "application/json", body: []byte(`{"series":[{"samples":[{}]}]}`)}, 400, "invalid_argument", "no profile"},
		{call{path: path, kind: "application/json", body: []byte(`{"series":[{"samples":[{"rawProfile":"AAAA"}]}]}`)}, 400, "invalid_argument", "no service"},
		{call{path: path, kind: "application/json", body: []byte(`{"series":[{"labels":[{"name":"service_name","value":"a"}],"samples":[{"rawProfile":"AAAA"}]}]}`)}, 400, "invalid_argument", "unrecognized"},
		{call{path: path, kind: "application/proto", body: good, header: map[string]string{"Content-Encoding": "br"}}, 415, "unimplemented", "gzip"},
		{call{path: path, kind: "application/proto", body: good, header: map[string]string{"Content-Encoding": "gzip"}}, 400, "invalid_argument", "unpacking"},
		{call{path: path, kind: "application/proto", body: good, header: map[string]string{"Connect-Protocol-Version": "2"}}, 400, "invalid_argument", "version"},
		{call{path: "/push.v1.PusherService/Pull", kind: "application/proto"}, 501, "unimplemented", "Push"},
	}
	for _, tt := range tests {
		tt.c.token = b.shop
		w := b.do(tt.c)
		var e struct{ Code, Message string }
		if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || w.Code != tt.status || e.Code != tt.code || !strings.Contains(e.Message, tt.within) {
			t.Errorf("%s %.60s: %d %s, %v; want %d %s with %q", tt.c.kind, tt.c.body, w.Code, w.Body, err, tt.status, tt.code, tt.within)
		}
	}
	b.wantEntries("shop")
}

func TestPlain(t *testing.T) {
	b := newBench(t, nil)
	cpu, heap := upload(t, "cpu"), upload(t, "heap")
	got := b.ok(call{path: "/api/v1/profiles?service=api&label=version=v2&label=pod=a%3Db", token: b.shop, body: cpu.Raw})
	var answer struct{ Profiles []keptProfile }
	if err := json.Unmarshal([]byte(got), &answer); err != nil || len(answer.Profiles) != 1 || answer.Profiles[0].Kind != "cpu" || answer.Profiles[0].Repeated {
		t.Fatalf("the answer is %s, %v", got, err)
	}
	if id, err := store.ParseID(answer.Profiles[0].ID); err != nil {
		t.Error(err)
	} else if _, _, raw, err := b.store.Profile(context.Background(), store.Query{Tenant: "shop", To: now.Add(time.Hour)}, id); err != nil || !bytes.Equal(raw, cpu.Raw) {
		t.Errorf("the profile of the answer has %d bytes, %v", len(raw), err)
	}
	b.ok(call{path: "/api/v1/profiles?service=api&kind=allocs", token: b.shop, body: heap.Raw})
	b.ok(call{path: "/api/v1/profiles?service=api&kind=heap&delta=true", token: b.shop, body: heap.Raw})
	b.ok(call{path: "/api/v1/profiles?service=text&kind=jobs&from=2026-09-01T10:30:00Z", token: b.shop, body: []byte("a;b 7\n")})
	b.wantEntries("shop",
		`api cpu {pod="a=b",version="v2"} 2026-09-01T10:30:00Z`+totals(t, cpu),
		"api heap {} 2026-09-01T10:30:00Z"+totals(t, heap)+" counters",
		"api heap {} 2026-09-01T10:30:00Z"+totals(t, heap),
		"text jobs {} 2026-09-01T10:30:00Z samples/count=7",
	)
	for query, within := range map[string]string{
		"":                               "service=NAME",
		"service=a&servce=b":             "the keys are service",
		"service=a&service=b":            "2 times",
		"service=a&label=x":              "label=version=v2",
		"service=a&label==x":             "label=version=v2",
		"service=a&label=__name__=x":     "label=version=v2",
		"service=a&label=service_name=x": "service=NAME",
		"service=a&label=a%7Bb=x":        "not a label name",
		"service=a&label=x=%00":          "control characters",
		"service=%ff":                    "control characters",
		"service=a&from=yesterday":       "not a time",
		"service=a&kind=../x":            "not a kind",
		"service=a&delta=perhaps":        "true or false",
		"service=a&label=x=1&label=x=2":  "the label x is given more than once",
		"service=a&from=2026-09-01T10:30:00Z&until=2026-09-01T10:29:00Z": "until is before from",
		"service=" + strings.Repeat("x", 2000):                           "label-value-length",
	} {
		w := b.do(call{path: "/api/v1/profiles?" + query, token: b.shop, body: cpu.Raw})
		var f failure
		if err := json.Unmarshal(w.Body.Bytes(), &f); err != nil || w.Code/100 != 4 || !strings.Contains(f.Error, within) {
			t.Errorf("%.60s: %d %s; want %q", query, w.Code, w.Body, within)
		}
	}
	for _, c := range []struct{ kind, of, within string }{
		{"heap", "cpu", "the profile is of kind cpu, not heap: its sample types are samples, cpu"},
		{"memory", "cpu", "of kind cpu, not heap"},
		{"cpu", "heap", "of kind heap, not cpu"},
		{"goroutine", "mutex", "of kind mutex or block, not goroutine"},
	} {
		if w := b.do(call{path: "/api/v1/profiles?service=a&kind=" + c.kind, token: b.shop, body: upload(t, c.of).Raw}); w.Code != 400 || !strings.Contains(w.Body.String(), c.within) {
			t.Errorf("a profile of kind %s as %s: %d %s, want %q", c.of, c.kind, w.Code, w.Body, c.within)
		}
	}
	for _, kind := range []string{"", "&kind=cpu", "&kind=jobs"} {
		raw := []byte{0x32, 0, 0x48, 1} // an empty string and a time
		if w := b.do(call{path: "/api/v1/profiles?service=a" + kind, token: b.shop, body: raw}); w.Code != 400 || !strings.Contains(w.Body.String(), "the profile has no sample types") {
			t.Errorf("a profile without sample types%s: %d %s", kind, w.Code, w.Body)
		}
	}
	if w := b.do(call{path: "/api/v1/profiles?service=+", token: b.shop, body: upload(t, "cpu").Raw}); w.Code != 400 || !strings.Contains(w.Body.String(), "has no service") {
		t.Errorf("a service without a name: %d %s", w.Code, w.Body)
	}
	if w := b.do(call{path: "/api/v1/profiles?service=a", token: b.shop, body: upload(t, "mutex").Raw}); w.Code != 400 || !strings.Contains(w.Body.String(), "kind=block") {
		t.Errorf("a profile of locks or of blocking: %d %s", w.Code, w.Body)
	}
}

// TestRoutes holds that nothing is kept without the right token, on any route.
func TestRoutes(t *testing.T) {
	b := newBench(t, nil)
	cpu := upload(t, "cpu")
	routes := []call{
		{path: "/ingest?name=a&format=pprof", body: cpu.Raw},
		{path: "/push.v1.PusherService/Push", kind: "application/proto", body: message.Marshal(pushOf(cpu, "process_cpu"))},
		{path: "/push.v1.PusherService/Push", kind: "application/json", body: message.MarshalJSON(pushOf(cpu, "process_cpu"))},
		{path: "/push.v1.PusherService/Other", kind: "application/json", body: []byte("{}")},
		{path: "/api/v1/profiles?service=a", body: cpu.Raw},
		{path: otlpPath, kind: "application/x-protobuf", body: message.Marshal(export())},
		{path: otlpPath, kind: "application/json", body: []byte("{}")},
	}
	for _, c := range routes {
		for _, tt := range []struct {
			name, token string
			header      map[string]string
			status      int
		}{
			{"no token", "", nil, 401},
			{"no such token", b.shop + "x", nil, 401},
			{"a token that reads", b.reader, nil, 403},
			{"another page", b.shop, map[string]string{"Origin": "http://evil.example"}, 403},
			{"another site", b.shop, map[string]string{"Sec-Fetch-Site": "cross-site"}, 403},
		} {
			c.token, c.header = tt.token, tt.header
			w := b.do(c)
			if w.Code != tt.status {
				t.Errorf("%s with %s: %d %s; want %d", c.path, tt.name, w.Code, w.Body, tt.status)
			}
			if tt.status == 401 && w.Header().Get("WWW-Authenticate") == "" {
				t.Errorf("%s with %s: no WWW-Authenticate", c.path, tt.name)
			}
		}
		r := httptest.NewRequest("GET", "http://hone.example"+c.path, nil)
		r.Header.Set("Authorization", "Bearer "+b.shop)
		w := httptest.NewRecorder()
		if b.mux.ServeHTTP(w, r); w.Code != http.StatusMethodNotAllowed {
			t.Errorf("GET %s: %d", c.path, w.Code)
		}
	}
	b.wantEntries("shop")
	b.wantEntries(token.DefaultTenant)

	// What one tenant sends, no header makes another's.
	b.ok(call{path: "/ingest?name=a&format=pprof" + at, token: b.other, body: cpu.Raw, header: map[string]string{token.TenantHeader: "shop"}})
	b.wantEntries("shop")
	if len(b.entries("other")) != 1 {
		t.Errorf("other has %q", b.entries("other"))
	}
}

// TestOpen holds that a server without tokens answers those on this machine, and no names that others made point here.
func TestOpen(t *testing.T) {
	f, err := token.Open(filepath.Join(t.TempDir(), "none.json"))
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, func(o *Options) { o.Gate = &token.Gate{Tokens: f} })
	for host, want := range map[string]int{"localhost:4040": 200, "127.0.0.1:4040": 200, "[::1]:4040": 200, "rebound.example:4040": 403, "": 403} {
		for _, c := range []call{
			{path: "/ingest?name=a&format=pprof" + at, body: upload(t, "cpu").Raw},
			{path: "/push.v1.PusherService/Push", kind: "application/proto", body: message.Marshal(pushOf(upload(t, "cpu"), "process_cpu"))},
			{path: "/api/v1/profiles?service=b" + at, body: upload(t, "cpu").Raw},
			{path: otlpPath, kind: "application/x-protobuf", body: message.Marshal(export())},
		} {
			r := httptest.NewRequest("POST", c.path, bytes.NewReader(c.body))
			r.Host = host
			r.Header.Set("Content-Type", c.kind)
			r.Header.Set(token.TenantHeader, "shop")
			w := httptest.NewRecorder()
			if b.mux.ServeHTTP(w, r); w.Code != want {
				t.Errorf("%s at %q: %d %s", c.path, host, w.Code, w.Body)
			}
		}
	}
	b.wantEntries("shop")
	if n := len(b.entries(token.DefaultTenant)); n != 5 {
		t.Errorf("%d profiles are kept; want 5", n)
	}
}

// TestPathNames holds that names are data, whatever they look like.
func TestPathNames(t *testing.T) {
	b := newBench(t, nil)
	for _, name := range []string{"../../etc/passwd", "/abs", "..", "C:\\x", "a%2f..", "<script>alert(1)</script>", "ünï"} {
		b.ok(call{path: "/api/v1/profiles?service=" + url.QueryEscape(name) + "&label=dir=" + url.QueryEscape(name) + at, token: b.shop, body: upload(t, "cpu").Raw})
		got, _, err := b.store.Values(context.Background(), store.Query{Tenant: "shop", To: now.Add(time.Hour)}, store.ServiceLabel, name, 10)
		if err != nil || !slices.Contains(got, name) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// TestFleet holds that what a fleet pushes is in the store to the last unit, however often it is sent.
func TestFleet(t *testing.T) {
	b := newBench(t, withLimits(func(l *Limits) { l.Rate = 0 }))
	b.clock = now.Add(time.Hour)
	want := storetest.NewMemory()
	want.Now = b.store.Now
	f := storetest.Small()
	f.Start = now
	names := map[string]string{"cpu": "process_cpu", "heap": "memory", "goroutine": "goroutine", "mutex": "mutex"}
	for _, u := range f.All() {
		direct := *u
		direct.Start, direct.End = time.Time{}, time.Time{} // as the profile says
		// A profile of locks that is asked for without a time counts since the process began.
		direct.Counters = u.Kind == "heap" || u.Kind == "mutex"
		if _, err := want.Add(context.Background(), "shop", []*store.Upload{&direct}); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			b.ok(call{path: "/push.v1.PusherService/Push", token: b.shop, kind: "application/proto", body: message.Marshal(pushOf(u, names[u.Kind]))})
		}
	}
	for _, kind := range f.Kinds {
		for _, fold := range []store.Fold{store.Natural, store.Sum} {
			q := store.Query{Tenant: "shop", Kind: kind, From: now, To: now.Add(time.Hour), Fold: fold}
			got, err := b.store.Merge(context.Background(), q)
			if err != nil {
				t.Fatal(err)
			}
			exp, err := want.Merge(context.Background(), q)
			if err != nil {
				t.Fatal(err)
			}
			if got.Profiles != exp.Profiles || got.Streams != exp.Streams || storetest.Dump(got.Profile) != storetest.Dump(exp.Profile) {
				t.Errorf("%s: %d profiles of %d streams; want %d of %d, and the same samples", kind, got.Profiles, got.Streams, exp.Profiles, exp.Streams)
			}
		}
	}
}

func TestRetry(t *testing.T) {
	b := newBench(t, nil)
	b.ok(call{path: "/ingest?name=api.cpu" + at, token: b.shop, body: []byte("a;b 1\n")})
	before := b.entries("shop")
	b.ok(call{path: "/ingest?name=api.cpu" + at, token: b.shop, body: []byte("a;b 1\n")})
	b.wantEntries("shop", before...)
	cpu := upload(t, "cpu")
	for i := range 2 {
		got := b.ok(call{path: "/api/v1/profiles?service=x", token: b.shop, body: cpu.Raw})
		if strings.Contains(got, `"repeated":true`) != (i == 1) {
			t.Errorf("time %d: %s", i, got)
		}
	}
}

func TestLimits(t *testing.T) {
	cpu := upload(t, "cpu")
	plain := call{path: "/api/v1/profiles?service=a&label=x=longvalue&label=y=1", body: cpu.Raw}
	tests := []struct {
		limit  string
		edit   func(*Limits)
		c      call
		status int
	}{
		{"profile-size", func(l *Limits) { l.Bytes = 100 }, plain, 413},
		{"profile-size-unpacked", func(l *Limits) { l.Unpacked = 1000 }, plain, 413},
		{limitSamples, func(l *Limits) { l.Samples = 3 }, plain, 422},
		{limitDepth, func(l *Limits) { l.Depth = 2 }, plain, 422},
		{limitLabels, func(l *Limits) { l.Labels = 1 }, plain, 422},
		{limitName, func(l *Limits) { l.Name = 3 }, call{path: "/api/v1/profiles?service=a&label=long=x", body: cpu.Raw}, 422},
		{limitValue, func(l *Limits) { l.Value = 3 }, plain, 422},
		{limitLine, func(*Limits) {}, call{path: "/api/v1/profiles?service=a", body: []byte("heap profile: " + strings.Repeat("1", 100<<10))}, 422},
		{limitLine, func(*Limits) {}, call{path: "/api/v1/profiles?service=a", body: []byte("goroutine profile: total 1\n1 @ 0x1 0x2\n#" + strings.Repeat("x", 100<<10))}, 422},
		{limitRate, func(l *Limits) { l.Rate, l.Burst = 1, 1; l.Series = 1 }, plain, 429},
		{limitSeries, func(l *Limits) { l.Series = 1 }, call{path: "/api/v1/profiles?service=b", body: cpu.Raw}, 429},
	}
	for _, tt := range tests {
		b := newBench(t, withLimits(tt.edit))
		tt.c.token = b.shop
		if tt.status == 429 { // the first one is fine
			b.ok(call{path: plain.path, token: b.shop, body: cpu.Raw})
		}
		w := b.do(tt.c)
		var f failure
		if err := json.Unmarshal(w.Body.Bytes(), &f); err != nil || w.Code != tt.status || f.Limit != tt.limit || !strings.Contains(f.Error, tt.limit) {
			t.Errorf("%s: %d %s", tt.limit, w.Code, w.Body)
		}
		if tt.status == 429 && w.Header().Get("Retry-After") == "" {
			t.Errorf("%s: no Retry-After", tt.limit)
		}
		// Others are not held back by what one tenant does.
		if tt.status == 429 {
			b.ok(call{path: plain.path, token: b.other, body: cpu.Raw})
		}
	}
}

// TestRate holds that what may come grows with time.
func TestRate(t *testing.T) {
	b := newBench(t, withLimits(func(l *Limits) { l.Rate, l.Burst = 1000, 1000 }))
	body := []byte(strings.Repeat("a", 996) + " 1\n")
	send := func() int {
		return b.do(call{path: "/ingest?name=a&format=folded" + at, token: b.shop, body: body}).Code
	}
	for i, want := range []int{200, 429, 429, 200} {
		if i == 2 {
			b.clock = b.clock.Add(time.Second / 2)
		}
		if i == 3 {
			b.clock = b.clock.Add(time.Second / 2)
		}
		if got := send(); got != want {
			t.Errorf("request %d: %d; want %d", i, got, want)
		}
	}
}

// TestAnnounced holds that a length that is announced and cannot be takes nothing from what may come.
func TestAnnounced(t *testing.T) {
	b := newBench(t, nil)
	r := httptest.NewRequest("POST", "http://hone.example/ingest?name=a&format=folded", strings.NewReader("a 1\n"))
	r.ContentLength = 1 << 62
	r.Header.Set("Authorization", "Bearer "+b.shop)
	w := httptest.NewRecorder()
	if b.mux.ServeHTTP(w, r); w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if room := b.server.tenant("shop").room; room != float64(DefaultLimits.Burst) {
		t.Errorf("%v bytes may come; want %d", room, DefaultLimits.Burst)
	}
}

// TestSeries holds what counts as a series, also for a server that starts anew, and that too many values become one.
func TestSeries(t *testing.T) {
	b := newBench(t, withLimits(func(l *Limits) { l.Series, l.Values = 6, 3 }))
	send := func(s *Server, query string) int {
		mux := http.NewServeMux()
		s.Register(mux)
		r := httptest.NewRequest("POST", "/api/v1/profiles?"+query+at, strings.NewReader("a;b 1\n"))
		r.Header.Set("Authorization", "Bearer "+b.shop)
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		return w.Code
	}
	for i := range 20 {
		if got := send(b.server, "service=a&kind=cpu&label=pod=p"+strconv.Itoa(i)+"&label=tag=t"+strconv.Itoa(i)); got != 200 {
			t.Fatalf("value %d: %d", i, got)
		}
	}
	values, _, err := b.store.Values(context.Background(), store.Query{Tenant: "shop", To: now.Add(time.Hour)}, "tag", "", 100)
	if err != nil || !slices.Equal(values, []string{Overflow, "t0", "t1", "t2"}) {
		t.Errorf("the values are %q, %v", values, err)
	}
	pods, _, err := b.store.Values(context.Background(), store.Query{Tenant: "shop", To: now.Add(time.Hour)}, "pod", "", 100)
	if err != nil || len(pods) != 20 {
		t.Errorf("there are %d pods, %v; want all 20", len(pods), err)
	}
	again := New(b.server.opt)
	for i, want := range []int{200, 200, 429} {
		if got := send(again, "service=b&kind=k"+strconv.Itoa(i)); got != want {
			t.Errorf("series %d of a new server: %d; want %d", i, got, want)
		}
	}
	if got := send(again, "service=a&kind=cpu&label=tag=t1"); got != 200 {
		t.Errorf("a series that is known: %d", got)
	}
	b.clock = b.clock.Add(25 * time.Hour)
	if got := send(again, "service=b&kind=k9"); got != 200 {
		t.Errorf("a day later: %d", got)
	}
}

func TestBombs(t *testing.T) {
	b := newBench(t, withLimits(func(l *Limits) { l.Unpacked = 1 << 20 }))
	bomb := gz(t, make([]byte, 16<<20))
	kind, data := form(t, "profile", string(bomb))
	push := message.Marshal(&pushRequest{[]rawSeries{{Labels: []labelPair{{"service_name", "a"}}, Samples: []rawSample{{Raw: bomb}}}}})
	packed := map[string]string{"Content-Encoding": "gzip"}
	for _, c := range []call{
		{path: "/api/v1/profiles?service=a", body: bomb},
		{path: "/api/v1/profiles?service=a", body: bomb, header: packed},
		{path: "/ingest?name=a&format=pprof", body: bomb},
		{path: "/ingest?name=a&format=folded", body: bomb},
		{path: "/ingest?name=a", body: bomb, header: packed},
		{path: "/ingest?name=a", kind: kind, body: data},
		{path: "/push.v1.PusherService/Push", kind: "application/proto", body: push},
		{path: "/push.v1.PusherService/Push", kind: "application/proto", body: bomb, header: packed},
		{path: "/push.v1.PusherService/Push", kind: "application/json", body: bomb, header: packed},
		{path: otlpPath, kind: "application/x-protobuf", body: bomb, header: packed},
	} {
		c.token = b.shop
		if w := b.do(c); w.Code != http.StatusRequestEntityTooLarge || !strings.Contains(w.Body.String(), "profile-size-unpacked") {
			t.Errorf("%s %v: %d %.200s", c.path, c.header, w.Code, w.Body)
		}
	}
	twice := gz(t, gz(t, []byte("a;b 1\n")))
	if w := b.do(call{path: "/api/v1/profiles?service=a&kind=cpu", token: b.shop, body: twice}); w.Code != 400 {
		t.Errorf("packed twice: %d %s", w.Code, w.Body)
	}
	// A profile of samples with nothing in them, within the limit of its size.
	full := newBench(t, nil)
	if w := full.do(call{path: "/api/v1/profiles?service=a", token: full.shop, body: gz(t, bytes.Repeat([]byte{0x12, 0x00}, 30<<20))}); w.Code != 413 || !strings.Contains(w.Body.String(), "entries") {
		t.Errorf("samples with nothing in them: %d %s", w.Code, w.Body)
	}
	// Entries without anything in them.
	empty := bytes.Repeat([]byte{0x0a, 0x00}, 400<<10)
	if w := b.do(call{path: "/push.v1.PusherService/Push", token: b.shop, kind: "application/proto", body: empty}); w.Code != 200 && w.Code != 400 {
		t.Errorf("empty entries: %d %s", w.Code, w.Body)
	}
	b.wantEntries("shop")
}

// TestSlowBodies holds that somebody who does not send what he announced is not waited for, and that only so many may try.
func TestSlowBodies(t *testing.T) {
	b := newBench(t, func(o *Options) {
		withLimits(func(l *Limits) { l.BodyTime, l.Bodies = 100*time.Millisecond, 2 })(o)
		o.BodyTime = 100 * time.Millisecond
	})
	srv := httptest.NewServer(b.mux)
	defer srv.Close()
	for path, want := range map[string]string{
		"/ingest?name=a":                  b.shop + " 408 body-time",
		"/api/v1/profiles?service=a":      b.shop + " 408 body-time",
		"/push.v1.PusherService/Push":     b.shop + " 408 body-time",
		"/ingest?name=refused":            "nobody 401 token",
		"/push.v1.PusherService/Push?a=b": "nobody 401 token",
	} {
		conn, err := net.Dial("tcp", srv.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		parts := strings.Fields(want)
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/proto\r\nContent-Length: 100\r\n\r\nmain;a",
			path, srv.Listener.Addr(), parts[0])
		answer, err := io.ReadAll(conn) // until the server has closed the connection
		if err != nil || !strings.Contains(string(answer), " "+parts[1]+" ") || !strings.Contains(string(answer), parts[2]) {
			t.Errorf("%s: the answer is %q, %v", path, answer, err)
		}
	}
	tenant := b.server.tenant("shop")
	for range 2 {
		if err := tenant.enter(); err != nil {
			t.Fatal(err)
		}
	}
	w := b.do(call{path: "/api/v1/profiles?service=a", token: b.shop, body: upload(t, "cpu").Raw})
	if w.Code != 429 || !strings.Contains(w.Body.String(), limitBodies) {
		t.Errorf("a third body: %d %s", w.Code, w.Body)
	}
	tenant.leave()
	b.ok(call{path: "/api/v1/profiles?service=a", token: b.shop, body: upload(t, "cpu").Raw})
}

// A full store takes nothing.
type full struct{ *storetest.Memory }

func (full) Add(context.Context, string, []*store.Upload) ([]store.Outcome, error) {
	return nil, fmt.Errorf("writing: %w", store.ErrFull)
}

func TestFull(t *testing.T) {
	var log bytes.Buffer
	b := newBench(t, func(o *Options) {
		o.Store, o.Log = full{storetest.NewMemory()}, slog.New(slog.NewTextHandler(&log, nil))
	})
	cpu := upload(t, "cpu")
	for _, c := range []call{
		{path: "/ingest?name=a&format=pprof", body: cpu.Raw},
		{path: "/push.v1.PusherService/Push", kind: "application/proto", body: message.Marshal(pushOf(cpu, "process_cpu"))},
		{path: "/api/v1/profiles?service=a", body: cpu.Raw},
		{path: otlpPath, kind: "application/x-protobuf", body: message.Marshal(export())},
	} {
		c.token = b.shop
		w := b.do(c)
		if w.Code != http.StatusInsufficientStorage || !strings.Contains(w.Body.String(), "full") || w.Header().Get("Retry-After") == "" {
			t.Errorf("%s: %d %s", c.path, w.Code, w.Body)
		}
	}
	if n := strings.Count(log.String(), "for want of room"); n != 1 {
		t.Errorf("the log says it %d times within a minute: %s", n, &log)
	}
}

func TestAppNames(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"app", "app []"},
		{" app {}", "app []"},
		{"app{a=b, c = d e }", "app [{a b} {c d e}]"},
		{"app{a=b", "app []"},
		{"app{a}", "app []"},
		{"app{a=b}x{c=d}", "app [{a b} {x{c d}]"},
		{"", "error"}, {"{a=b}", "error"}, {"app{=b}", "error"},
	} {
		name, labels, err := parseAppName(tt.in)
		got := fmt.Sprint(name, " ", labels)
		if err != nil {
			got = "error"
		}
		if got != tt.want {
			t.Errorf("parseAppName(%q) = %s; want %s", tt.in, got, tt.want)
		}
	}
}
