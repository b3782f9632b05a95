package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/fleet/event"
	"github.com/hone-perf/hone/internal/fleet/rule"
	"github.com/hone-perf/hone/internal/fleet/scrape"
	"github.com/hone-perf/hone/internal/fleet/shelf"
	"github.com/hone-perf/hone/internal/fleet/token"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/render"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/store"
	"github.com/hone-perf/hone/internal/store/storetest"
)

// A bench is a server with tokens of two tenants, of which one has profiles.
type bench struct {
	*Server
	now     time.Time
	secrets map[string]string
	shared  string // ID of a recording on the shelf of the tenant that has profiles
}

func newBench(t *testing.T) *bench {
	t.Helper()
	f := storetest.Small()
	f.Services, f.Rounds = 1, 4
	now := f.Start.Add(10 * time.Minute)
	m := storetest.NewMemory()
	m.Now = func() time.Time { return now }
	tokens, err := token.Open(filepath.Join(t.TempDir(), "tokens.json"))
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{secrets: map[string]string{"none": "", "wrong": "hone_wrong"}}
	for name, of := range map[string]token.Token{
		"read":  {Tenant: "shop", Scopes: []token.Scope{token.Read}},
		"write": {Tenant: "shop", Scopes: []token.Scope{token.Write}},
		"other": {Tenant: "other", Scopes: []token.Scope{token.Read}},
		"admin": {Tenant: "other", Scopes: []token.Scope{token.Admin}},
	} {
		of.Name = name
		if b.secrets[name], err = tokens.Make(of); err != nil {
			t.Fatal(err)
		}
	}
	events, err := event.Open(filepath.Join(t.TempDir(), "events"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { events.Close() })
	if err := events.Add(event.Event{ID: "d", Tenant: "shop", Kind: event.Deployed, Service: "service-0", Time: now.Add(-time.Minute), Deploy: &event.Deploy{Version: "v9"}}); err != nil {
		t.Fatal(err)
	}
	shelf, err := shelf.Open(t.TempDir(), shelf.Options{Now: func() time.Time { return b.now }})
	if err != nil {
		t.Fatal(err)
	}
	b.Server = New(Options{Store: m, Shelf: shelf, Tokens: tokens, Events: events, Now: func() time.Time { return b.now }})
	b.now = now
	b.Rules = rule.New(nil, rule.Options{Store: m, Events: events, Now: b.Now})
	b.Pages = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec, err := b.Open(r.Context(), r.FormValue("ref"), false)
		if err != nil {
			http.Error(w, err.Error(), http.StatusNotFound)
			return
		}
		fmt.Fprintln(w, rec.Key(), rec.Metrics())
	})
	if _, err := b.Add(context.Background(), "shop", f.All()); err != nil {
		t.Fatal(err)
	}
	w := b.send(http.MethodPost, "/api/v1/shelf?name=service-0.hone&note=slow", b.get("/api/v1/recording?"+ref, "read").Body, "write")
	var made report.SharedRecording
	if err := json.Unmarshal(w.Body.Bytes(), &made); err != nil || w.Code != http.StatusOK {
		t.Fatalf("sharing a recording: %d %v", w.Code, w.Body)
	}
	b.shared = made.ID
	return b
}

func (b *bench) get(path, who string, header ...string) *httptest.ResponseRecorder {
	return b.send(http.MethodGet, path, nil, who, header...)
}

func (b *bench) send(method, path string, body io.Reader, who string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, body)
	if secret := b.secrets[who]; secret != "" {
		r.Header.Set("Authorization", "Bearer "+secret)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	b.ServeHTTP(w, r)
	return w
}

var page = "ref=" + url.QueryEscape(`store:service-0@-1h`)

var ref = "ref=" + url.QueryEscape(`service-0@-1h`)

// Lists without anything in them are lists.
func TestEmptyLists(t *testing.T) {
	b := newBench(t)
	for _, path := range []string{"/api/v1/series", "/api/v1/series?ref=nobody@-1h"} {
		if got := strings.TrimSpace(b.get(path, "other").Body.String()); got != "[]" {
			t.Errorf("%s of a tenant without profiles: %s, want []", path, got)
		}
	}
}

