package web_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/hone-perf/hone/internal/web"
)

// Escape closes what is open above a view, and leaves the view alone.
func TestPageEscape(t *testing.T) {
	_, url := serveWith(t, web.Options{Saved: filepath.Join(t.TempDir(), "views.json")}, nil, labeled(t))
	p := open(t, url, 1280, 800)
	for _, path := range []string{"/flame?root=main.main", "/flame?ui.q=main", "/top?ui.q=main"} {
		for _, box := range []string{"download", "saved"} {
			p.visit(path)
			before := eval[string](p, `location.search`)
			p.click("details.menu summary[title*="+box+"]", "")
			p.wait(`document.querySelector("details.menu[open]") !== null`)
			p.settled()
			eval[bool](p, `document.querySelector("details.menu[open] a, details.menu[open] summary").focus(); true`)
			p.key(kb.Escape)
			p.wait(`document.querySelector("details.menu[open]") === null`)
			if got := eval[string](p, `location.search`); got != before {
				t.Errorf("Escape in the box %s of %s led to %s", box, path, got)
			}
			if got := eval[string](p, `document.activeElement.tagName`); got != "SUMMARY" {
				t.Errorf("after the box %s was closed, the focus is on %s", box, got)
			}
			eval[bool](p, `document.activeElement.blur(); true`)
			p.key(kb.Escape) // with nothing open it is of the view again
			p.wait(`location.search !== ` + "`" + before + "`")
		}
	}

	// The form of a filter, from its buttons as well.
	p.visit("/flame?root=main.main")
	p.click(".pills button", "add")
	p.wait(`document.activeElement === document.querySelector(".add input")`)
	p.do(chromedp.Focus(".add button[type=button]"))
	p.key(kb.Escape)
	p.wait(`document.querySelector(".add") === null`)
	if got := eval[string](p, `location.search`); got != "?root=main.main" {
		t.Errorf("Escape in the form of a filter led to %s", got)
	}

	// The sheet has the key of each view, the call tree among them: it has a letter, and the views after it still have their numbers.
	tabs := eval[string](p, `[...document.querySelectorAll(".tabs a")].map((a) => a.title).join("\n")`)
	told := eval[string](p, `[...document.querySelector(".sheet section").querySelectorAll("dl > div")].map((d) => d.querySelector("dd").textContent + " (" + d.querySelector("dt").textContent + ")").join("\n")`)
	if told != tabs || !strings.Contains(told, "Call tree (w)\nCallers (3)") {
		t.Errorf("the sheet of keys has the views\n%s\nand the tabs are\n%s", told, tabs)
	}
}

// A link leads to what is selected when it is pressed, also while the URL still lags behind the keys, and to a call and not only to its function.
func TestPageLinkOfSelection(t *testing.T) {
	p := open(t, serve(t, []byte(walked)), 1280, 800)
	p.visit("/flame?ui.q=walk")
	at := `[document.querySelector(".stepper .num")?.innerText, document.querySelector("[role=treeitem][aria-selected=true]")?.ariaLevel].join()`
	p.wait(at + ` === "– / 2,1"`)
	p.key("n")
	p.key("n")
	p.wait(`location.search.includes("ui.call=main.main%3Bmain.walk%3Bmain.list%3Bmain.walk")`)
	p.visit(eval[string](p, `location.pathname + location.search`))
	p.wait(at + ` === "2 / 2,5"`)
	p.key("n")
	p.wait(at + ` === "1 / 2,3" && !location.search.includes("ui.call")`) // the widest needs no more than the function

	p.visit("/flame?ui.sel=main.walk")
	// The moment after which the URL follows never comes.
	eval[bool](p, `window.setTimeout = ((real) => (f, ms, ...rest) => ms === 120 ? 1e9 : real(f, ms, ...rest))(window.setTimeout); true`)
	p.key(kb.ArrowDown)
	p.wait(`document.querySelector("[role=treeitem][aria-selected=true]")?.innerText.includes("main.list")`)
	if got := eval[string](p, `location.search`); got != "?ui.sel=main.walk" {
		t.Fatalf("the URL is not behind: %s", got)
	}
	p.do(chromedp.Click(`.tabs a[title^="Callers"]`))
	p.wait(`location.pathname === "/sandwich"`)
	p.settled()
	if got := eval[string](p, `location.search`); got != "?ui.sel=main.list" {
		t.Errorf("the tab leads to %s", got)
	}
	if got := p.text("main"); !strings.Contains(got, "main.list") {
		t.Errorf("it shows %.200q", got)
	}
}
