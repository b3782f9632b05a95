package receive

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/hone-perf/hone/internal/fleet/message"
	"github.com/hone-perf/hone/internal/fleet/token"
	"github.com/hone-perf/hone/internal/store"
	"github.com/hone-perf/hone/internal/store/storetest"
)

// A nowhere keeps nothing.
type nowhere struct{ *storetest.Memory }

func (nowhere) Add(_ context.Context, _ string, uploads []*store.Upload) ([]store.Outcome, error) {
	return make([]store.Outcome, len(uploads)), nil
}

// BenchmarkPush is what it takes to receive profiles of the size of real ones, without keeping them.
func BenchmarkPush(b *testing.B) {
	f, err := token.Open(filepath.Join(b.TempDir(), "tokens.json"))
	if err != nil {
		b.Fatal(err)
	}
	secret, err := f.Make(token.Token{Name: "w", Scopes: []token.Scope{token.Write}})
	if err != nil {
		b.Fatal(err)
	}
	l := DefaultLimits
	l.Rate = 0
	mux := http.NewServeMux()
	New(Options{Store: nowhere{storetest.NewMemory()}, Gate: &token.Gate{Tokens: f}, Limits: func(string) Limits { return l }}).Register(mux)
	fleet := storetest.Like117kB()
	fleet.Rounds = 10
	var bodies [][]byte
	for _, u := range fleet.All() {
		bodies = append(bodies, message.Marshal(pushOf(u, map[string]string{"cpu": "process_cpu", "heap": "memory"}[u.Kind])))
	}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		body := bodies[n%len(bodies)]
		n++
		b.SetBytes(int64(len(body)))
		r := httptest.NewRequest("POST", "http://hone.example/push.v1.PusherService/Push", bytes.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+secret)
		r.Header.Set("Content-Type", "application/proto")
		w := httptest.NewRecorder()
		if mux.ServeHTTP(w, r); w.Code != 200 {
			b.Fatalf("%d %s", w.Code, w.Body)
		}
	}
}
