package sessions

import (
	"net/http/httptest"
	"strings"
	"testing"
)

func TestServeHTTP(t *testing.T) {
	s := NewStore()
	for _, want := range []string{"Welcome, ann. You were here 1 times.", "Welcome, ann. You were here 2 times."} {
		rec := httptest.NewRecorder()
		s.ServeHTTP(rec, httptest.NewRequest("GET", "/?user=ann", nil))
		if got := strings.TrimSpace(rec.Body.String()); got != want {
			t.Errorf("the answer is %q; want %q", got, want)
		}
	}
	if n := s.Users(); n != 1 {
		t.Errorf("there are %d users; want 1", n)
	}
}

func TestNobody(t *testing.T) {
	rec := httptest.NewRecorder()
	NewStore().ServeHTTP(rec, httptest.NewRequest("GET", "/", nil))
	if rec.Code != 400 {
		t.Errorf("the status is %d; want 400", rec.Code)
	}
}

func BenchmarkServeHTTP(b *testing.B) {
	s, req := NewStore(), httptest.NewRequest("GET", "/?user=ann", nil)
	b.ReportAllocs()
	for b.Loop() {
		s.ServeHTTP(httptest.NewRecorder(), req)
	}
}