// Each route answers those who may read, about their own profiles.
func TestWhoMayAsk(t *testing.T) {
	b := newBench(t)
	for path, what := range map[string]struct {
		status int    // for the other tenant, who has no profiles
		shows  string // what an answer about the profiles has
	}{
		"/api/v1/recording?" + ref:        {http.StatusNotFound, "PK"},
		"/api/v1/profile?kind=cpu&" + ref: {http.StatusNotFound, "\x1f\x8b"},
		"/api/v1/series":                  {http.StatusOK, "service-0"},
		"/api/v1/series?" + ref:           {http.StatusOK, "service-0"},
		"/api/v1/services":                {http.StatusOK, "service-0"},
		"/api/v1/events":                  {http.StatusOK, "service-0"},
		"/api/v1/events?kind=deploy":      {http.StatusOK, "service-0"},
		"/api/v1/targets":                 {http.StatusOK, "{}"},
		"/api/v1/fleet/targets":           {http.StatusOK, `"none":true`},
		"/api/v1/fleet/services?time=-1h": {http.StatusOK, "service-0"},
		"/api/v1/fleet/graph?" + ref:      {http.StatusOK, `"share":1`},
		"/api/v1/fleet/labels?" + ref:     {http.StatusOK, "instance"},
		"/api/v1/fleet/heat?" + ref:       {http.StatusOK, "profile_id"},
		"/api/v1/fleet/bases?" + ref:      {http.StatusOK, "the time before it"},
		"/metrics":                        {http.StatusOK, `hone_profiles_total{tenant="shop",outcome="stored"} 32`},
		"/?" + page:                       {http.StatusNotFound, "alloc_space"},
		"/flame?" + page:                  {http.StatusNotFound, "alloc_space"},
		"/api/v1/shelf":                   {http.StatusOK, "service-0"},
		"/shelf/" + b.shared + ".hone":    {http.StatusNotFound, "PK"},
	} {
		for who, status := range map[string]int{
			"none": http.StatusUnauthorized, "wrong": http.StatusUnauthorized, "write": http.StatusForbidden, "read": http.StatusOK, "other": what.status,
		} {
			w := b.get(path, who)
			if w.Code != status {
				t.Errorf("%s with token %s: %d %s, want %d", path, who, w.Code, w.Body, status)
			}
			shows := strings.Contains(w.Body.String(), what.shows)
			if who == "read" && !shows {
				t.Errorf("%s has no %q:\n%s", path, what.shows, w.Body)
			}
			if who == "other" && shows && what.status == http.StatusOK && strings.HasPrefix(path, "/api/v1/") && !strings.Contains(path, "targets") && !strings.Contains(path, "bases") {
				t.Errorf("%s shows profiles of another tenant", path)
			}
		}
		if w := b.get(path, "admin", token.TenantHeader, "shop"); w.Code != http.StatusOK {
			t.Errorf("%s for an admin: %d %s", path, w.Code, w.Body)
		}
		if w := b.get(path, "read", token.TenantHeader, "other"); w.Code == http.StatusOK && strings.Contains(path, "recording") && w.Body.Len() == 0 {
			t.Errorf("%s heeds a tenant that its token is not of", path)
		}
		if w := b.get(path, "read", "Origin", "http://evil.example"); w.Code != http.StatusForbidden {
			t.Errorf("%s for the page of another site: %d", path, w.Code)
		}
	}
}

// TestMetricsOfFullStore counts what a full store does not take as refused.
func TestMetricsOfFullStore(t *testing.T) {
	tokens, err := token.Open(filepath.Join(t.TempDir(), "tokens.json"))
	if err != nil {
		t.Fatal(err)
	}
	s := New(Options{Store: fullStore{storetest.NewMemory()}, Tokens: tokens, Now: time.Now})
	for range 2 {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/api/v1/profiles?service=api&kind=cpu", strings.NewReader("main;work 1\n"))
		if s.ServeHTTP(w, r); w.Code != http.StatusInsufficientStorage {
			t.Fatalf("status %d: %s", w.Code, w.Body)
		}
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://127.0.0.1/metrics", nil))
	for _, want := range []string{`outcome="refused"} 2`, `outcome="failed"} 0`} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("no %s in\n%s", want, w.Body)
		}
	}
}

type fullStore struct{ store.Store }

func (fullStore) Add(context.Context, string, []*store.Upload) ([]store.Outcome, error) {
	return nil, fmt.Errorf("adding: %w", store.ErrFull)
}

