package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"slices"
	"time"

	"github.com/chromedp/chromedp"
)

// firstPicture waits until a flame graph is painted with all its text, and returns how long that took since the page was asked for.
const firstPicture = `new Promise((done, fail) => {
	const end = performance.now() + 30000;
	const look = () => {
		const e = performance.getEntriesByName("hone.paint").find((e) => e.detail.done);
		if (e) done(e.startTime + e.duration);
		else if (performance.now() > end) fail(new Error("nothing was painted"));
		else setTimeout(look, 1);
	};
	look();
})`

const pageRounds = 9

// page measures how long a browser takes to the flame graph of a selection: in a browser that was never here, and in one that has the scripts. The server
// adds the selection up for each one anew, since each ends a little later.
func (b *bench) page(s *server, what, service string, from, to time.Time) error {
	path, err := exec.LookPath("chromium")
	if err != nil {
		return errors.New("there is no chromium; apt-get install -y chromium")
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU)
	alloc, stopAlloc := chromedp.NewExecAllocator(b.ctx, opts...)
	defer stopAlloc()
	browser, stop := chromedp.NewContext(alloc)
	defer stop()
	if err := chromedp.Do(browser, chromedp.EmulateViewport(1600, 900)); err != nil {
		return err
	}
	var all []time.Duration
	for i := range pageRounds + 1 {
		end := to.Add(time.Duration(i) * time.Second)
		ref := fmt.Sprintf("store:%s@%s..%s", service, from.UTC().Format(time.RFC3339), end.UTC().Format(time.RFC3339))
		took, err := picture(browser, s.url+"/flame?ref="+url.QueryEscape(ref))
		if err != nil {
			return fmt.Errorf("%s: %w", ref, err)
		}
		if i == 0 {
			b.row(what+": flame graph in a browser that was never here", fmt.Sprintf("%.0f ms", took.Seconds()*1e3), "", true)
			continue
		}
		all = append(all, took)
	}
	slices.SortFunc(all, func(a, b time.Duration) int { return cmp.Compare(a, b) })
	mid := all[len(all)/2]
	b.row(what+": flame graph in a browser", fmt.Sprintf("%.0f ms (%.0f to %.0f)", mid.Seconds()*1e3, all[0].Seconds()*1e3, all[len(all)-1].Seconds()*1e3), "300 ms", mid <= 300*time.Millisecond)
	return nil
}

func picture(browser context.Context, address string) (time.Duration, error) {
	limited, stop := context.WithTimeout(browser, time.Minute)
	defer stop()
	if err := chromedp.Do(limited, chromedp.Navigate(address)); err != nil {
		return 0, err
	}
	ms, err := chromedp.Run(limited, chromedp.Evaluate[float64](firstPicture, chromedp.EvalAwaitPromise))
	return time.Duration(ms * float64(time.Millisecond)), err
}
