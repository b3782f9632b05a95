package web

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
)

// sent answers a request with a body that the page of a server makes.
func sent(s *Server, method, path, contentType string, body []byte) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://localhost:1234"+path, bytes.NewReader(body))
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("Origin", "http://localhost:1234")
	r.AddCookie(&http.Cookie{Name: "hone-1234", Value: s.token})
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w
}

const binary = "application/octet-stream"

// A file that a page sends is open beside the others: a profile, a recording, an execution trace. It keeps its name, and gets another one
// where that is taken.
func TestTake(t *testing.T) {
	s := New([]*recording.Recording{Measured(t)}, Options{Hosts: []string{"localhost"}, Takes: true})
	h := s.Handler()
	packed := get(s, h, "/download/hone")
	if packed.Code != http.StatusOK || !strings.Contains(packed.Header().Get("Content-Disposition"), `"run.hone"`) {
		t.Fatalf("the download of a recording: %d %v", packed.Code, packed.Header())
	}
	trace, err := os.ReadFile("../../testdata/trace/shop.trace")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []struct {
		name string
		body []byte
		ref  string
		ask  string // what then answers
	}{
		{"a.folded", []byte("main.main;main.a 3\n"), "a.folded", "/api/top?ref=a.folded"},
		{"/home/x/../a.folded", []byte("main.main;main.b 3\n"), "a-2.folded", "/api/top?ref=a-2.folded"},
		{"copy.hone", packed.Body.Bytes(), "copy.hone", "/api/timeline?ref=copy.hone"},
		{"run.hone", packed.Body.Bytes(), "run-2.hone", "/api/flamechart?ref=run-2.hone"},
		{"shop.trace", trace, "shop.trace", "/api/requests?ref=shop.trace"},
		{"\x1b[31m\n", []byte("main.main 1\n"), "[31m", "/api/top?ref=[31m"},
		{"..", []byte("main.main 1\n"), "file", "/api/top?ref=file"},
	} {
		w := sent(s, "POST", "/api/open?name="+escape(f.name), binary, f.body)
		var got struct{ Ref string }
		answered(t, w, &got)
		if got.Ref != f.ref {
			t.Errorf("%q is open as %q, want %q", f.name, got.Ref, f.ref)
		}
		if w := get(s, h, f.ask); w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", f.ask, w.Code, w.Body)
		}
	}
	var there session
	answered(t, get(s, h, "/api/session"), &there)
	if len(there.Recordings) != 8 || !there.Recordings[0].Whole || there.Recordings[1].Whole {
		t.Errorf("open are %+v", there.Recordings)
	}
	if w := get(s, h, "/download/hone?ref=a.folded"); w.Code != http.StatusUnprocessableEntity {
		t.Errorf("a profile is downloaded as a recording: %d", w.Code)
	}
}

// A file that is open is not opened again: neither one that a page sent, nor one of this machine, as long as it is as it was read.
func TestTakeAgain(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const old, now = "main.main;main.a 3\n", "main.main;main.b 3\n"
	write("cpu.folded", old)
	hourAgo := time.Now().Add(-time.Hour)
	if err := os.Chtimes("cpu.folded", hourAgo, hourAgo); err != nil {
		t.Fatal(err)
	}
	p, err := profile.Parse(strings.NewReader(old))
	if err != nil {
		t.Fatal(err)
	}
	s := New([]*recording.Recording{{Ref: "cpu.folded", Profile: p}}, Options{Hosts: []string{"localhost"}, Takes: true})
	for i, f := range []struct {
		name, text string
		want       taking
	}{
		{"cpu.folded", old, taking{"cpu.folded", true}},
		{"cpu.folded", now, taking{"cpu-2.folded", false}},
		{"cpu.folded", now, taking{"cpu-2.folded", true}},
		{"other.folded", now, taking{"other.folded", false}},
		{"cpu.folded", "written anew", taking{}}, // the file has other content now, and so has what is sent
		{"cpu.folded", old, taking{"cpu-3.folded", false}},
	} {
		if f.text == "written anew" {
			write("cpu.folded", old)
			continue
		}
		var got taking
		answered(t, sent(s, "POST", "/api/open?name="+f.name, binary, []byte(f.text)), &got)
		if got != f.want {
			t.Errorf("file %d, %s, is open as %+v, want %+v", i, f.name, got, f.want)
		}
	}
}