// Prometheus gets the counts of the tenant of a token, and those of all tenants and of the server with an admin token.
func TestMetricsOfTenants(t *testing.T) {
	b := newBench(t)
	const shop, server = `hone_profiles_total{tenant="shop",outcome="stored"} 32`, "hone_shelf_bytes "
	for _, test := range []struct {
		who    string
		header []string
		want   map[string]bool
	}{
		{"read", nil, map[string]bool{shop: true, server: false, `tenant="other"`: false}},
		{"other", nil, map[string]bool{shop: false, server: false}},
		{"admin", nil, map[string]bool{shop: true, server: true}},
		{"admin", []string{token.TenantHeader, "empty"}, map[string]bool{shop: false, server: false, `tenant="empty"`: true}},
	} {
		got := b.get("/metrics", test.who, test.header...).Body.String()
		for text, want := range test.want {
			if strings.Contains(got, text) != want {
				t.Errorf("%s %v: %q is there: %v\n%s", test.who, test.header, text, !want, got)
			}
		}
	}
}

// A reader sees the scrape targets of its tenant only, and an admin those of all tenants.
func TestTargetsOfTenants(t *testing.T) {
	b := newBench(t)
	config, err := scrape.Parse("serve.yml", []byte(`
scrape_configs:
  - {job_name: ours, tenant: shop, static_configs: [{targets: ["10.0.0.1:6060"]}]}
  - {job_name: theirs, tenant: other, static_configs: [{targets: ["10.0.0.2:6060"]}]}
`))
	if err != nil {
		t.Fatal(err)
	}
	refuse := func(context.Context, string, []*store.Upload) error { return errors.New("nothing is stored here") }
	b.Scraper = scrape.New(config, scrape.Options{Sink: refuse, Tenant: token.DefaultTenant})
	var running sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	running.Go(func() { b.Scraper.Run(ctx) })
	defer running.Wait()
	defer stop()
	for len(b.Scraper.Status().Targets) < 2 {
		time.Sleep(time.Millisecond)
	}
	for _, test := range []struct {
		who    string
		header []string
		want   string
	}{
		{"read", nil, "ours 10.0.0.1"},
		{"read", []string{token.TenantHeader, "other"}, "ours 10.0.0.1"},
		{"other", nil, "theirs 10.0.0.2"},
		{"admin", nil, "ours theirs 10.0.0.1 10.0.0.2 delivery"},
		{"admin", []string{token.TenantHeader, "shop"}, "ours 10.0.0.1"},
		{"admin", []string{token.TenantHeader, "empty"}, ""},
	} {
		got := b.get("/api/v1/targets", test.who, test.header...).Body.String()
		var shown []string
		for _, word := range []string{"ours", "theirs", "10.0.0.1", "10.0.0.2", "delivery"} {
			if strings.Contains(got, word) {
				shown = append(shown, word)
			}
		}
		if strings.Join(shown, " ") != test.want {
			t.Errorf("%s %v is shown %q, want %q:\n%s", test.who, test.header, shown, test.want, got)
		}
	}
}

