package clickhouse

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/store"
)

func someColumns() []column {
	return []column{
		{"a", []string{"x", "", "näive"}}, {"b", []uint8{0, 1, 255}}, {"c", []uint64{0, 1 << 63, 5}}, {"d", []int64{-1, 1 << 62, 0}},
		{"e", [][]string{{"p", "q"}, nil, {""}}}, {"f", [][]uint64{nil, {7}, {8, 9}}}, {"g", [][]int64{{-3}, {}, nil}},
	}
}

func targets() []any {
	return []any{new([]string), new([]uint8), new([]uint64), new([]int64), new([][]string), new([][]uint64), new([][]int64)}
}

func TestBlocks(t *testing.T) {
	b := appendBlock(nil, someColumns())
	into := targets()
	if err := readBlocks(bytes.NewReader(append(b, b...)), into); err != nil {
		t.Fatal(err)
	}
	for i, c := range someColumns() {
		got := reflect.ValueOf(into[i]).Elem()
		want := reflect.ValueOf(c.values)
		if got.Len() != 2*want.Len() {
			t.Fatalf("%s: %d rows, want %d", c.name, got.Len(), 2*want.Len())
		}
		for row := range got.Len() {
			a, b := got.Index(row), want.Index(row%want.Len())
			if a.Kind() == reflect.Slice && a.Len() == 0 && b.Len() == 0 {
				continue
			}
			if !reflect.DeepEqual(a.Interface(), b.Interface()) {
				t.Errorf("%s, row %d: %v, want %v", c.name, row, a, b)
			}
		}
	}
	for n := range b {
		if n > 0 && readBlocks(bytes.NewReader(b[:n]), targets()) == nil {
			t.Errorf("an answer that ends after %d of %d bytes is taken", n, len(b))
		}
	}
}

func FuzzReadBlocks(f *testing.F) {
	f.Add(appendBlock(nil, someColumns()))
	f.Add([]byte{1, 255, 255, 255, 255, 255, 1, 1, 'a', 6, 'S', 't', 'r', 'i', 'n', 'g'})
	f.Fuzz(func(t *testing.T, in []byte) {
		readBlocks(bytes.NewReader(in), targets()) // refusing is fine; a panic or much memory is not
		readBlocks(bytes.NewReader(in), []any{new([]string)})
	})
}

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{
		"api": `'api'`, `a' OR 1=1 --`: `'a\x27 OR 1=1 --'`, `\`: `'\x5c'`, "ä\x00\n": `'\xc3\xa4\x00\x0a'`, "": `''`,
	} {
		if got := quote(in); got != want {
			t.Errorf("quote(%q) = %s, want %s", in, got, want)
		}
	}
}

// answering serves what a test says, and the address of it with a password.
func answering(t *testing.T, serve http.HandlerFunc) *httpClient {
	t.Helper()
	s := httptest.NewServer(serve)
	t.Cleanup(s.Close)
	a, err := ParseAddress("clickhouse://me:hunter2@" + strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	c := newHTTPClient(a)
	t.Cleanup(c.close)
	return c
}

func TestServerErrors(t *testing.T) {
	var numbers []uint64
	for name, tt := range map[string]struct {
		serve http.HandlerFunc
		want  string
	}{
		"an exception": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-ClickHouse-Exception-Code", "516")
			http.Error(w, "Code: 516. Authentication failed", http.StatusForbidden)
		}, "Authentication failed"},
		"another port": {func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, "Port 9000 is for clickhouse-client program. You must use port 8123 for HTTP.", http.StatusBadRequest)
		}, "must use port 8123"},
		"another program": {func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "<html>") }, "reading the answer"},
		"elsewhere": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusTemporaryRedirect)
		}, "307"},
		"cut off": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "100")
			w.Write(appendBlock(nil, []column{{"n", []uint64{1}}}))
		}, "unexpected EOF"},
	} {
		c := answering(t, tt.serve)
		err := c.query(t.Context(), "SELECT 1", &numbers)
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want an error with %q", name, err, tt.want)
		}
	}
	full := answering(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-ClickHouse-Exception-Code", "243")
		http.Error(w, "Code: 243. NOT_ENOUGH_SPACE", http.StatusInternalServerError)
	})
	if err := full.insert(t.Context(), "pins", "1", someColumns()); !errors.Is(err, store.ErrFull) {
		t.Errorf("a disk that is full: %v", err)
	}
	c := answering(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-ClickHouse-User") != "me" || r.Header.Get("X-ClickHouse-Key") != "hunter2" || strings.Contains(r.URL.String(), "hunter2") {
			t.Errorf("%s is asked for as %v", r.URL, r.Header)
		}
		w.Write(appendBlock(nil, []column{{"n", []uint64{7}}}))
	})
	if err := c.query(t.Context(), "SELECT 7", &numbers); err != nil || numbers[len(numbers)-1] != 7 {
		t.Errorf("%v, %v", numbers, err)
	}
	// A host that is not there is passed over.
	c.address.Hosts = append([]string{"127.0.0.1:1"}, c.address.Hosts...)
	if err := c.query(t.Context(), "SELECT 7", &numbers); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.query(ctx, "SELECT 7", &numbers); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