func escape(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		fmt.Fprintf(&b, "%%%02x", c)
	}
	return b.String()
}

// What is no profile, is too large, comes from another page or is not wanted at all is refused.
func TestTakeRefuses(t *testing.T) {
	s := New([]*recording.Recording{Measured(t)}, Options{Hosts: []string{"localhost"}, Takes: true})
	for _, f := range []struct {
		contentType string
		body        []byte
		code        int
	}{
		{"text/plain", []byte("main.main 1\n"), http.StatusUnsupportedMediaType}, // other pages could send that without being asked
		{binary, []byte("PK\x03\x04 no zip"), http.StatusUnprocessableEntity},
		{binary, []byte("\x7fELF"), http.StatusUnprocessableEntity},
		{binary, nil, http.StatusUnprocessableEntity},
		{binary, make([]byte, mostTaken+1), http.StatusRequestEntityTooLarge},
	} {
		if w := sent(s, "POST", "/api/open?name=x", f.contentType, f.body); w.Code != f.code {
			t.Errorf("%s of %d bytes: %d %s, want %d", f.contentType, len(f.body), w.Code, w.Body, f.code)
		}
	}
	s.taken = mostTakenAll
	if w := sent(s, "POST", "/api/open?name=x", binary, []byte("main.main 1\n")); w.Code != http.StatusInsufficientStorage {
		t.Errorf("when all room is taken: %d %s", w.Code, w.Body)
	}
	r := httptest.NewRequest("POST", "http://localhost:1234/api/open?name=x", strings.NewReader("main.main 1\n"))
	r.Header.Set("Content-Type", binary)
	w := httptest.NewRecorder()
	if s.Handler().ServeHTTP(w, r); w.Code != http.StatusForbidden {
		t.Errorf("without the token: %d", w.Code)
	}
	other := New([]*recording.Recording{Measured(t)}, Options{Hosts: []string{"localhost"}})
	if w := sent(other, "POST", "/api/open?name=x", binary, []byte("main.main 1\n")); w.Code != http.StatusNotFound {
		t.Errorf("a server that takes no files: %d", w.Code)
	}
	if len(s.all()) != 1 || len(other.all()) != 1 {
		t.Error("what was refused is open")
	}
}

// Views are saved under a name, in a file that the next server reads.
func TestSavedViews(t *testing.T) {
	file := filepath.Join(t.TempDir(), "hone", "views.json")
	opt := Options{Hosts: []string{"localhost"}, Saved: file}
	s := New([]*recording.Recording{Measured(t)}, opt)
	save := func(body string) int {
		return sent(s, "POST", "/api/saved", "application/json", []byte(body)).Code
	}
	for body, want := range map[string]int{
		`{"name":"json","link":"/flame?focus=json"}`:                           http.StatusOK,
		`{"name":" ","link":"/flame"}`:                                         http.StatusBadRequest,
		`{"name":"x","link":"http://evil.example/"}`:                           http.StatusBadRequest,
		`{"name":"x","link":"//evil.example/"}`:                                http.StatusBadRequest,
		`{"name":"` + strings.Repeat("x", 81) + `","link":"/flame"}`:           http.StatusBadRequest,
		`{"name":"x","link":"/flame?` + strings.Repeat("x", 2*maxQuery) + `"}`: http.StatusBadRequest,
		`no JSON`: http.StatusBadRequest,
	} {
		if got := save(body); got != want {
			t.Errorf("saving %.60s: %d, want %d", body, got, want)
		}
	}
	save(`{"name":"json","link":"/top?focus=json"}`) // in its place
	s = New([]*recording.Recording{Measured(t)}, opt)
	var list []savedView
	answered(t, get(s, s.Handler(), "/api/saved"), &list)
	if len(list) != 1 || list[0] != (savedView{"json", "/top?focus=json"}) {
		t.Errorf("saved are %+v", list)
	}
	save(`{"name":"last","link":"/top"}`)
	for _, r := range []struct {
		body string
		code int
		want []savedView
	}{
		{`{"name":"json","to":" text "}`, http.StatusOK, []savedView{{"text", "/top?focus=json"}, {"last", "/top"}}},
		{`{"name":"text","to":"text"}`, http.StatusOK, []savedView{{"text", "/top?focus=json"}, {"last", "/top"}}},
		{`{"name":"text","to":"last"}`, http.StatusConflict, nil},
		{`{"name":"gone","to":"new"}`, http.StatusConflict, nil},
		{`{"name":"text","to":""}`, http.StatusBadRequest, nil},
		{`{"name":"text","to":"json"}`, http.StatusOK, []savedView{{"json", "/top?focus=json"}, {"last", "/top"}}},
	} {
		w := sent(s, "PATCH", "/api/saved", "application/json", []byte(r.body))
		if w.Code != r.code {
			t.Errorf("renaming %s: %d %s, want %d", r.body, w.Code, w.Body, r.code)
		}
		if answered(t, get(s, s.Handler(), "/api/saved"), &list); r.want != nil && !slices.Equal(list, r.want) {
			t.Errorf("after %s there are %+v, want %+v", r.body, list, r.want)
		}
	}
	sent(s, "DELETE", "/api/saved?name=last", "", nil)
	for i := range mostSaved - 1 {
		save(fmt.Sprintf(`{"name":"v%d","link":"/top"}`, i))
	}
	if got := save(`{"name":"one more","link":"/top"}`); got != http.StatusConflict {
		t.Errorf("one more than there can be: %d", got)
	}
	answered(t, sent(s, "DELETE", "/api/saved?name=json", "", nil), &list)
	if len(list) != mostSaved-1 {
		t.Errorf("%d views are left", len(list))
	}
}