func TestWrongQuestions(t *testing.T) {
	b := newBench(t)
	for path, want := range map[string]string{
		"/api/v1/recording": "names no service",
		"/api/v1/recording?ref=" + url.QueryEscape("a{"): "a selector looks like",
		"/api/v1/profile?ref=service-0@lately":           "not a time",
		"/api/v1/profile?kind=nothing&" + ref:            "there is no nothing profile of service-0",
		"/api/v1/services?last=often":                    "want a time such as 1h",
		"/api/v1/fleet/services?time=often":              "not a time",
		"/api/v1/fleet/services?time=0001-01-01":         "longer than five years",
		"/api/v1/fleet/graph?ref=":                       "names no service",
		"/api/v1/fleet/graph?of=money&" + ref:            "unknown measure",
		"/api/v1/fleet/labels?ref=a{":                    "a selector looks like",
		"/api/v1/fleet/heat?ref=a@now..-1h":              "ends before it begins",
		"/api/v1/fleet/heat?of=allocated&" + ref:         "a heat map shows single profiles",
		"/api/v1/events?last=often":                      "want a time such as 1h",
		"/api/v1/events?from=often":                      "want a time such as -1h",
		"/api/v1/events?from=2026":                       "such as -1h or 2026-09-01T14:30Z",
		"/api/v1/events?from=-1h&to=-2h":                 "the time ends before it begins",
		"/api/v1/events?kinds=oom":                       "unknown key \"kinds\"; the keys are service, kind,",
		"/api/v1/names?lable=version":                    "unknown key \"lable\"; the keys are service, label,",
		"/api/v1/events?kind=deploy,often":               "want some of change, deploy",
		"/api/v1/events?limit=1001":                      "want a number from 1 to 1000",
	} {
		w := b.get(path, "read")
		if w.Code != http.StatusBadRequest && w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s, want %q", path, w.Code, w.Body, want)
		}
	}
	if got := b.get("/api/v1/fleet/heat?"+ref, "read").Body.String(); !strings.Contains(got, `"name":"live"`) || strings.Contains(got, `"name":"allocated"`) {
		t.Errorf("a heat map has these measures: %.300s", got)
	}
	for asked, want := range map[string]string{
		"": "cores", "metric=cpu": "cores", "metric=heap": "live", "metric=inuse_objects": "live", "metric=allocs": "allocated", "metric=heap:alloc_objects": "allocated",
		"metric=goroutine": "goroutines", "metric=mutex:delay": "cores", "metric=heap&of=goroutines": "goroutines",
	} {
		if got := b.get("/api/v1/fleet/graph?"+asked+"&"+ref, "read").Body.String(); !strings.Contains(got, `"of":"`+want+`"`) {
			t.Errorf("%s shows over time %.300s, want %s", asked, got, want)
		}
	}
}

// What pages look at stays the same while it is looked at, and is never that of another tenant.
func TestOpen(t *testing.T) {
	b := newBench(t)
	key := func(who, ref string) string {
		return strings.TrimSpace(b.get("/?ref="+url.QueryEscape(ref), who).Body.String())
	}
	first := key("read", "store:service-0@-1h")
	if !strings.Contains(first, "heap:alloc_space") || key("read", "store:service-0@-1h") != first {
		t.Errorf("the same ref was opened twice: %s", first)
	}
	if got := key("other", "store:service-0@-1h"); !strings.Contains(got, "there is no service service-0") {
		t.Errorf("another tenant sees %s", got)
	}
	for _, ref := range []string{"service-0@-1h", "/etc/passwd", "store:", ""} {
		if got := key("read", ref); !strings.Contains(got, "names no") && !strings.Contains(got, "is not a store ref") {
			t.Errorf("%q is %s", ref, got)
		}
	}
	b.now = b.now.Add(fresh + time.Second)
	second := key("read", "store:service-0@-1h")
	if second == first {
		t.Error("what ends now was not made anew")
	}

	entries, _, err := b.Store.Entries(context.Background(), store.Query{Tenant: "shop", Selector: store.Service("service-0"), Kind: "cpu", From: b.now.Add(-time.Hour), To: b.now}, 1)
	if err != nil || len(entries) != 1 {
		t.Fatal(entries, err)
	}
	one := fmt.Sprintf("store:service-0{%s=%q}@-1h", store.ProfileLabel, entries[0].ID)
	if got := key("read", one); !strings.Contains(got, "[cpu cpu:samples]") {
		t.Errorf("one profile is %s", got)
	}
	if got := key("other", one); !strings.Contains(got, "no profile of service-0 has the ID") {
		t.Errorf("another tenant sees one profile: %s", got)
	}
	if got := key("read", fmt.Sprintf("store:service-0{%s=%q}@-1h", store.ProfileLabel, "../1")); !strings.Contains(got, store.ProfileLabel) {
		t.Errorf("a wrong ID is %s", got)
	}
	if w := b.get("/api/v1/recording?ref="+url.QueryEscape(strings.TrimPrefix(one, "store:")), "read"); w.Code != http.StatusOK {
		t.Errorf("a recording of one profile: %d %s", w.Code, w.Body)
	}
}

