package web_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/hone-perf/hone/internal/fleet"
	"github.com/hone-perf/hone/internal/fleet/shelf"
	"github.com/hone-perf/hone/internal/fleet/token"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/store"
	"github.com/hone-perf/hone/internal/store/storetest"
	"github.com/hone-perf/hone/internal/testrun"
	"github.com/hone-perf/hone/internal/web"
)

// What happened to service-0 of storetest.Small, and what is on the shelf.
const (
	someEvents = `{"events":[{"id":"1","tenant":"default","kind":"change","service":"service-0","time":"2026-09-01T10:02:03Z","noticed":"2026-09-01T10:04:00Z",
		"change":{"kind":"cpu","type":{"type":"cpu","unit":"nanoseconds"},"function":"<b>main.price</b>","source":"code","before":{"value":1e8,"low":9e7,"high":1.1e8,"profiles":5},
		"after":{"value":3e8,"low":2e8,"high":4e8,"profiles":5},"share":0.2,"version":"v1"}},
		{"id":"2","tenant":"default","kind":"oom","service":"service-0","time":"2026-09-01T10:03:03Z","noticed":"2026-09-01T10:04:00Z","process":{"instance":"10.0.0.1:80"}},
		{"id":"3","tenant":"default","kind":"rule","service":"service-0","time":"2026-09-01T10:03:30Z","noticed":"2026-09-01T10:04:00Z",
		"rule":{"name":"idle","metric":"cores","unit":"cores","value":0.084,"limit":0.001},"told":[{"to":"chat","failed":"status 404"}]},
		{"id":"5","tenant":"default","kind":"change","service":"service-2","time":"2026-09-01T10:02:03Z","noticed":"2026-09-01T10:04:00Z",
		"change":{"kind":"heap","type":{"type":"alloc_space","unit":"bytes"},"function":"main.load","source":"code","before":{"value":1048576,"low":1e6,"high":1.1e6,"profiles":5},
		"after":{"value":1572864,"low":1.5e6,"high":1.6e6,"profiles":5},"share":0.2}},
		{"id":"4","tenant":"default","kind":"deploy","service":"service-1","time":"2026-09-01T10:02:00Z","noticed":"2026-09-01T10:04:00Z","deploy":{"version":"v1"}}],"more":false,
		"rules_without_data":[{"rule":"typo","of":"servise","kind":"cpu","lacks":"service","name":"servise","text":"no data for service <b>servise"}]}`
)

// Targets that fail, and a job that has none.
const someTargets = `{"time":"2026-09-01T10:10:00Z","found":3,"failing":1,"targets":[{"job":"shop","service":"shop","address":"http://10.0.0.7:6060","kinds":["cpu","heap"],"all":true,
	"since":"2026-09-01T10:05:00Z","good":"2026-09-01T10:04:00Z","why":"<b>connection refused"}],"jobs":[{"job":"lost","source":"targets/*.json","why":"it has no targets"}]}`