// A view for a ticket fits into one.
func TestMarkdownForTicket(t *testing.T) {
	var text strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&text, "main.main;example.com/some/package/name.function%d;example.com/another/package.(*Type).Method%d 5\n", i, i)
	}
	rec, err := readTaken("wide.folded", []byte(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	s := New([]*recording.Recording{rec}, Options{Hosts: []string{"localhost"}})
	for _, view := range []string{"flame?min=0", "top?min=0&limit=all", "calltree?min=0"} {
		name, query, _ := strings.Cut(view, "?")
		w := get(s, s.Handler(), "/download/markdown?view="+name+"&"+query)
		if w.Code != http.StatusOK || w.Body.Len() > mostTicket || w.Body.Len() < 1000 {
			t.Errorf("%s: %d, %d bytes", view, w.Code, w.Body.Len())
		}
		if !strings.Contains(w.Body.String(), "limit") {
			t.Errorf("%s does not say that rows are left out", view)
		}
	}
}

// Labels are compared in a store, too, which opens what pages name.
func TestLabelsOfStore(t *testing.T) {
	h := OfStore(Options{}, func(_ context.Context, ref string, _ bool) (*recording.Recording, error) {
		if ref != "store:shop" {
			return nil, fmt.Errorf("no %s", ref)
		}
		b := profile.NewBuilder(profile.Header{SampleTypes: []profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}})
		b.Functions = []profile.Function{{Name: "main.a"}}
		b.Locations = []profile.Location{{Mapping: profile.NoMapping, Lines: []profile.Line{{}}}}
		b.Renumber()
		for i, endpoint := range []string{"/a", "/b", "/c"} {
			b.Add([]uint32{0}, b.Labels([]profile.Label{{Key: "endpoint", Str: endpoint}}), []int64{int64(i + 1)})
		}
		p, err := b.Profile()
		if err != nil {
			return nil, err
		}
		return (&recording.Recording{Ref: ref, Profile: p}).Numbered(), nil
	})
	for path, want := range map[string][2]int64{
		"/api/diff?ref=store:shop&base=store:shop&tag=endpoint%3D/a&base-tag=endpoint%3D/c":           {1, 3},
		"/api/diff?ref=store:shop&tag=endpoint%3D/b&base-tag=endpoint%3D/a&base-tag=endpoint%3D/%5Ba": {2, 1},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost"+path, nil))
		var got report.Diff
		if strings.Contains(path, "%5B") {
			if w.Code != http.StatusUnprocessableEntity {
				t.Errorf("%s: %d %s", path, w.Code, w.Body)
			}
			continue
		}
		if answered(t, w, &got); got.Rows[0].Flat != want[0] || got.Rows[0].FlatBefore != want[1] {
			t.Errorf("%s: %+v", path, got.Rows)
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("POST", "http://localhost/api/open?name=x", strings.NewReader("a 1\n")))
	if w.Code == http.StatusOK {
		t.Error("a store takes files of pages")
	}
}
