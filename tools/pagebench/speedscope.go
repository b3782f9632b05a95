package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// scope opens a profile with speedscope, all of which runs in the browser. Its title names the profile once it is shown.
func (r *runner) scope(ctx context.Context, file string) (p rival, err error) {
	mux := http.NewServeMux()
	mux.Handle("/", http.FileServer(http.Dir(r.speedscope)))
	mux.HandleFunc("/profile.pb.gz", func(w http.ResponseWriter, req *http.Request) { http.ServeFile(w, req, file) })
	s := httptest.NewServer(mux)
	defer s.Close()
	tab, closeTab, err := r.tab(r.limit)
	if err != nil {
		return p, err
	}
	defer closeTab()
	const watch = `globalThis.failed = ""; globalThis.alert = (why) => { failed = String(why) || "an alert"; };
		addEventListener("unhandledrejection", (e) => { failed ||= String(e.reason); }); addEventListener("error", (e) => { failed ||= e.message; });`
	if _, err := chromedp.Call(tab, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: watch}); err != nil {
		return p, err
	}
	start := time.Now()
	if err := chromedp.Do(tab, chromedp.Navigate(s.URL+"/index.html#profileURL="+s.URL+"/profile.pb.gz")); err != nil {
		return p, err
	}
	got, err := eval[struct {
		At  float64 // in milliseconds since 1970
		Why string
	}](tab, `new Promise((done) => {
		const look = () => {
			if (failed) done({ Why: failed });
			else if (document.title.includes(" - speedscope")) requestAnimationFrame(() => setTimeout(() => done({ At: performance.timeOrigin + performance.now() })));
			else setTimeout(look, 5);
		};
		look();
	})`)
	switch {
	case tab.Err() != nil && ctx.Err() == nil:
		return rival{drawn: r.limit, timedOut: true}, nil
	case err != nil:
		return p, fmt.Errorf("after %.0f s: %w", time.Since(start).Seconds(), err)
	case got.Why != "":
		return p, fmt.Errorf("it gave up after %.0f s: %w", time.Since(start).Seconds(), errors.New(got.Why))
	}
	return rival{drawn: time.UnixMicro(int64(got.At * 1000)).Sub(start)}, nil
}
