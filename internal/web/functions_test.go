package web_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/fleet"
	"github.com/hone-perf/hone/internal/fleet/token"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/store/disk"
	"github.com/hone-perf/hone/internal/store/storetest"
	"github.com/hone-perf/hone/internal/web"
)

// Pages about functions have the same answers from profiles without lines, of which a service that was deployed has fewer stacks.
func TestOnlyFunctions(t *testing.T) {
	f := storetest.Small()
	f.Deploy, f.Rounds = 1, 12 // so that there is something to leave out
	now := func() time.Time { return f.Start.Add(14 * time.Minute) }
	kept, err := disk.Open(filepath.Join(t.TempDir(), "data"), disk.Options{Limits: disk.Defaults.Limits, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	if _, err := kept.Add(context.Background(), token.DefaultTenant, f.All()); err != nil {
		t.Fatal(err)
	}
	tokens, err := token.Open(filepath.Join(t.TempDir(), "tokens.json"))
	if err != nil {
		t.Fatal(err)
	}
	s := fleet.New(fleet.Options{Store: kept, Tokens: tokens, Now: now})
	least, most := 1<<30, 0
	pages := func(lines bool) http.Handler {
		return web.OfStore(web.Options{}, func(ctx context.Context, ref string, functions bool) (*recording.Recording, error) {
			rec, err := s.Open(ctx, ref, functions && !lines)
			if err == nil {
				least, most = min(least, rec.Profile.NumSamples()), max(most, rec.Profile.NumSamples())
			}
			return rec, err
		})
	}
	get := func(lines bool, path string) string {
		s.Pages = pages(lines)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost"+path, nil))
		if w.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", path, w.Code, w.Body)
		}
		return w.Body.String()
	}
	ref := "&ref=" + url.QueryEscape("store:service-0@-1h")
	for _, path := range []string{
		"flame?", "flame?invert=1", "flame?by=filefunction", "flame?noinlines=1", "flame?by=line", "flame?by=address", "flame?by=file", "flame?by=package", "flame?focus=step1",
		"session?", "calltree?", "top?", "top?sort=cum", "top?by=line", "sandwich?arg=step1", "graph?", "graph?by=line", "tags?", "list?arg=step1", "traces?",
	} {
		for _, metric := range []string{"cpu", "inuse_space"} {
			path := "/api/" + path + "&metric=" + metric + ref
			if got, want := get(false, path), get(true, path); got != want {
				t.Errorf("%s without lines:\n%s\nwith lines:\n%s", path, got, want)
			}
		}
	}
	if least == most {
		t.Error("no answer was from a profile without lines")
	}
}
