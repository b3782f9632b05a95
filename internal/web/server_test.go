package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
)

// open returns a server of profiles in folded form, and its host.
func serverOf(t *testing.T, folded ...string) (*Server, http.Handler) {
	t.Helper()
	var in []*recording.Recording
	for i, text := range folded {
		p, err := profile.Parse(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		in = append(in, &recording.Recording{Ref: fmt.Sprintf("%d.folded", i), Profile: p})
	}
	s := New(in, Options{Version: "test", Hosts: []string{"localhost"}})
	return s, s.Handler()
}

// get sends a request with the cookie of s.
func get(s *Server, h http.Handler, path string, change ...func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", "http://localhost:1234"+path, nil)
	r.AddCookie(&http.Cookie{Name: "hone-1234", Value: s.token})
	for _, f := range change {
		f(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestGuard(t *testing.T) {
	s, h := serverOf(t, "main;work 3\n")
	without := func(r *http.Request) { r.Header.Del("Cookie") }
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	tests := []struct {
		name   string
		path   string
		change []func(*http.Request)
		want   int
	}{
		{"its own page", "/api/top", nil, 200},
		{"no cookie", "/api/top", []func(*http.Request){without}, 403},
		{"no cookie for the page", "/flame", []func(*http.Request){without}, 403},
		{"no cookie for a download", "/download/pprof", []func(*http.Request){without}, 403},
		{"another cookie", "/api/top", []func(*http.Request){without, header("Cookie", "hone-1234=guess")}, 403},
		{"the cookie of another port", "/api/top", []func(*http.Request){without, header("Cookie", "hone-99="+s.token)}, 403},
		{"a token", "/api/top?token=" + s.token, []func(*http.Request){without}, 200},
		{"a wrong token", "/api/top?token=guess", nil, 403},
		{"a token for a page", "/flame?focus=a&token=" + s.token + "&ignore=b", []func(*http.Request){without}, 303},
		{"another name", "/api/top", []func(*http.Request){func(r *http.Request) { r.Host = "evil.example:1234" }}, 403},
		{"another port", "/api/top", []func(*http.Request){func(r *http.Request) { r.Host = "localhost:99" }}, 403},
		{"another origin", "/api/top", []func(*http.Request){header("Origin", "http://evil.example")}, 403},
		{"its own origin", "/api/top", []func(*http.Request){header("Origin", "http://localhost:1234")}, 200},
		{"a page elsewhere", "/api/top", []func(*http.Request){header("Sec-Fetch-Site", "cross-site")}, 403},
		{"a link elsewhere", "/flame", []func(*http.Request){header("Sec-Fetch-Site", "cross-site"), header("Sec-Fetch-Mode", "navigate")}, 200},
		{"a link to data", "/api/top", []func(*http.Request){header("Sec-Fetch-Site", "cross-site"), header("Sec-Fetch-Mode", "navigate")}, 403},
		{"another method", "/api/top", []func(*http.Request){func(r *http.Request) { r.Method = "POST" }}, 404},
		{"a file elsewhere", "/assets/..%2f..%2fserver.go", nil, 404},
		{"a file elsewhere, plainly", "/assets/../../server.go", nil, 307},
	}
	for _, tt := range tests {
		w := get(s, h, tt.path, tt.change...)
		if w.Code != tt.want {
			t.Errorf("%s: %s gave %d, want %d: %s", tt.name, tt.path, w.Code, tt.want, w.Body)
		}
		if !strings.Contains(w.Header().Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s: no policy", tt.name)
		}
		if strings.Contains(w.Body.String(), "package web") {
			t.Errorf("%s: gave a file away", tt.name)
		}
	}
	w := get(s, h, "/flame?focus=a&token="+s.token+"&ignore=b")
	if got, want := w.Header().Get("Location"), "/flame?focus=a&ignore=b"; got != want {
		t.Errorf("a token leads to %s, want %s", got, want)
	}
	c := w.Result().Cookies()
	if len(c) != 1 || !c[0].HttpOnly || c[0].SameSite != http.SameSiteStrictMode {
		t.Errorf("cookies %v", c)
	}
}

// answered decodes an answer.
func answered(t *testing.T, w *httptest.ResponseRecorder, into any) {
	t.Helper()
	if w.Code != 200 {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	if err := json.Unmarshal(w.Body.Bytes(), into); err != nil {
		t.Fatalf("%v: %s", err, w.Body)
	}
}

// textOf prints rows as name@x+width, for comparing.
func textOf(r report.FlameColumns) string {
	var b strings.Builder
	for _, row := range r.Rows {
		x := int64(0)
		for i, f := range row.Frame {
			name := "all"
			if f >= 0 {
				name = r.Frames.Name[f]
			}
			x += row.Gap[i]
			w := max(row.Cum[i], -row.Cum[i])
			if row.Width != nil {
				w = row.Width[i]
			}
			fmt.Fprintf(&b, "%s@%d+%d ", name, x, w)
			x += w
		}
		b.WriteString("| ")
	}
	return b.String()
}

func TestFlame(t *testing.T) {
	s, h := serverOf(t,
		"main;work;read 3\nmain;work 2\nmain;idle 1\nmain;work;work;parse 4\n",
		"main;work;read 5\nmain;work 2\nmain;old 6\n")
	tests := []struct{ query, want string }{
		{"", "all@0+10 | main@0+10 | work@0+9 idle@9+1 | work@0+4 read@4+3 | parse@0+4 | "},
		{"root=main;work", "work@0+9 | work@0+4 read@4+3 | parse@0+4 | "},
		{"collapse", "all@0+10 | main@0+10 | work@0+9 idle@9+1 | parse@0+4 read@4+3 | "},
		{"invert", "all@0+10 | parse@0+4 read@4+3 work@7+2 idle@9+1 | work@0+4 work@4+3 main@7+2 main@9+1 | work@0+4 main@4+3 | main@0+4 | "},
		{"ignore=parse", "all@0+6 | main@0+6 | work@0+5 idle@5+1 | read@0+3 | "},
		{"base=1.folded", "all@0+10 | main@0+10 | work@0+9 idle@9+1 | read@0+3 work@3+4 | parse@3+4 | "},
		{"base=1.folded&gone", "all@0+18 | main@0+18 | work@0+11 old@11+6 idle@17+1 | read@0+5 work@5+4 | parse@5+4 | "},
	}
	for _, tt := range tests {
		var got report.FlameJSON
		answered(t, get(s, h, "/api/flame?"+tt.query), &got)
		if textOf(got.FlameColumns) != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.query, textOf(got.FlameColumns), tt.want)
		}
		if got.Whole != 10 {
			t.Errorf("%s: the whole is %d, want 10", tt.query, got.Whole)
		}
	}
	var zoomed report.FlameJSON
	answered(t, get(s, h, "/api/flame?root=main;work"), &zoomed)
	if len(zoomed.Path) != 2 || zoomed.Path[1].Name != "work" || zoomed.Path[0].Cum != 10 {
		t.Errorf("path %+v", zoomed.Path)
	}
	if w := get(s, h, "/api/flame?root=main;nowhere"); w.Code != 422 || !strings.Contains(w.Body.String(), "no call main;nowhere") {
		t.Errorf("a call that is not there: %d %s", w.Code, w.Body)
	}
}

func TestSandwich(t *testing.T) {
	s, h := serverOf(t, "a;work;read 3\nb;work;work;read 2\nb;work 1\n")
	var got struct {
		Flat, Cum        int64
		Callees, Callers report.FlameColumns
	}
	answered(t, get(s, h, "/api/sandwich?arg=work"), &got)
	if got.Flat != 1 || got.Cum != 6 {
		t.Errorf("flat %d, cum %d, want 1 and 6", got.Flat, got.Cum)
	}
	if got, want := textOf(got.Callees), "work@0+6 | read@0+3 work@3+2 | read@3+2 | "; got != want {
		t.Errorf("callees %s, want %s", got, want)
	}
	if got, want := textOf(got.Callers), "work@0+6 | a@0+3 b@3+3 | "; got != want {
		t.Errorf("callers %s, want %s", got, want)
	}
	if w := get(s, h, "/api/sandwich?arg=nothing"); w.Code != 404 || !strings.Contains(w.Body.String(), `"hint"`) {
		t.Errorf("a frame that is not there: %d %s", w.Code, w.Body)
	}
}

func TestSearch(t *testing.T) {
	s, h := serverOf(t, "a;work;read 3\nb;work;work;read 2\nb;idle 1\n")
	var got struct {
		Value, Total int64
		Count        int
		Names        []string
	}
	answered(t, get(s, h, "/api/search?arg=other&rx="+url.QueryEscape("work|read")), &got)
	if got.Value != 5 || got.Total != 6 || got.Count != 2 || strings.Join(got.Names, " ") != "read work" {
		t.Errorf("got %+v", got)
	}
	answered(t, get(s, h, "/api/search?rx=idle"), &got)
	if got.Value != 1 {
		t.Errorf("another pattern: value %d, want 1", got.Value)
	}
	if w := get(s, h, "/api/search?rx=("); w.Code != 422 {
		t.Errorf("a bad pattern: %d %s", w.Code, w.Body)
	}
}

// TestElsewhere holds that a browser is led to the page that shows what an address asks for, or to one that says that there
// is none, and that programs get data.
func TestElsewhere(t *testing.T) {
	s, h := serverOf(t, "main;work 3\n")
	browser := func(r *http.Request) { r.Header.Set("Accept", "text/html,application/xhtml+xml,*/*;q=0.8") }
	for _, tt := range []struct {
		path  string
		code  int
		there string // where it leads to
		media string
	}{
		{"/list?arg=work&ref=0.folded", 303, "/source?arg=work&ref=0.folded", ""},
		{"/peek?arg=work", 303, "/sandwich?arg=work", ""},
		{"/text", 303, "/top", ""},
		{"/nowhere", 404, "", "text/html; charset=utf-8"},
		{"/no/such/page", 404, "", "text/html; charset=utf-8"},
		{"/api/nothing", 404, "", "application/json"},
		{"/download/nothing", 404, "", "application/json"},
	} {
		w := get(s, h, tt.path, browser)
		if w.Code != tt.code || w.Header().Get("Location") != tt.there {
			t.Errorf("%s: %d, to %q, want %d, to %q", tt.path, w.Code, w.Header().Get("Location"), tt.code, tt.there)
		}
		if got := w.Header().Get("Content-Type"); tt.media != "" && got != tt.media {
			t.Errorf("%s: it is %s, want %s", tt.path, got, tt.media)
		}
		if tt.media == "text/html; charset=utf-8" && !strings.Contains(w.Body.String(), `id="hone-session"`) {
			t.Errorf("%s: it is not the page: %.200s", tt.path, w.Body)
		}
	}
	if w := get(s, h, "/nowhere"); w.Code != 404 || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("a program gets %d %s", w.Code, w.Body)
	}
	for name, page := range pageOf {
		if !slices.Contains(pages, page) || slices.Contains(pages, name) {
			t.Errorf("%s leads to %s; the pages are %v", name, page, pages)
		}
	}
}

// TestCheck holds that a filter can be tried before it is applied.
func TestCheck(t *testing.T) {
	s, h := serverOf(t, "main;work 3\n")
	for query, want := range map[string]string{
		"focus=work":   "",
		"focus=%28":    "missing closing )",
		"tag=a%3D%28":  "missing closing )",
		"tag=1kb:2mb":  "",
		"tag-leaf=a,b": "",
	} {
		var got struct{ Error string }
		answered(t, get(s, h, "/api/check?"+query), &got)
		if (want == "") != (got.Error == "") || !strings.Contains(got.Error, want) {
			t.Errorf("%s: %q, want %q", query, got.Error, want)
		}
	}
}

// TestMalformed sends what no page sends.
func TestMalformed(t *testing.T) {
	s, h := serverOf(t, "main;work 3\n")
	for _, path := range []string{
		"/api/top?fcous=x", "/api/top?limit=many", "/api/top?focus=(", "/api/flame?min=%zz", "/api/flame?ref=nowhere",
		"/api/diff", "/api/flame?root=%ff;%00", "/api/top?" + strings.Repeat("focus=x&", 9000), "/api/list", "/api/tree?by=moon",
		"/download/exe", "/download/svg?view=moon", "/api/top?metric=moon",
	} {
		w := get(s, h, path)
		var body struct{ Error string }
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || body.Error == "" || w.Code < 400 || w.Code > 499 {
			t.Errorf("%.60s: %d %s", path, w.Code, w.Body)
		}
	}
}

// A view for a ticket fits into one: what is small is left out, and the file says so.
func TestDownloadForTicket(t *testing.T) {
	b, err := os.ReadFile("testdata/compile.pb.gz")
	if err != nil {
		t.Fatal(err)
	}
	s, h := serverOf(t, "main 1\n")
	if s.in[0].Profile, err = profile.Parse(bytes.NewReader(b)); err != nil {
		t.Fatal(err)
	}
	for _, of := range []string{"flame"} {
		got := get(s, h, "/download/markdown?view="+of).Body.String()
		if len(got) > 60_000 || !strings.Contains(got, "ssa.Compile") {
			t.Errorf("%s has %d bytes and ends in %q", of, len(got), got[max(0, len(got)-200):])
		}
	}
}

// Commands in a ticket are those of a terminal.
func TestDownloadedCommands(t *testing.T) {
	s := New([]*recording.Recording{Leaky(t)}, Options{Version: "test", Hosts: []string{"localhost"}, By: terminal{}})
	got := get(s, s.Handler(), "/download/markdown?view=mem").Body.String()
	if !strings.Contains(got, "$ top ") {
		t.Errorf("the file has no command for a terminal: %s", got[max(0, len(got)-300):])
	}
}

type terminal struct{}

func (terminal) Option(o hint.Option) string { return "--" + o.Name }
func (terminal) Command(c hint.Command) string {
	return "$ " + c.Verb + " " + strings.Join(c.Args, " ")
}

// TestDownload gets every form.
func TestDownload(t *testing.T) {
	s, h := serverOf(t, "main;work;read 3\nmain;idle 1\n")
	for _, d := range downloads {
		w := get(s, h, "/download/"+d.name+"?view=flame&focus=work")
		if w.Code != 200 || w.Body.Len() == 0 || !strings.Contains(w.Header().Get("Content-Disposition"), d.ending) {
			t.Errorf("%s: %d %v %.200s", d.name, w.Code, w.Header(), w.Body)
		}
	}
	for ref, want := range map[string]map[string]string{
		"0.folded":                          {"folded": "0.folded", "speedscope": "0.speedscope.json", "csv": "0.top.csv", "svg": "0.flame.svg", "pprof": "0.pb.gz", "html": "0.html"},
		"dir/cpu.pb.gz":                     {"folded": "cpu.folded", "pprof": "cpu.pb.gz", "pprof-filtered": "cpu.filtered.pb.gz"},
		"server.hone":                       {"folded": "server.folded", "json": "server.top.json"},
		"http://localhost:6060/debug/x?s=5": {"folded": "x-s=5.folded"},
		"-":                                 {"folded": "profile.folded"},
		".pprof":                            {"folded": ".pprof.folded"},
	} {
		s.in[0].Ref = ref
		for format, name := range want {
			got := get(s, h, "/download/"+format+"?view=top").Header().Get("Content-Disposition")
			if format == "svg" {
				got = get(s, h, "/download/svg?view=flame").Header().Get("Content-Disposition")
			}
			if want := fmt.Sprintf("attachment; filename=%q", name); got != want {
				t.Errorf("%s of %s: %s, want %s", format, ref, got, want)
			}
		}
	}
	for name, want := range map[string]int64{"pprof": 4, "pprof-filtered": 3} {
		w := get(s, h, "/download/"+name+"?focus=work")
		p, err := profile.Parse(w.Body)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		sum := int64(0)
		for _, v := range p.Values(0) {
			sum += v
		}
		if sum != want {
			t.Errorf("%s holds %d, want %d", name, sum, want)
		}
	}
}

// TestPage saves a page, in which names from profiles must stay names.
func TestPage(t *testing.T) {
	s, h := serverOf(t, "main;</script><script>alert(1);read 3\nmain;<!--<script> 1\n")
	w := get(s, h, "/download/html")
	page := w.Body.String()
	if w.Code != 200 || !strings.Contains(page, `id="hone-data"`) || strings.Contains(page, "/assets/") {
		t.Fatalf("%d %.300s", w.Code, page)
	}
	if strings.Contains(page, "alert(1)</") || strings.Count(page, "<script>alert") != 0 || strings.Contains(page, "<!--<script>") {
		t.Error("a name became part of the page")
	}

	// What is open is part of the page that is served, and is called what somebody has called it.
	s.in[0].Ref = "</script><script>alert(1)</script>"
	w = get(s, h, "/flame")
	page = w.Body.String()
	_, rest, ok := strings.Cut(page, `<script type="application/json" id="hone-session">`)
	data, _, _ := strings.Cut(rest, "</script>")
	if w.Code != 200 || !ok || strings.Count(page, "alert(1)") != 1 || strings.Contains(page, "<script>alert") {
		t.Fatalf("%d %.600s", w.Code, page)
	}
	var got session
	if err := json.Unmarshal([]byte(data), &got); err != nil || len(got.Recordings) != 1 || got.Recordings[0].Ref != s.in[0].Ref {
		t.Errorf("the page knows of %+v, %v", got.Recordings, err)
	}
	if asked := strings.TrimSpace(get(s, h, "/api/session").Body.String()); asked != data {
		t.Errorf("the page has %s, the answer is %s", data, asked)
	}
}

// TestSavedDiffKeepsRemovedFunctions holds that a saved comparison has what the page shows of it: calls that are gone with the
// width that they had, and the functions that changed most.
func TestSavedDiffKeepsRemovedFunctions(t *testing.T) {
	s, h := serverOf(t, "main;work 3\n", "main;work 2\nmain;old 6\n")
	inPage := func(path string) (answers map[string]json.RawMessage) {
		_, rest, _ := strings.Cut(get(s, h, path).Body.String(), `id="hone-data"`)
		_, rest, _ = strings.Cut(rest, ">")
		data, _, _ := strings.Cut(rest, "</script>")
		if err := json.Unmarshal([]byte(data), &answers); err != nil {
			t.Fatalf("%v: %.200s", err, data)
		}
		return answers
	}
	answers := inPage("/download/html?ref=0.folded&base=1.folded")
	var shown, saved report.FlameJSON
	answered(t, get(s, h, "/api/flame?gone=true&base=1.folded"), &shown)
	if err := json.Unmarshal(answers["/api/flame"], &saved); err != nil {
		t.Fatal(err)
	}
	if got, want := textOf(saved.FlameColumns), textOf(shown.FlameColumns); got != want || !strings.Contains(got, "old@2+6") && !strings.Contains(got, "old@0+6") {
		t.Errorf("saved %s, shown %s", got, want)
	}
	for _, key := range []string{"/api/diff", "/api/diff?sort=cum"} {
		var diff report.Diff
		if err := json.Unmarshal(answers[key], &diff); err != nil {
			t.Fatalf("%s: %v", key, err)
		}
		if i := slices.IndexFunc(diff.Rows, func(r report.DiffRow) bool { return r.Name == "old" }); i < 0 || diff.Rows[i].FlatBefore != 6 || diff.Rows[i].Flat != 0 {
			t.Errorf("%s: %s", key, answers[key])
		}
	}
	var there session
	if err := json.Unmarshal(answers["/api/session"], &there); err != nil || there.Base != "1.folded" {
		t.Errorf("the page compares with %q, %v", there.Base, err)
	}

	// A page of one profile compares with nothing.
	if _, ok := inPage("/download/html")["/api/diff"]; ok {
		t.Error("without a base there is a comparison")
	}
}

// TestCache asks twice, and for more than is kept.
func TestCache(t *testing.T) {
	s, h := serverOf(t, "main;work 3\n")
	first := get(s, h, "/api/top").Body.String()
	if _, ok := s.cache.answers.Get("/api/top /top " + s.in[0].Key()); !ok {
		t.Error("the answer is not kept")
	}
	if again := get(s, h, "/api/top").Body.String(); again != first {
		t.Errorf("again: %s, want %s", again, first)
	}
	packed := get(s, h, "/api/top", func(r *http.Request) { r.Header.Set("Accept-Encoding", "gzip") })
	if packed.Header().Get("Content-Encoding") != "gzip" || packed.Body.Len() == 0 {
		t.Errorf("not packed: %v", packed.Header())
	}
	big := make([]byte, cacheBytes/4)
	for i := range 9 {
		s.cache.keep(fmt.Sprint(i), big)
	}
	sum := 0
	for _, body := range s.cache.answers.All() {
		sum += len(body)
	}
	if sum > cacheBytes {
		t.Errorf("%d bytes are kept, want at most %d", sum, cacheBytes)
	}
	if _, ok := s.cache.answers.Get("8"); !ok {
		t.Error("what came last is not kept")
	}
	if _, ok := s.cache.answers.Get("0"); ok {
		t.Error("what came first is still kept")
	}
}

func TestListen(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", "[::]:0", "192.0.2.1:80", "example.com:80", "nonsense"} {
		if l, err := Listen(addr, false); err == nil {
			l.Close()
			t.Errorf("Listen(%q): no error", addr)
		}
	}
	for _, addr := range []string{"", "localhost:0", "127.0.0.1:0", ":0"} {
		l, err := Listen(addr, false)
		if err != nil {
			t.Errorf("Listen(%q): %v", addr, err)
			continue
		}
		if !strings.HasPrefix(l.Addr().String(), "127.0.0.1:") || !slices.Equal(HostsOf(l), []string{"127.0.0.1"}) {
			t.Errorf("Listen(%q) is at %v, by the names %v", addr, l.Addr(), HostsOf(l))
		}
		l.Close()
	}
	for _, addr := range []string{"0.0.0.0:0", "[::]:0", ":0", ""} {
		var nameless *NamelessError
		if l, err := Listen(addr, true); !errors.As(err, &nameless) {
			t.Errorf("Listen(%q) for other machines, without a name: %v, %v", addr, l, err)
		}
	}
}

// A server at all addresses, as in a container with a published port, prints and knows the name by which browsers reach it. It knows no other, but for
// those of this machine.
func TestListenEverywhere(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", ":0", ""} {
		const name = "build.example.com"
		l, err := Listen(addr, true, name)
		if err != nil {
			t.Errorf("Listen(%q): %v", addr, err)
			continue
		}
		l.Close()
		if ip := l.Addr().(*net.TCPAddr).IP; !ip.IsUnspecified() {
			t.Errorf("Listen(%q) is at %v", addr, ip)
		}
		s, _ := serverOf(t, "main;work 3\n")
		s.opt.Hosts = HostsOf(l, name)
		_, port, _ := net.SplitHostPort(l.Addr().String())
		if got, want := s.URL(l, "/flame"), "http://"+name+":"+port+"/flame?token="; !strings.HasPrefix(got, want) {
			t.Errorf("Listen(%q): the page is at %s, want %s", addr, got, want)
		}
		for host, want := range map[string]int{
			name + ":" + port: 200, "Build.Example.COM:" + port: 200, name + ":9000": 200, "localhost:9000": 200, "[::1]:9000": 200,
			"evil.example:" + port: 403, "0.0.0.0:" + port: 403, "x." + name + ":" + port: 403, "192.0.2.7:" + port: 403, "localhost.evil.example": 403,
		} {
			w := get(s, s.Handler(), "/api/top?token="+s.token, func(r *http.Request) { r.Host = host })
			if w.Code != want {
				t.Errorf("Listen(%q): the host %s gets %d, want %d: %s", addr, host, w.Code, want, w.Body)
			}
		}
	}
}

