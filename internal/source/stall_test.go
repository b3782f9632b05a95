package source

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"
)

// A server that begins to answer and stalls is not waited for without end.
func TestStalledAnswer(t *testing.T) {
	const text = "the beginning of a profile"
	end := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Write([]byte(text))
		w.(http.Flusher).Flush()
		<-end
	}))
	defer server.Close()
	defer close(end)
	o := &Options{stall: 50 * time.Millisecond}
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	_, err = o.Get(t.Context(), u, time.Hour)
	var stalled *StalledError
	if !errors.As(err, &stalled) || stalled.Sent != int64(len(text)) || stalled.Host != u.Host {
		t.Errorf("Get = %v", err)
	}
	if _, err := o.Fetch(t.Context(), server.URL+"/debug/pprof/heap"); !errors.As(err, &stalled) {
		t.Errorf("Fetch = %v", err)
	}
}

func TestAsked(t *testing.T) {
	for text, want := range map[string]time.Duration{"": 0, "seconds=5": 5 * time.Second, "seconds=-1": 0, "seconds=x": 0} {
		if got := asked(&url.URL{RawQuery: text}); got != want {
			t.Errorf("asked(%q) = %v, want %v", text, got, want)
		}
	}
}
