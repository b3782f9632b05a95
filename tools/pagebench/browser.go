package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"
)

//go:embed page.js
var pageScript string

// startBrowser starts the browser, which is not part of what is measured.
func (r *runner) startBrowser(ctx context.Context) (stop func(), err error) {
	var path string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err = exec.LookPath(name); err == nil {
			break
		}
	}
	if err != nil {
		return nil, errors.New("there is no chromium; apt-get install -y chromium")
	}
	// Headless and without background networking by default.
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU)
	alloc, stopAlloc := chromedp.NewExecAllocator(ctx, opts...)
	var stopBrowser context.CancelFunc
	r.browser, stopBrowser = chromedp.NewContext(alloc)
	stop = func() {
		stopBrowser()
		stopAlloc()
	}
	if err := chromedp.Do(r.browser); err != nil {
		stop()
		return nil, fmt.Errorf("starting %s: %w", path, err)
	}
	return stop, nil
}

// tab opens a tab as large as many screens are.
func (r *runner) tab(limit time.Duration) (context.Context, context.CancelFunc, error) {
	ctx, stop := chromedp.NewContext(r.browser)
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(1600, 900)); err != nil {
		stop()
		return nil, nil, err
	}
	limited, stopLimit := context.WithTimeout(ctx, limit)
	return limited, func() {
		stopLimit()
		stop()
	}, nil
}

// prepare has page.js run in every page of a tab.
func prepare(ctx context.Context) error {
	if _, err := chromedp.Call(ctx, page.AddScriptToEvaluateOnNewDocument,
		page.AddScriptToEvaluateOnNewDocumentParams{Source: pageScript}); err != nil {
		return err
	}
	_, err := chromedp.Call(ctx, performance.Enable, performance.EnableParams{TimeDomain: "threadTicks"})
	return err
}

// eval returns what an expression in the page, or what it promises, is.
func eval[T any](ctx context.Context, js string) (T, error) {
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](js, chromedp.EvalAwaitPromise))
	if err != nil {
		err = fmt.Errorf("%s: %w", js, err)
	}
	return v, err
}

// scriptTime returns how much CPU time scripts have taken in a tab.
func scriptTime(ctx context.Context) (time.Duration, error) {
	got, err := chromedp.Call(ctx, performance.GetMetrics, cdp.Empty{})
	if err != nil {
		return 0, err
	}
	for _, m := range got.Metrics {
		if m.Name == "ScriptDuration" {
			return time.Duration(m.Value * float64(time.Second)), nil
		}
	}
	return 0, errors.New("the browser does not say how long scripts ran")
}
