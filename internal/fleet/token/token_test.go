package token

import (
	"encoding/base64"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/hint"
)

var now = time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)

func open(t *testing.T) *File {
	t.Helper()
	f, err := Open(filepath.Join(t.TempDir(), "tokens.json"))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *File) mustMake(t *testing.T, tok Token) string {
	t.Helper()
	tok.Made = now
	secret, err := f.Make(tok)
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

func TestFile(t *testing.T) {
	f := open(t)
	if f.Guarded() {
		t.Error("a server without a file of tokens is guarded")
	}
	secret := f.mustMake(t, Token{Name: "ci", Scopes: []Scope{Write}})
	if raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(secret, prefix)); err != nil || len(raw) != 32 {
		t.Errorf("the secret %s has %d random bytes, %v; want 32", secret, len(raw), err)
	}
	text, err := os.ReadFile(f.name)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), secret) || strings.Contains(string(text), strings.TrimPrefix(secret, prefix)) {
		t.Errorf("the file holds the secret:\n%s", text)
	}
	if st, err := os.Stat(f.name); err != nil || runtime.GOOS != "windows" && st.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v, %v; want 0600", st.Mode(), err)
	}
	if _, err := f.Make(Token{Name: "ci", Scopes: []Scope{Read}}); err == nil {
		t.Error("two tokens have one name")
	}

	other, err := Open(f.name)
	if err != nil {
		t.Fatal(err)
	}
	second := other.mustMake(t, Token{Name: "grafana", Tenant: "shop", Scopes: []Scope{Read}, Expires: now.Add(time.Hour)})
	if tok, err := f.find(second); err != nil || tok == nil || tok.Tenant != "shop" {
		t.Errorf("a token that another process made is %+v, %v", tok, err)
	}
	tokens, err := f.List()
	if err != nil || len(tokens) != 2 || tokens[0].Name != "ci" || tokens[0].Tenant != DefaultTenant {
		t.Errorf("List() = %+v, %v", tokens, err)
	}
	for _, name := range []string{"ci", "grafana"} {
		if err := other.Revoke(name); err != nil {
			t.Error(err)
		}
	}
	if err := other.Revoke("ci"); !errors.Is(err, ErrNone) {
		t.Errorf("revoking twice: %v", err)
	}
	if tok, err := f.find(secret); tok != nil || err != nil {
		t.Errorf("a revoked token is %+v, %v", tok, err)
	}
	if !f.Guarded() {
		t.Error("a server whose tokens are all revoked answers everybody")
	}
	if err := os.Remove(f.name); err != nil {
		t.Fatal(err)
	}
	if !f.Guarded() {
		t.Error("a server whose file of tokens is gone answers everybody")
	}
}