// serveFleet serves a store with profiles of ten minutes, and returns its address. What change makes of them is stored.
func serveFleet(t *testing.T, tokens *token.File, change func(u *store.Upload) bool) string {
	t.Helper()
	testrun.Live(t, "goes through pages in a browser")
	f := storetest.Small()
	now := func() time.Time { return f.Start.Add(10 * time.Minute) }
	m := storetest.NewMemory()
	m.Now = now
	if tokens == nil {
		var err error
		if tokens, err = token.Open(filepath.Join(t.TempDir(), "tokens.json")); err != nil {
			t.Fatal(err)
		}
	}
	recordings, err := shelf.Open(t.TempDir(), shelf.Options{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	s := fleet.New(fleet.Options{Store: m, Shelf: recordings, Tokens: tokens, Now: now})
	s.Pages = web.OfStore(web.Options{Version: "test"}, s.Open)
	var all []*store.Upload
	for _, u := range f.All() {
		if change == nil || change(u) {
			all = append(all, u)
		}
	}
	if len(all) > 0 {
		if _, err := s.Add(context.Background(), token.DefaultTenant, all); err != nil {
			t.Fatal(err)
		}
	}
	made := httptest.NewRecorder()
	s.ServeHTTP(made, httptest.NewRequest("GET", "http://localhost/api/v1/recording?ref=service-0@-1h", nil))
	if made.Code == http.StatusOK {
		if _, err := recordings.Add(context.Background(), token.DefaultTenant, shelf.Meta{Name: "<i>slow.hone", Who: "ci"}, made.Body); err != nil {
			t.Fatal(err)
		}
	}
	mux := http.NewServeMux()
	mux.Handle("/", s)
	answer := func(pattern, text string) {
		mux.HandleFunc("GET "+pattern, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, text)
		})
	}
	answer("/api/v1/events", someEvents)
	answer("/api/v1/fleet/targets", someTargets)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

// query returns a key of the address of the page.
func (p *page) query(key string) string {
	p.t.Helper()
	return eval[string](p, fmt.Sprintf(`new URLSearchParams(location.search).get(%q) ?? ""`, key))
}

// What profiles do not count, such as resident memory, is shown over time as well, and the other views show their own metrics meanwhile.
func TestPageFleetMeasures(t *testing.T) {
	resident, err := profile.Parse(strings.NewReader("process 52428800\n"))
	if err != nil {
		t.Fatal(err)
	}
	resident.SampleTypes[0] = profile.ValueType{Type: "rss", Unit: "bytes"}
	var raw bytes.Buffer
	if err := resident.Write(&raw); err != nil {
		t.Fatal(err)
	}
	address := serveFleet(t, nil, func(u *store.Upload) bool {
		if u.Kind == recording.Goroutine {
			u.Kind, u.Raw = recording.Process, raw.Bytes()
		}
		return true
	})
	p := open(t, address+"/service?ref=store:service-0@-1h&metric=heap", 1280, 900)
	p.url = address
	p.visit("/service?ref=store:service-0@-1h&metric=heap")
	chosen := func() string { return p.text(`[aria-label="Measure"] [aria-pressed="true"]`) }
	if got := chosen(); got != "Live heap" {
		t.Errorf("with metric=heap, %q is shown", got)
	}
	p.click("button", "Resident memory")
	p.settled()
	if got := p.text(".legend-lines"); chosen() != "Resident memory" || !strings.Contains(got, "MB") {
		t.Errorf("%q is shown: %q", chosen(), got)
	}
	p.click(".ways a", "Heat map")
	p.wait(`location.pathname === "/heat"`)
	p.settled()
	if got := chosen(); got != "Live heap" {
		t.Errorf("the heat map shows %q", got)
	}
	p.click("button", "CPU")
	p.settled()
	if chosen() != "CPU" || p.query("metric") != "cpu" {
		t.Errorf("%q is shown, with metric=%s", chosen(), p.query("metric"))
	}
}

// Where processes are profiled for different parts of their time, the hottest functions have a note, as at the terminal.
func TestPageFleetUneven(t *testing.T) {
	n := 0
	address := serveFleet(t, nil, func(u *store.Upload) bool {
		if u.Kind != recording.CPU || u.Service != "service-0" || u.Row.Get("instance") != "10.0.0.0:80" {
			return true
		}
		n++
		return n%2 == 1
	})
	p := open(t, address+"/service?ref=store:service-0@-1h", 1280, 900)
	p.url = address
	p.visit("/service?ref=store:service-0@-1h")
	p.wait(`document.querySelector(".cards").innerText.includes("in all profiles")`)
	if got := p.text(".cards"); !strings.Contains(got, "but 10.0.0.0:80 of service-0 for 8.") {
		t.Errorf("the hottest functions are %q", got)
	}
	p.visit("/service?ref=store:service-1@-1h")
	p.wait(`document.querySelector(".cards").innerText.includes("in all profiles")`)
	if got := p.text(".cards"); strings.Contains(got, "times as much") {
		t.Errorf("of a service that is profiled evenly it says %q", got)
	}
}

// From all services to one, to a part of its time, to one version, and to what changed.
func TestPageFleet(t *testing.T) {
	address := serveFleet(t, nil, nil)
	p := open(t, address+"/", 1280, 900)
	p.url = address
	p.visit("/")
	if got := p.text(".services tbody"); !strings.Contains(got, "service-0") || !strings.Contains(got, "service-2") || !strings.Contains(got, "v0, v1") { // both ran in the last step
		t.Errorf("the services are %q", got)
	}
	if n := eval[int](p, `document.querySelectorAll(".spark path").length`); n != 12 {
		t.Errorf("there are %d sparklines, want four of each service", n)
	}
	p.wait(`document.querySelector(".targets") !== null`)
	if got := p.text(".targets"); !strings.Contains(got, "1 of 3 targets fails") || !strings.Contains(got, "http://10.0.0.7:6060\t<b>connection refused\tall\t5m\t6m ago") || !strings.Contains(got, "job lost, targets/*.json: it has no targets") {
		t.Errorf("of targets that fail it says %q", got)
	}
	p.click(".services a", "service-1")
	p.wait(`location.pathname === "/service"`)
	p.settled()
	if got := p.query("ref"); got != "store:service-1@-24h" {
		t.Errorf("the service is %s", got)
	}
	if got := p.text(".cards"); strings.Count(got, "deploy of v1") != 1 {
		t.Errorf("a deploy that is an event as well is listed otherwise than once: %q", got)
	}
	if n := p.colors(); n < 4 {
		t.Errorf("its graph has %d colors", n)
	}
	if got := p.text(".flagline.deploy"); !strings.Contains(got, "v1") {
		t.Errorf("the deploy is marked as %q", got)
	}
	cpu := p.text(".legend-lines")
	p.click("button", "Live heap")
	p.settled()
	if got := p.text(".legend-lines"); got == cpu || !strings.Contains(got, "kB") && !strings.Contains(got, "MB") {
		t.Errorf("live heap is %q", got)
	}
	p.click("button", "CPU")
	p.settled()

	// A part of the time, by keys.
	eval[bool](p, `(document.querySelector(".plot").focus(), true)`)
	p.key(kb.Home)
	p.do(chromedp.KeyEvent(kb.End, chromedp.KeyModifiers(chromedp.ModifierShift)))
	p.wait(`document.querySelector(".chosen button") !== null`)
	p.key(kb.Enter)
	p.wait(`new URLSearchParams(location.search).get("ref").includes("..")`)
	p.settled()
	if got := p.query("ref"); !strings.HasPrefix(got, "store:service-1@2026-09-01T") {
		t.Errorf("the part of the time is %s", got)
	}
	eval[bool](p, `(history.back(), true)`)
	p.wait(`new URLSearchParams(location.search).get("ref") === "store:service-1@-24h"`)
	p.settled()

	// A part of the time, by dragging: the pointer stays where it is, over a chart with other points.
	p.brush(0.995, 0.999)
	p.wait(`document.querySelector(".chosen button") !== null && document.querySelector(".moment").innerText !== "mean"`)
	p.key(kb.Enter)
	p.wait(`new URLSearchParams(location.search).get("ref").includes("..")`)
	p.settled()
	if got := p.text(".legend-lines"); strings.Contains(got, "NaN") || !strings.Contains(got, "mean") {
		t.Errorf("after dragging and Enter, the legend reads %q", got)
	}
	eval[bool](p, `(history.back(), true)`)
	p.wait(`new URLSearchParams(location.search).get("ref") === "store:service-1@-24h"`)
	p.settled()

	// A value of a label stays chosen in all views, and is given up there.
	p.click(".labels button", "v1")
	p.wait(`document.querySelector(".selection .pill")?.innerText.includes("v1") ?? false`)
	p.settled()
	p.visitTab("Flame")
	if n := p.colors(); n < 3 {
		t.Errorf("the flame graph has %d colors", n)
	}
	one := p.text(".panel dl")
	p.click(".selection .pill button", "")
	p.wait(`!location.search.includes("version")`)
	p.settled()
	if got := p.text(".panel dl"); got == one || eval[string](p, `location.pathname`) != "/flame" {
		t.Errorf("without the label it shows %q", got)
	}
	for _, view := range []string{"Overview", "Callers", "Top", "Source", "Tags", "Traces", "Heat map"} {
		p.visitTab(view)
		if problem := p.text(".problem"); problem != "" {
			t.Errorf("%s shows a problem: %s", view, problem)
		}
	}

	// Versions against each other.
	p.click(".selection summary", "compare")
	p.wait(`document.querySelector(".drop button") !== null`)
	p.click(".drop button", "version v1 against v0")
	p.wait(`location.pathname === "/diff"`)
	p.settled()
	if got := p.query("base"); got != `store:service-1{version="v0"}@-24h` {
		t.Errorf("the base is %s", got)
	}
	// The versions ran for different times; a process costs as much as before in a second.
	if got := p.text(".diff .headline"); !strings.Contains(got, "0.05 cores → 0.05 cores") || p.query("per") != "second" {
		t.Errorf("the diff with per=%s says %q", p.query("per"), got)
	}
	p.click(".headline button", "Absolute")
	p.wait(`!location.search.includes("per=")`)
	p.settled()
	if got := p.text(".diff .headline"); strings.Contains(got, "cores") || !strings.Contains(got, "→") {
		t.Errorf("the diff of amounts says %q", got)
	}

	// Nothing there says what to do.
	p.pardon = "404"
	p.visit("/flame?ref=" + url.QueryEscape("store:nobody@-1h"))
	if got := p.text("main"); !strings.Contains(got, "there is no service nobody") {
		t.Errorf("of nobody it shows %q", got)
	}
	p.visit("/service?ref=" + url.QueryEscape("store:service-1@2020-01-01..2020-01-02"))
	if got := p.text("main"); !strings.Contains(got, "Show the last 30 days") {
		t.Errorf("of another time it shows %q", got)
	}
}

// One profile is a click away, and so is what happened.
func TestPageFleetHeat(t *testing.T) {
	address := serveFleet(t, nil, nil)
	p := open(t, address+"/", 1280, 900)
	p.url = address
	p.visit("/heat?ref=" + url.QueryEscape("store:service-0@-1h"))
	if n := p.colors(); n < 3 {
		t.Errorf("the heat map has %d colors", n)
	}
	eval[bool](p, `(document.querySelector(".heat-box").focus(), true)`)
	p.key(kb.ArrowDown)
	p.key(kb.ArrowRight)
	p.wait(`document.querySelector(".heat-cursor") !== null`)
	p.key(kb.Enter)
	p.wait(`location.pathname === "/flame"`)
	p.settled()
	if got := p.query("ref"); !strings.Contains(got, "profile_id=") {
		t.Errorf("one profile is %s", got)
	}
	if got := p.text(".selection .pill"); !strings.Contains(got, "one profile") {
		t.Errorf("the pill says %q", got)
	}
	p.click(".selection .pill button", "")
	p.wait(`!location.search.includes("profile_id")`)
	p.settled()

	p.visit("/events")
	if got := p.text(".fleet"); !strings.Contains(got, "Rules that cannot fire") || !strings.Contains(got, "typo\tno data for service <b>servise") {
		t.Errorf("of rules that cannot fire it says %q", got)
	}
	if got := p.text("main"); !strings.Contains(got, "<b>main.price</b> costs 0.30 cores in place of 0.10") || !strings.Contains(got, "killed for want of memory") {
		t.Errorf("the events are %q", got)
	} else if !strings.Contains(got, "idle: cores is 0.084, over 0.001 · telling chat: status 404") {
		t.Errorf("of a broken rule it says %q", got)
	}
	if got := p.text("main"); !strings.Contains(got, "main.load costs 1.50MB/s in place of 1MB/s") {
		t.Errorf("sizes per second are not printed as at the terminal: %q", got)
	}
	p.click("main a", "the hour after")
	p.wait(`location.pathname === "/diff"`)
	if got := p.query("base"); got != "store:service-0@2026-09-01T09:02:03Z..2026-09-01T10:02:03Z" {
		t.Errorf("the hour before is %s", got)
	}
	p.visit("/shelf")
	if got := p.text("main"); !strings.Contains(got, "<i>slow.hone") || !strings.Contains(got, "kB") {
		t.Errorf("the shelf has %q", got)
	}
	p.click("main a", "slow")
	p.wait(`location.pathname === "/overview"`)
	p.settled()
	recorded := func(how string) {
		if got := p.text("main"); !strings.Contains(got, "with all that they call") || strings.Contains(p.text(".tabs"), "Heat map") {
			t.Errorf("a recording on the shelf, opened %s, shows %q", how, got)
		}
	}
	recorded("from its list")
	p.visit(fleet.ShelfPath + strings.TrimPrefix(p.query("ref"), fleet.SharedPrefix)) // as hone push says
	p.wait(`location.pathname === "/overview"`)
	p.settled()
	recorded("by its link")
}

// A link with a ref and no view opens what the ref names. On a phone, the services show their names, costs and changes without scrolling.
func TestPageFleetFirst(t *testing.T) {
	address := serveFleet(t, nil, nil)
	p := open(t, address+"/", 390, 844)
	p.url = address
	p.visit("/")
	p.shoot("services-phone")
	if got := eval[float64](p, `[...document.querySelectorAll(".services thead th")].find((e) => e.textContent === "change").getBoundingClientRect().right`); got <= 0 || got > 390 {
		t.Errorf("the column of changes ends at %.0f of 390 pixels", got)
	}
	p.visit("/?ref=store:service-1@-24h")
	if got := p.text("main"); !strings.Contains(got, "with all that they call") || !strings.Contains(p.text(".tabs [aria-current]"), "Overview") {
		t.Errorf("a link with a ref shows %q", got)
	}
}

// Names are text, whatever is in them.
func TestPageFleetNames(t *testing.T) {
	const odd = `<img src=x onerror="window.hacked=1">`
	address := serveFleet(t, nil, func(u *store.Upload) bool {
		if u.Service != "service-0" {
			return false
		}
		u.Service = odd
		u.Labels = store.NewLabels(store.Label{Name: "version", Value: odd + u.Labels.Get("version")})
		return true
	})
	p := open(t, address+"/", 1280, 900)
	p.url = address
	p.visit("/")
	p.click(".services a", "img")
	p.wait(`location.pathname === "/service"`)
	p.settled()
	p.click(".labels button", "v1")
	p.settled()
	p.visitTab("Flame")
	p.visitTab("Heat map")
	if got := p.text(".selection"); !strings.Contains(got, odd) {
		t.Errorf("the selection is %q", got)
	}
	if eval[bool](p, `window.hacked === 1 || document.querySelector("img") !== null`) {
		t.Error("a name has become markup")
	}
}

// A browser asks for the token, and sends it from then on.
func TestPageFleetToken(t *testing.T) {
	tokens, err := token.Open(filepath.Join(t.TempDir(), "tokens.json"))
	if err != nil {
		t.Fatal(err)
	}
	secret, err := tokens.Make(token.Token{Name: "team", Scopes: []token.Scope{token.Read}})
	if err != nil {
		t.Fatal(err)
	}
	other, err := tokens.Make(token.Token{Name: "other", Tenant: "other", Scopes: []token.Scope{token.Read}})
	if err != nil {
		t.Fatal(err)
	}
	address := serveFleet(t, tokens, nil)
	resp, err := http.Get(address + "/")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusUnauthorized || !strings.HasPrefix(resp.Header.Get("WWW-Authenticate"), "Basic") {
		t.Errorf("without a token: %s %q", resp.Status, resp.Header)
	}
	with := func(secret string) string { return strings.Replace(address, "http://", "http://token:"+secret+"@", 1) }
	p := open(t, with(secret)+"/", 1280, 900)
	p.url = address
	p.settled()
	if got := p.text("main"); !strings.Contains(got, "service-0") {
		t.Errorf("with a token it shows %q", got)
	}
	p.click(".services a", "service-0")
	p.wait(`location.pathname === "/service"`)
	p.settled()
	p.visitTab("Flame")
	if n := p.colors(); n < 3 {
		t.Errorf("the flame graph has %d colors", n)
	}
	p.url = with(other)
	p.visit("/")
	if got := p.text("main"); strings.Contains(got, "service-0") || !strings.Contains(got, "There are no profiles yet") {
		t.Errorf("another tenant is shown %q", got)
	}
}

// Profiles from which nothing can be drawn over time are there nevertheless.
func TestPageFleetWithoutMeasures(t *testing.T) {
	address := serveFleet(t, nil, func(u *store.Upload) bool { return u.Kind == "mutex" })
	p := open(t, address, 1280, 900)
	p.url = address
	p.visit("/service?ref=store:service-0@-1h")
	if got := p.text("main"); !strings.Contains(got, "do not say what the service costs over time") || strings.Contains(got, "no profiles") {
		t.Errorf("of mutex profiles only, the page of a service says %q", got)
	}
	p.click("main a", "Top")
	p.settled()
	if got := p.text("main"); !strings.Contains(got, "step") {
		t.Errorf("top of them is %q", got)
	}
}

// All pages fit on a narrow screen, and axe-core finds nothing in them.
func TestPageFleetAccessibility(t *testing.T) {
	address := serveFleet(t, nil, nil)
	ref := "ref=" + url.QueryEscape("store:service-0@-24h")
	widths := []int64{390, 1280}
	if !testrun.InNightly() {
		testrun.Left(t, t.Name()+"/1280", "goes through the pages once more; TestPageAccessibility has most of them that wide")
		widths = widths[:1]
	}
	for _, width := range widths {
		p := open(t, address+"/", width, 844)
		p.url = address
		p.visit("/")
		for name, path := range map[string]string{
			"services": "/", "service": "/service?" + ref + "&ui.by=version", "heat": "/heat?" + ref, "events": "/events", "shelf": "/shelf",
			"flame": "/flame?" + ref, "diff": "/diff?" + ref + "&base=" + url.QueryEscape(`store:service-0{version="v0"}@-24h`),
		} {
			p.turn(path)
			if over := eval[int](p, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); over > 0 {
				t.Errorf("%s is %d pixels wider than the screen of %d", path, over, width)
			}
			p.shoot(fmt.Sprintf("%s-%d", name, width))
			p.accessible(path, "html")
		}
		// What is behind the buttons above.
		for _, button := range []string{"time", "label", "compare", "edit"} {
			p.turn("/flame?" + ref)
			p.click(".selection summary", button)
			p.wait(`document.querySelector(".drop")?.innerText.length > 10 && Number(document.documentElement.dataset.asking) === 0`)
			if right := eval[float64](p, `document.querySelector(".drop").getBoundingClientRect().right`); right > float64(width) {
				t.Errorf("the box of %s ends at %v of %d pixels", button, right, width)
			}
			p.shoot(fmt.Sprintf("box-%s-%d", button, width))
			p.accessible("the box of "+button, ".selections")
			p.key(kb.Escape)
			p.wait(`document.querySelector(".drop") === null`)
		}
	}
}

// Nothing has been sent yet: the page says how to.
func TestPageFleetEmpty(t *testing.T) {
	address := serveFleet(t, nil, func(*store.Upload) bool { return false })
	p := open(t, address+"/", 1280, 900)
	p.url = address
	p.visit("/")
	if got := p.text("main"); !strings.Contains(got, "There are no profiles yet") || !strings.Contains(got, address+"/api/v1/profiles?service=shop") {
		t.Errorf("an empty store shows %q", got)
	}
}

// A store has no sources: the page says what shows findings and source lines on a machine that has them.
func TestPageFleetElsewhere(t *testing.T) {
	address := serveFleet(t, nil, nil)
	p := open(t, address+"/", 1280, 900)
	p.url = address
	p.visit("/overview?ref=" + url.QueryEscape(`store:service-1{version="v0"}@-1h`))
	want := "'" + address + `/store:service-1{version="v0"}@-1h'`
	if got := p.text(".findings"); !strings.Contains(got, "hone advise "+want) || !strings.Contains(got, "hone web "+want) {
		t.Errorf("about findings the page says %q", got)
	}
	p.visit("/source?ref=" + url.QueryEscape("store:service-1@-1h"))
	if got := p.text(".missing"); !strings.Contains(got, "hone web --source-path DIR "+address+"/store:service-1@-1h") {
		t.Errorf("about sources the page says %q", got)
	}
	p.pardon = "404"
	p.visit("/overview?ref=" + url.QueryEscape("store:servise-1@-1h"))
	if got := p.text("main"); !strings.Contains(got, "there is no service servise-1") || !strings.Contains(got, "did you mean service-1?") {
		t.Errorf("about a service that is not there the page says %q", got)
	}
}