// TestLater asks while recordings are still being read.
func TestLater(t *testing.T) {
	opened, _ := serverOf(t, "main;work 3\n")
	for _, c := range []struct {
		name string
		end  func(s *Server)
		code int
		want string
	}{
		{"read", func(s *Server) { s.Open(opened.in) }, 200, "work"},
		{"cannot be read", func(s *Server) { s.Fail(errors.New("cpu.pprof: no profile")) }, 503, "cpu.pprof: no profile"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := Later(Options{Version: "test", Hosts: []string{"localhost"}})
			h := s.Handler()
			// Pages are there, and what they wait for can be given up.
			if w := get(s, h, "/flame"); w.Code != 200 || strings.Contains(w.Body.String(), "hone-session") {
				t.Errorf("the page: %d %.300s", w.Code, w.Body)
			}
			gone, leave := context.WithCancel(t.Context())
			leave()
			if w := get(s, h, "/api/top", func(r *http.Request) { *r = *r.WithContext(gone) }); w.Body.Len() > 0 {
				t.Errorf("who has gone is answered with %s", w.Body)
			}
			paths := []string{"/api/session", "/api/flame", "/api/top", "/download/folded"}
			answers := make(chan *httptest.ResponseRecorder, len(paths))
			for _, path := range paths {
				go func() { answers <- get(s, h, path) }()
			}
			c.end(s)
			said := ""
			for range paths {
				w := <-answers
				if w.Code != c.code {
					t.Errorf("%d %s", w.Code, w.Body)
				}
				said += w.Body.String()
			}
			if !strings.Contains(said, c.want) {
				t.Errorf("the answers are %s", said)
			}
			w := get(s, h, "/flame")
			if has := strings.Contains(w.Body.String(), "hone-session"); has != (c.code == 200) {
				t.Errorf("the page knows what is open: %v", has)
			}
		})
	}
}