// A recording on the shelf is looked at by those whose it is, until it is deleted.
func TestOpenShared(t *testing.T) {
	b := newBench(t)
	page := "/?ref=shelf:" + b.shared
	first := b.get(page, "read").Body.String()
	if !strings.Contains(first, "heap:alloc_space") || b.get(page, "read").Body.String() != first {
		t.Errorf("the recording is %s", first)
	}
	another := page[:len(page)-1] + "a"
	if another == page {
		another = page[:len(page)-1] + "b"
	}
	for who, path := range map[string]string{"other": page, "read": another} {
		if got := b.get(path, who).Body.String(); !strings.Contains(got, "no such recording") {
			t.Errorf("%s for %s: %s", path, who, got)
		}
	}
	if w := b.send(http.MethodDelete, "/api/v1/shelf/"+b.shared, nil, "write"); w.Code != http.StatusOK {
		t.Fatal(w.Body)
	}
	if got := b.get(page, "read").Body.String(); !strings.Contains(got, "no such recording") {
		t.Errorf("once it is deleted it is %s", got)
	}
}

// A link on another page leads to a page, and to nothing else.
func TestLinks(t *testing.T) {
	b := newBench(t)
	link := []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}
	if w := b.get("/flame?"+page, "read", link...); w.Code != http.StatusOK {
		t.Errorf("a link to a page: %d %s", w.Code, w.Body)
	}
	for _, path := range []string{"/api/v1/series", "/api/session", "/download/pprof?" + page} {
		if w := b.get(path, "read", link...); w.Code != http.StatusForbidden {
			t.Errorf("a link to %s: %d", path, w.Code)
		}
	}
	frame := append(link[:4:4], "Sec-Fetch-Dest", "iframe")
	if w := b.get("/flame?"+page, "read", frame...); w.Code != http.StatusForbidden {
		t.Errorf("a page within another: %d", w.Code)
	}
}

// Events are asked for by service, kind and time.
func TestEvents(t *testing.T) {
	b := newBench(t)
	for _, e := range []event.Event{
		{ID: "1", Kind: event.Restarted, Service: "service-0", Time: b.Now().Add(-2 * time.Hour)},
		{ID: "2", Kind: event.Killed, Service: "web", Time: b.Now().Add(-time.Minute)},
		{ID: "3", Kind: event.Broken, Service: "web", Time: b.Now().Add(-30 * time.Hour)},
	} {
		e.Tenant = "shop"
		if err := b.Events.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	for query, want := range map[string]string{
		"":                                "2 d 1",
		"service=web":                     "2",
		"kind=deploy,restart":             "d 1",
		"kind=deploy&kind=restart":        "d 1",
		"last=2d":                         "2 d 1 3",
		"from=-3h&to=-1h":                 "1",
		"from=2026-08-31T00:00:00Z":       "2 d 1 3",
		"last=2d&limit=2":                 "2 d …",
		"service=service-0&kind=oom,rule": "",
	} {
		w := b.get("/api/v1/events?"+query, "read")
		var got Happened
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatalf("%s: %v\n%s", query, err, w.Body)
		}
		var ids []string
		for _, e := range got.Events {
			ids = append(ids, e.ID)
		}
		if got.More {
			ids = append(ids, "…")
		}
		if all := strings.Join(ids, " "); all != want {
			t.Errorf("%q: %q, want %q", query, all, want)
		}
	}
}

// A list of events has the rules of the tenant that cannot fire, unless it is of other kinds or of another service.
func TestRulesWithoutData(t *testing.T) {
	b := newBench(t)
	name := filepath.Join(t.TempDir(), "hone.yml")
	const config = `rules: [{name: typo, tenant: shop, service: servise-0, when: cores > 1}, {name: foreign, tenant: other, service: web, when: cores > 1}, {name: good, tenant: shop, service: service-0, when: cores > 1000}]`
	if err := os.WriteFile(name, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	_, rules, err := rule.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	b.Rules = rule.New(rules, rule.Options{Store: b.Store, Events: b.Events, Now: b.Now})
	var running sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	running.Go(func() { b.Rules.Run(ctx) })
	defer running.Wait()
	defer stop()
	for len(b.Rules.WithoutData("shop")) == 0 || len(b.Rules.WithoutData("other")) == 0 {
		time.Sleep(time.Millisecond)
	}
	const shown = "note: rule typo cannot fire: no data for service servise-0 (did you mean service-0?); known services are service-0"
	for path, want := range map[string]bool{
		"/api/v1/events": true, "/api/v1/events?kind=rule": true, "/api/v1/events?kind=deploy": false, "/api/v1/events?service=service-0": false,
	} {
		w := b.get(path, "read")
		var got Happened
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatalf("%s: %v in %s", path, err, w.Body)
		}
		var text bytes.Buffer
		if err := render.Text(&text, got.Report(), render.Options{}); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(text.String(), shown) != want || strings.Contains(text.String(), "foreign") {
			t.Errorf("%s shows that rule: %v\n%s", path, !want, &text)
		}
		var table bytes.Buffer
		if err := render.Write(&table, "csv", got.Report(), render.Options{}); err != nil || strings.Contains(table.String(), "typo") {
			t.Errorf("%s in CSV has more than events: %v\n%s", path, err, &table)
		}
	}
	if got := b.get("/api/v1/events", "other").Body.String(); strings.Contains(got, "typo") || !strings.Contains(got, "foreign") {
		t.Errorf("the other tenant is shown %s", got)
	}
}

