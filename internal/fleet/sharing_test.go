package fleet

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/fleet/token"
)

// on returns what is on the shelf of those who have a token.
func (b *bench) on(t *testing.T, who string) Recordings {
	t.Helper()
	var out Recordings
	if err := json.Unmarshal(b.get("/api/v1/shelf", who).Body.Bytes(), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestWhoMayShare(t *testing.T) {
	b := newBench(t)
	file := b.get("/shelf/"+b.shared+".hone", "read").Body.Bytes()
	if secret, err := b.Tokens.Make(token.Token{Name: "write2", Tenant: "shop", Scopes: []token.Scope{token.Write}}); err == nil {
		b.secrets["write2"] = secret
	}
	for _, tt := range []struct {
		method, path, who string
		status            int
	}{
		{http.MethodPost, "/api/v1/shelf?name=a.hone", "none", http.StatusUnauthorized},
		{http.MethodPost, "/api/v1/shelf?name=a.hone", "wrong", http.StatusUnauthorized},
		{http.MethodPost, "/api/v1/shelf?name=a.hone", "read", http.StatusForbidden},
		{http.MethodPost, "/api/v1/shelf?name=a.hone", "admin", http.StatusOK},
		{http.MethodDelete, "/api/v1/shelf/" + b.shared, "none", http.StatusUnauthorized},
		{http.MethodDelete, "/api/v1/shelf/" + b.shared, "wrong", http.StatusUnauthorized},
		{http.MethodDelete, "/api/v1/shelf/" + b.shared, "read", http.StatusForbidden},
		{http.MethodDelete, "/api/v1/shelf/" + b.shared, "other", http.StatusForbidden},
		{http.MethodDelete, "/api/v1/shelf/" + b.shared, "write2", http.StatusForbidden},
		{http.MethodDelete, "/api/v1/shelf/" + b.shared, "admin", http.StatusNotFound}, // it is another tenant's
		{http.MethodDelete, "/api/v1/shelf/..%2f..%2ftokens", "write", http.StatusNotFound},
		{http.MethodPut, "/api/v1/shelf/" + b.shared, "write", http.StatusForbidden}, // all else is for those who read
	} {
		if w := b.send(tt.method, tt.path, bytes.NewReader(file), tt.who); w.Code != tt.status {
			t.Errorf("%s %s with token %s: %d %s, want %d", tt.method, tt.path, tt.who, w.Code, w.Body, tt.status)
		}
		if w := b.send(tt.method, tt.path, bytes.NewReader(file), tt.who, "Origin", "http://evil.example"); w.Code < 400 {
			t.Errorf("%s %s for the page of another site: %d", tt.method, tt.path, w.Code)
		}
	}
	if got := b.on(t, "read").Recordings; len(got) != 1 || got[0].Who != "write" || got[0].Note != "slow" || got[0].Link != "/shelf/"+b.shared || got[0].Expires.IsZero() {
		t.Errorf("on the shelf: %+v", got)
	}
	if got := b.on(t, "other").Recordings; len(got) != 1 || got[0].Name != "a.hone" || got[0].ID == b.shared {
		t.Errorf("on the shelf of another tenant: %+v", got)
	}
	if w := b.send(http.MethodDelete, "/api/v1/shelf/"+b.shared, nil, "admin", token.TenantHeader, "shop"); w.Code != http.StatusOK {
		t.Errorf("an admin deletes it: %d %s", w.Code, w.Body)
	}
	if w := b.get("/shelf/"+b.shared+".hone", "read"); w.Code != http.StatusNotFound || len(b.on(t, "read").Recordings) != 0 {
		t.Errorf("after it was deleted: %d", w.Code)
	}
	if w := b.send(http.MethodPost, "/api/v1/shelf?name=a.hone&expires=never", bytes.NewReader(file), "write"); w.Code != http.StatusOK {
		t.Errorf("sharing it again: %d %s", w.Code, w.Body)
	}
	if got := b.on(t, "read").Recordings; len(got) != 1 || !got[0].Expires.IsZero() || got[0].ID != b.shared {
		t.Errorf("on the shelf again: %+v", got)
	}
	if w := b.send(http.MethodDelete, "/api/v1/shelf/"+b.shared, nil, "write"); w.Code != http.StatusOK {
		t.Errorf("who put it there deletes it: %d %s", w.Code, w.Body)
	}
}

func TestSharedIsBounded(t *testing.T) {
	b := newBench(t)
	file := b.get("/shelf/"+b.shared+".hone", "read").Body.Bytes()
	b.Shelf.Each = int64(len(file))
	for path, tt := range map[string]struct {
		body   io.Reader
		status int
		says   string
	}{
		"":                               {bytes.NewReader(file), 400, "not a name"},
		"?name=a.hone&expires=soon":      {bytes.NewReader(file), 400, "want a time such as"},
		"?name=a.hone&file=x":            {bytes.NewReader(file), 400, "the keys are name, note, expires"},
		"?name=a.hone&note=1":            {bytes.NewReader(append(file, 1)), 413, "recording-size"},
		"?name=a.hone&note=2":            {io.MultiReader(bytes.NewReader(append(file, 1))), 413, "recording-size"}, // of no known length
		"?name=a.hone&note=3":            {strings.NewReader("hello"), 415, "not a whole recording"},
		"?note=x&name=" + "..%2Fa.hone":  {bytes.NewReader(file), 400, "not a name"},
		"?name=a%0d%0aSet-Cookie:%20x=1": {bytes.NewReader(file), 400, "control characters"},
	} {
		w := b.send(http.MethodPost, "/api/v1/shelf"+path, tt.body, "write")
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.says) {
			t.Errorf("%s: %d %s, want %d and %q", path, w.Code, w.Body, tt.status, tt.says)
		}
	}
	b.Shelf.Bytes = 10
	w := b.send(http.MethodPost, "/api/v1/shelf?name=a.hone", bytes.NewReader(file), "write")
	if w.Code != http.StatusInsufficientStorage || w.Header().Get("Retry-After") == "" {
		t.Errorf("without room: %d %s", w.Code, w.Body)
	}
	b.Shelf = nil
	if w := b.get("/api/v1/shelf", "read"); w.Code != http.StatusNotFound {
		t.Errorf("without a shelf: %d", w.Code)
	}
}

// A file is called as its recording, as far as that is the name of a file.
func TestSharedName(t *testing.T) {
	b := newBench(t)
	file := b.get("/shelf/"+b.shared+".hone", "read").Body.Bytes()
	for name, want := range map[string]string{
		"server.hone": "server.hone", "after deploy": "after deploy.hone", `a";x="b`: "a__x=_b.hone", "größe": "größe.hone", "...hone": "recording.hone",
		"-rf": "rf.hone", "<script>": "_script_.hone", ".hone": "recording.hone", "CON:": "CON_.hone", "a%0d%0ab": "a_0d_0ab.hone",
	} {
		w := b.send(http.MethodPost, "/api/v1/shelf?name="+url.QueryEscape(name), bytes.NewReader(file), "write")
		if w.Code != http.StatusOK {
			t.Errorf("%q: %d %s", name, w.Code, w.Body)
			continue
		}
		w = b.get("/shelf/"+b.shared+".hone", "read")
		kind, params, err := mime.ParseMediaType(w.Header().Get("Content-Disposition"))
		if err != nil || kind != "attachment" || params["filename"] != want || w.Header().Get("Content-Type") != "application/zip" {
			t.Errorf("%q is downloaded as %s (%v)", name, w.Header().Get("Content-Disposition"), err)
		}
	}
	if w := b.get("/shelf/"+b.shared, "read"); w.Code != http.StatusFound || w.Header().Get("Location") != "/shelf/"+b.shared+".hone" {
		t.Errorf("without a page, the link leads to %q with %d", w.Header().Get("Location"), w.Code)
	}
	if w := b.get("/shelf/"+b.shared, "read", "Accept", "text/html,*/*"); w.Code != http.StatusFound || w.Header().Get("Location") != "/overview?ref=shelf:"+b.shared {
		t.Errorf("a browser is led to %q with %d", w.Header().Get("Location"), w.Code)
	}
	for _, path := range []string{"/shelf/x", "/shelf/" + strings.Repeat("a", 20), "/shelf/..%2ftokens.json", "/shelf/" + b.shared + ".json"} {
		if w := b.get(path, "read"); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// What does not come is not waited for.
func TestSharedSlowly(t *testing.T) {
	ended := make(chan error, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := io.ReadAll(&upload{Reader: r.Body, control: http.NewResponseController(w), end: time.Now()})
		ended <- err
	}))
	defer s.Close()
	body, write := io.Pipe()
	defer write.Close()
	go func() {
		if resp, err := http.Post(s.URL, "application/zip", body); err == nil {
			resp.Body.Close()
		}
	}()
	if err := <-ended; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("reading ended with %v", err)
	}
}

// A deadline is over when a recording has come.
func TestSharedOnOneConnection(t *testing.T) {
	b := newBench(t)
	s := httptest.NewServer(b)
	defer s.Close()
	r, err := http.NewRequest(http.MethodPost, s.URL+"/api/v1/shelf?name=a.hone", bytes.NewReader(b.get("/shelf/"+b.shared+".hone", "read").Body.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+b.secrets["write"])
	for range 2 {
		resp, err := s.Client().Do(r.Clone(t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		words, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%d %s", resp.StatusCode, words)
		}
		r.Body, _ = r.GetBody()
	}
}