func TestBadTokens(t *testing.T) {
	f := open(t)
	for _, bad := range []Token{
		{Name: "", Scopes: []Scope{Read}},
		{Name: "../x", Scopes: []Scope{Read}},
		{Name: "a/b", Scopes: []Scope{Read}},
		{Name: "ok", Tenant: "..", Scopes: []Scope{Read}},
		{Name: "ok", Tenant: "a b", Scopes: []Scope{Read}},
		{Name: strings.Repeat("x", 65), Scopes: []Scope{Read}},
		{Name: "ok"},
		{Name: "ok", Scopes: []Scope{"all"}},
		{Name: "ok", Scopes: []Scope{Read}, Made: now, Expires: now},
	} {
		if _, err := f.Make(bad); err == nil {
			t.Errorf("Make(%+v) made a token", bad)
		}
	}
	if f.Guarded() {
		t.Error("a token that was not made left a file")
	}
	for _, text := range []string{
		"", "{}", `{"version":2,"tokens":[]}`, `{"version":1,"tokens":[{"name":"a","tenant":"a","scopes":["read"],"sha256":"00"}]}`,
		`{"version":1,"tokens":[{"name":"a","tenant":"../a","scopes":["read"],"sha256":"` + strings.Repeat("0", 64) + `"}]}`,
	} {
		if err := os.WriteFile(f.name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(f.name); err == nil {
			t.Errorf("a file with %q was read", text)
		}
		// What was asked before stays closed.
		g := &Gate{Tokens: f}
		_, err := g.Allow(httptest.NewRequest("GET", "http://localhost/", nil), Read)
		if err == nil || ReasonOf(err).Status != http.StatusUnauthorized {
			t.Errorf("with a file of %q the gate says %v", text, err)
		}
	}
}

func TestMayListen(t *testing.T) {
	f := open(t)
	for addr, want := range map[string]bool{
		"127.0.0.1:80": true, "localhost:80": true, "[::1]:80": true, "127.8.9.1:1": true, "[::ffff:127.0.0.1]:80": true,
		":80": false, "0.0.0.0:80": false, "[::]:80": false, "192.0.2.1:80": false, "example.com:80": false, "localhost.example.com:80": false,
	} {
		if err := MayListen(addr, f); (err == nil) != want {
			t.Errorf("MayListen(%q) without tokens: %v", addr, err)
		} else if next := hint.Next(err).String(); err != nil && !strings.Contains(next, " data="+filepath.Dir(f.name)+" NAME") {
			t.Errorf("MayListen(%q) says to make a token in another folder: %s", addr, next)
		} else if err != nil && !strings.Contains(err.Error(), addr) {
			t.Errorf("MayListen(%q) does not name the address: %v", addr, err)
		}
	}
	f.mustMake(t, Token{Name: "a", Scopes: []Scope{Read}})
	if err := MayListen("0.0.0.0:80", f); err != nil {
		t.Error(err)
	}
}

func TestGate(t *testing.T) {
	f := open(t)
	reader := f.mustMake(t, Token{Name: "r", Tenant: "shop", Scopes: []Scope{Read}})
	writer := f.mustMake(t, Token{Name: "w", Tenant: "shop", Scopes: []Scope{Write}})
	admin := f.mustMake(t, Token{Name: "a", Scopes: []Scope{Admin}})
	old := f.mustMake(t, Token{Name: "o", Scopes: []Scope{Read}, Expires: now.Add(time.Minute)})
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	bearer := func(s string) func(*http.Request) { return header("Authorization", "Bearer "+s) }
	basic := func(user, password string) func(*http.Request) {
		return func(r *http.Request) { r.SetBasicAuth(user, password) }
	}
	tests := []struct {
		name   string
		need   Scope
		edit   []func(*http.Request)
		status int
		tenant string
	}{
		{"nothing", Read, nil, 401, ""},
		{"empty", Read, []func(*http.Request){bearer("")}, 401, ""},
		{"no such token", Read, []func(*http.Request){bearer(reader[:len(reader)-1] + "!")}, 401, ""},
		{"the hash is no token", Read, []func(*http.Request){bearer(f.tokens[0].Hash)}, 401, ""},
		{"longer than any", Read, []func(*http.Request){bearer(strings.Repeat("x", 1<<16))}, 401, ""},
		{"reader", Read, []func(*http.Request){bearer(reader)}, 0, "shop"},
		{"reader, other case", Read, []func(*http.Request){header("Authorization", "bearer "+reader)}, 0, "shop"},
		{"reader as a password", Read, []func(*http.Request){basic("anybody", reader)}, 0, "shop"},
		{"reader as a user", Read, []func(*http.Request){basic(reader, "")}, 401, ""},
		{"reader writes", Write, []func(*http.Request){bearer(reader)}, 403, ""},
		{"writer reads", Read, []func(*http.Request){bearer(writer)}, 403, ""},
		{"writer", Write, []func(*http.Request){bearer(writer)}, 0, "shop"},
		{"writer is no admin", Admin, []func(*http.Request){bearer(writer)}, 403, ""},
		{"admin writes", Write, []func(*http.Request){bearer(admin)}, 0, DefaultTenant},
		{"admin for another", Read, []func(*http.Request){bearer(admin), header(TenantHeader, "shop")}, 0, "shop"},
		{"admin for a path", Read, []func(*http.Request){bearer(admin), header(TenantHeader, "../shop")}, 400, ""},
		{"admin for two", Read, []func(*http.Request){bearer(admin), header(TenantHeader, "a|b")}, 400, ""},
		{"reader for another", Read, []func(*http.Request){bearer(reader), header(TenantHeader, "default")}, 0, "shop"},
		{"expired", Read, []func(*http.Request){bearer(old)}, 401, ""},
		{"another page", Read, []func(*http.Request){basic("", reader), header("Origin", "http://evil.example")}, 403, ""},
		{"no page", Read, []func(*http.Request){basic("", reader), header("Origin", "null")}, 403, ""},
		{"its page", Read, []func(*http.Request){basic("", reader), header("Origin", "http://hone.example:80")}, 0, "shop"},
		{"another site", Read, []func(*http.Request){basic("", reader), header("Sec-Fetch-Site", "cross-site")}, 403, ""},
		{"its site", Read, []func(*http.Request){basic("", reader), header("Sec-Fetch-Site", "same-origin")}, 0, "shop"},
	}
	for _, tt := range tests {
		g := &Gate{Tokens: f, Now: func() time.Time { return now.Add(time.Hour) }}
		r := httptest.NewRequest("POST", "http://hone.example:80/x", nil)
		for _, edit := range tt.edit {
			edit(r)
		}
		who, err := g.Allow(r, tt.need)
		status := 0
		if err != nil {
			status = ReasonOf(err).Status
		}
		if status != tt.status || who.Tenant != tt.tenant {
			t.Errorf("%s: %+v, %v; want %d of %q", tt.name, who, err, tt.status, tt.tenant)
		}
		if err != nil && strings.Contains(err.Error(), reader) {
			t.Errorf("%s: the error repeats a token: %v", tt.name, err)
		}
	}
}

func TestHosts(t *testing.T) {
	without, with := open(t), open(t)
	secret := with.mustMake(t, Token{Name: "r", Scopes: []Scope{Read}})
	tests := []struct {
		tokens *File
		hosts  []string
		host   string
		ok     bool
	}{
		{without, nil, "localhost:4040", true},
		{without, nil, "127.0.0.1:4040", true},
		{without, nil, "[::1]:4040", true},
		{without, nil, "rebound.example:4040", false},
		{without, nil, "localhost.evil.example", false},
		{without, nil, "", false},
		{with, nil, "hone.example", true},
		{with, []string{"hone.example"}, "hone.example:8080", true},
		{with, []string{"hone.example"}, "HONE.example", true},
		{with, []string{"hone.example"}, "evil.example", false},
		{with, []string{"hone.example"}, "127.0.0.1:8080", true},
	}
	for _, tt := range tests {
		r := httptest.NewRequest("GET", "/", nil)
		r.Host = tt.host
		r.Header.Set("Authorization", "Bearer "+secret)
		r.Header.Set(TenantHeader, "other")
		who, err := (&Gate{Tokens: tt.tokens, Hosts: tt.hosts, Now: func() time.Time { return now }}).Allow(r, Read)
		if (err == nil) != tt.ok {
			t.Errorf("host %q of %q: %v", tt.host, tt.hosts, err)
		}
		if err == nil && who.Tenant != DefaultTenant {
			t.Errorf("host %q: the tenant is %q", tt.host, who.Tenant)
		}
	}
}