// Those who may write can tell of events, of their own tenant.
func TestTold(t *testing.T) {
	b := newBench(t)
	post := func(who, body string, header ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, "/api/v1/events", strings.NewReader(body))
		if secret := b.secrets[who]; secret != "" {
			r.Header.Set("Authorization", "Bearer "+secret)
		}
		for i := 0; i+1 < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		b.ServeHTTP(w, r)
		return w
	}
	const oom = `{"kind":"oom","service":"told","labels":{"instance":"a:1"}}`
	b.now = b.now.Add(42*time.Second + 7) // what was sent in this minute belongs to it
	for who, status := range map[string]int{
		"none": http.StatusUnauthorized, "wrong": http.StatusUnauthorized, "read": http.StatusForbidden, "other": http.StatusForbidden, "write": http.StatusOK,
	} {
		if w := post(who, oom); w.Code != status {
			t.Errorf("with token %s: %d %s, want %d", who, w.Code, w.Body, status)
		}
	}
	if w := post("write", oom, "Origin", "http://evil.example"); w.Code != http.StatusForbidden {
		t.Errorf("for the page of another site: %d", w.Code)
	}
	if w := b.get("/api/v1/events", "read"); strings.Count(w.Body.String(), `"told"`) != 1 || !strings.Contains(w.Body.String(), `"labels":{"instance":"a:1"}`) {
		t.Errorf("sent again, it is there again, or not at all, or its labels are not as they were sent: %s", w.Body)
	}
	if w := b.get("/api/v1/events", "other"); strings.Contains(w.Body.String(), "told") {
		t.Errorf("another tenant sees it: %s", w.Body)
	}
	if w := b.get("/api/v1/events", "read"); !strings.Contains(w.Body.String(), `"time":"`+b.now.UTC().Format(time.RFC3339Nano)+`"`) {
		t.Errorf("the time is not %s: %s", b.now, w.Body)
	}
	pins, err := b.Store.Pins(context.Background(), "shop")
	if err == nil && len(pins) == 1 && !pins[0].Query.To.Equal(b.now) {
		t.Errorf("the pin ends at %s, want %s", pins[0].Query.To, b.now)
	}
	if err != nil || len(pins) != 1 || !strings.Contains(pins[0].Query.Selector.String(), `instance="a:1"`) {
		t.Errorf("pins: %v %v", pins, err)
	}
	for body, want := range map[string]string{
		``:   "the body is empty; an event looks like",
		`{`:  "the body ends before its JSON does; an event looks like",
		`[]`: "the body is not an event but a JSON array; an event looks like",
		`{"kind":"deploy","service":"a","version":5}`:                                    "version cannot be a JSON number; an event looks like",
		`{"kind":"oom","service":"api"}{"kind":"oom"}`:                                   "send one event at a time",
		`{"kind":"change","service":"api"}`:                                              `kind "change": want deploy, restart or oom`,
		`{"kind":"oom"}`:                                                                 "name the service of the event",
		`{"kind":"oom","service":"a\u0000"}`:                                             "want one line of UTF-8",
		`{"kind":"oom","service":"a","who":1}`:                                           `unknown field "who"`,
		`{"kind":"deploy","service":"a"}`:                                                "a deploy needs a version or a build",
		`{"kind":"oom","service":"a","time":"2020-01-01T00:00:00Z"}`:                     "want one of the last seven days",
		`{"kind":"oom","service":"` + strings.Repeat("a", 2000) + `"}`:                   "at most 1024 bytes",
		`{"kind":"oom","service":"` + strings.Repeat("a", 100_000) + `"}`:                "at most 16384 bytes",
		`{"kind":"oom","service":"a","labels":{"` + strings.Repeat("n", 200) + `":"v"}}`: "at most 128 bytes",
	} {
		if w := post("write", body); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%.60s: %d %s, want %q", body, w.Code, w.Body, want)
		}
	}
}

