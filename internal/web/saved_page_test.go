package web_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/hone-perf/hone/internal/testrun"
	"github.com/hone-perf/hone/internal/web"
)

// What a saved page makes of its calls is what the server says.
func TestPageSavedAgrees(t *testing.T) {
	testrun.Live(t, "asks a browser")
	browser, err := chromium()
	if err != nil {
		t.Fatal(err)
	}
	web.SavedAgrees(t, browser)
}

// A page that was saved of a program with sources shows each view without asking for anything.
func TestPageSavedViews(t *testing.T) {
	rec, module := web.Shop(t)
	p := advising(t, module, rec, 1280, 800)
	p.visit("/overview")
	p.found()
	html := eval[string](p, `fetch("/download/html").then((r) => r.text())`)
	file := filepath.Join(t.TempDir(), "saved.html")
	if err := os.WriteFile(file, []byte(html), 0o600); err != nil {
		t.Fatal(err)
	}
	p.do(chromedp.Navigate("file://" + file))
	p.settled()
	for _, tab := range []struct{ name, want string }{
		{"Overview", "regexp.MatchString"}, {"Call tree", "main.handle"}, {"Callers", "Callers and callees"}, {"Top", "main.handle"},
		{"Source", "FormValue"}, {"Flame", "1s"},
	} {
		p.visitTab(tab.name)
		if tab.name == "Overview" {
			p.found()
		}
		p.settled()
		if got := p.text("main"); !strings.Contains(got, tab.want) || strings.Contains(got, "saved without") || p.text(".problem") != "" {
			t.Errorf("%s shows %q", tab.name, got)
		}
		if tab.name == "Callers" {
			p.click(".picks button", "handle")
			p.settled()
			if n := p.colors(); n < 2 {
				t.Errorf("callers have %d colors; they are blank", n)
			}
		}
	}

	// Filters are pills, as with a server, and each view heeds them.
	p.click(".pills button", "add")
	p.wait(`document.querySelector(".add input") !== null`)
	p.do(chromedp.SendKeys(".add input", "handle"))
	p.click(".add button", "Apply")
	p.wait(`document.querySelector(".pill") !== null`)
	p.settled()
	p.visitTab("Top")
	if got := p.text("main"); !strings.Contains(got, "main.handle") {
		t.Errorf("what is left has no main.handle: %q", got)
	}
	p.visitTab("Source")
	if got := p.text(".problem"); !strings.Contains(got, "whole profile only") {
		t.Errorf("lines under a filter are %q", got)
	}
	if n := eval[int](p, `performance.getEntriesByType("resource").length`); n != 0 {
		t.Errorf("the saved page asked for %d things", n)
	}
	for _, size := range []int64{1280, 390} {
		p.do(chromedp.EmulateViewport(size, 800))
		for _, tab := range []string{"Flame", "Call tree", "Source"} {
			p.visitTab(tab)
			p.settled()
			if dir := os.Getenv("SHOTS"); dir != "" {
				p.shot(filepath.Join(dir, fmt.Sprintf("saved-%s-%d.png", strings.ReplaceAll(tab, " ", ""), size)))
			}
		}
	}
}