// TestServe stops when its context does.
func TestServe(t *testing.T) {
	s, _ := serverOf(t, "main;work 3\n")
	l, err := Listen("", false)
	if err != nil {
		t.Fatal(err)
	}
	s.opt.Hosts = HostsOf(l)
	done := make(chan error)
	ctx, stop := context.WithCancel(t.Context())
	go func() { done <- s.Serve(ctx, l) }()
	resp, err := http.Get(s.URL(l, "/api/top?limit=1"))
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if resp.StatusCode != 200 || !strings.Contains(string(body), "work") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	stop()
	if err := <-done; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

// TestAssets holds that the parts of the page are sent packed, and unpacked to those that do not ask for that.
func TestAssets(t *testing.T) {
	s := &Server{}
	get := func(name, accept string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("GET", "/assets/"+name, nil)
		r.SetPathValue("name", name)
		r.Header.Set("Accept-Encoding", accept)
		w := httptest.NewRecorder()
		s.asset(w, r)
		return w
	}
	for name, typ := range map[string]string{"app.js": "text/javascript; charset=utf-8", "app.css": "text/css; charset=utf-8"} {
		want, err := assetText(name)
		if err != nil {
			t.Fatal(err)
		}
		plain, packed := get(name, "identity"), get(name, "gzip, br")
		if plain.Body.String() != want || plain.Header().Get("Content-Encoding") != "" {
			t.Errorf("%s, unpacked: %d bytes, encoding %q", name, plain.Body.Len(), plain.Header().Get("Content-Encoding"))
		}
		if packed.Body.Len() >= len(want) || packed.Header().Get("Content-Encoding") != "gzip" {
			t.Errorf("%s, packed: %d bytes, encoding %q", name, packed.Body.Len(), packed.Header().Get("Content-Encoding"))
		}
		if got := packed.Header().Get("Content-Type"); got != typ {
			t.Errorf("%s has the type %q, want %q", name, got, typ)
		}
	}
	if w := get("app.js.gz", "gzip"); w.Code != 404 {
		t.Errorf("app.js.gz: status %d, want 404", w.Code)
	}
}

// The picture of a graph, which pages ask for again when they are loaded anew, is kept: as it was, for the same view only.
func TestPictureIsKept(t *testing.T) {
	s, h := serverOf(t, "main;work 3\nmain;rest 2\n")
	const graph, flame = "/download/svg?view=graph", "/download/svg?view=flame"
	first := get(s, h, graph)
	if first.Code != 200 || !strings.Contains(first.Body.String(), "<svg") {
		t.Fatalf("%s: %d %.100s", graph, first.Code, first.Body)
	}
	other := get(s, h, flame)
	s.turns = make(chan struct{}) // nobody computes any more
	again := get(s, h, graph)
	if again.Body.String() != first.Body.String() || !maps.EqualFunc(again.Header(), first.Header(), slices.Equal) {
		t.Errorf("%s is another one the second time: %d %v", graph, again.Code, again.Header())
	}
	if got := get(s, h, flame); got.Body.String() != other.Body.String() || got.Body.String() == first.Body.String() {
		t.Errorf("%s is another one the second time, or the graph", flame)
	}
}