// Processes that are asked every ten minutes are all counted, also where a time would be cut into shorter steps.
func TestLowScrapeRate(t *testing.T) {
	b := newBench(t)
	f := storetest.Small()
	f.Services, f.Instances, f.Every, f.Rounds, f.Deploy, f.Kinds = 1, 4, 10*time.Minute, 13, 0, []string{"cpu", "goroutine"}
	f.Start = b.now.Add(-2 * time.Hour)
	uploads := f.All()
	for i, u := range uploads {
		apart := time.Duration(i%(f.Instances*len(f.Kinds))/len(f.Kinds)) * 2 * time.Minute // one after the other
		u.Service, u.Start, u.End = "seldom", u.Start.Add(apart), u.End.Add(apart)
	}
	if _, err := b.Add(t.Context(), "shop", uploads); err != nil {
		t.Fatal(err)
	}
	var graph report.FleetGraph
	if err := json.Unmarshal(b.get("/api/v1/fleet/graph?ref=seldom@-2h&of=goroutines", "read").Body.Bytes(), &graph); err != nil {
		t.Fatal(err)
	}
	step := time.Duration(graph.Step) * time.Millisecond
	if n := len(graph.Lines[0].Points); step > time.Minute || n < int(2*time.Hour/step) {
		t.Errorf("the chart has %d steps of %v, want all minutes", n, step)
	}
	var services report.FleetServices
	if err := json.Unmarshal(b.get("/api/v1/fleet/services?time=-2h", "read").Body.Bytes(), &services); err != nil {
		t.Fatal(err)
	}
	for _, s := range services.Services {
		if s.Service == "seldom" && s.Processes != float64(f.Instances) {
			t.Errorf("the page counts %v processes, want %d", s.Processes, f.Instances)
		}
	}
	at, err := store.ParseRef("seldom@-1h", b.now)
	if err != nil {
		t.Fatal(err)
	}
	out, err := b.selected(t.Context(), store.Query{Tenant: "shop", Selector: at.Selector, From: at.From, To: at.To})
	if err != nil {
		t.Fatal(err)
	}
	if n := out.manifest.Fleet["cpu"].Processes; math.Abs(n-float64(f.Instances)) > 0.5 {
		t.Errorf("the recording counts %v processes, want %d", n, f.Instances)
	}
}

// Means of services are those of all profiles, however many of them each step has, and the same when another service makes the steps longer.
func TestServicesMeans(t *testing.T) {
	b := newBench(t)
	heap := func(service, instance string, ago time.Duration, allocated, live int64) {
		t.Helper()
		p := profile.NewBuilder(profile.Header{SampleTypes: []profile.ValueType{{Type: "alloc_space", Unit: "bytes"}, {Type: "inuse_space", Unit: "bytes"}}})
		p.Add(nil, 0, []int64{allocated, live})
		made, err := p.Profile()
		if err != nil {
			t.Fatal(err)
		}
		var raw bytes.Buffer
		if err := made.Write(&raw); err != nil {
			t.Fatal(err)
		}
		at := b.now.Add(-ago)
		u := &store.Upload{Service: service, Kind: "heap", Row: store.NewLabels(store.Label{Name: "instance", Value: instance}), Start: at, End: at, Counters: true, Raw: raw.Bytes()}
		if service == "deltas" {
			u.Counters, u.End = false, at.Add(10*time.Second)
		}
		out, err := b.Add(t.Context(), "shop", []*store.Upload{u})
		if err != nil || out[0].Err != nil {
			t.Fatal(err, out[0].Err)
		}
	}
	// The server's clock is three seconds past the minute: the first profile is alone in its step.
	for i := range 6 {
		live := int64(29e6)
		if i == 0 {
			live = 5e6
		}
		heap("uneven", "a", time.Duration(47-8*(i-1))*time.Second+12*time.Second, int64(i)*8e6, live)
	}
	// One process takes the place of another in one step.
	for i := range 4 {
		instance := "a"
		if i >= 2 {
			instance = "b"
		}
		heap("replaced", instance, time.Duration(50-10*i)*time.Second, int64(i%2)*10e6, 7e6)
	}
	// A client sends what was allocated since its previous profile, and says since when.
	for i := range 4 {
		heap("deltas", "a", time.Duration(50-10*i)*time.Second, 10e6, 7e6)
	}
	for i := range 20 { // two processes without labels of their own
		heap("same", "", time.Duration(50-2*i)*time.Second, int64(5-4*(i%2))*1e6+int64(i), 7e6)
	}
	check := func(when string) {
		t.Helper()
		var costs Costs
		if err := json.Unmarshal(b.get("/api/v1/services", "read").Body.Bytes(), &costs); err != nil {
			t.Fatal(err)
		}
		want := map[string]report.ServiceRow{"uneven": {Live: 25e6, Allocated: 1e6, Processes: 1}, "replaced": {Live: 7e6, Allocated: 1e6, Processes: 1},
			"deltas": {Live: 7e6, Allocated: 1e6, Processes: 1}}
		for _, r := range costs.Report().Rows {
			if w, ok := want[r.Service]; ok && (r.Live != w.Live || math.Abs(r.Allocated-w.Allocated) > 1 || r.Processes != w.Processes) {
				t.Errorf("%s, %s has %d bytes in use, %v allocated/s, %v processes; want %d, %v and %v", when, r.Service, r.Live, r.Allocated, r.Processes, w.Live, w.Allocated, w.Processes)
			}
			delete(want, r.Service)
		}
		if len(want) > 0 {
			t.Errorf("%s, these services are missing: %v", when, want)
		}
		for _, service := range []string{"uneven", "replaced", "same"} {
			at, err := store.ParseRef(service+"@-1h", b.now)
			if err != nil {
				t.Fatal(err)
			}
			out, err := b.selected(t.Context(), store.Query{Tenant: "shop", Selector: at.Selector, From: at.From, To: at.To})
			if err != nil {
				t.Fatal(err)
			}
			if n := out.manifest.Fleet["heap"].Processes; n != 1 {
				t.Errorf("%s, the recording of %s counts %v processes, want 1", when, service, n)
			}
			if shared := out.manifest.Fleet["heap"].Shared; (shared != nil) != (service == "same") {
				t.Errorf("%s, several processes seem to send the profiles of %s: %v", when, service, shared)
			}
		}
	}
	check("at first")
	for i := range 6 {
		heap("other", "a", time.Duration(59-10*i)*time.Minute, 0, 1e6)
	}
	check("with profiles of another service")
}

// The page of services says that the first profiles are still being made, as hone services does.
func TestFill(t *testing.T) {
	tokens, err := token.Open(filepath.Join(t.TempDir(), "tokens.json"))
	if err != nil {
		t.Fatal(err)
	}
	s := New(Options{Store: storetest.NewMemory(), Tokens: tokens})
	for _, filling := range []bool{true, false} {
		s.Fill(filling)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/api/v1/fleet/services", nil))
		if got := strings.Contains(w.Body.String(), `"filling":true`); w.Code != 200 || got != filling {
			t.Errorf("filling: %t: %d %s", filling, w.Code, w.Body)
		}
	}
}

// A summed store has only the sum of a day.
type summed struct{ store.Store }

var theDay = store.Sums{From: time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2026, 9, 2, 0, 0, 0, 0, time.UTC), Step: 24 * time.Hour, Kept: 12 * time.Hour}

func (summed) Sums(context.Context, store.Query) (*store.Sums, error) { return &theDay, nil }

// An answer that is a sum of more than the time says so.
func TestNoteOfSums(t *testing.T) {
	b := newBench(t)
	b.Store = summed{b.Store}
	for _, c := range []struct {
		from, to time.Time
		noted    bool
	}{{theDay.From.Add(time.Hour), theDay.To.Add(time.Hour), true}, {theDay.From, theDay.To, false}} {
		out, err := b.selected(t.Context(), store.Query{Tenant: "shop", Selector: store.Service("service-0"), From: c.from, To: c.to})
		if err != nil {
			t.Fatal(err)
		}
		rec, _, err := recording.Made("store:service-0", out.manifest, out.profiles).Pick("", 0, 0)
		if err != nil || slices.Contains(rec.Profile.Notes, theDay.String()) != c.noted {
			t.Errorf("from %s to %s: the notes are %q, %v", c.from, c.to, rec.Profile.Notes, err)
		}
	}
}
