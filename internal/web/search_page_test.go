package web_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/testrun"
)

// TestSmartCase holds that the page takes what somebody searches for as package query does.
func TestSmartCase(t *testing.T) {
	testrun.Live(t, "asks a browser")
	script, err := os.ReadFile("testdata/search.js") // from ui/src/search.ts
	if err != nil {
		t.Fatal(err)
	}
	browserCtx, err := chromium()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := chromedp.NewContext(browserCtx)
	defer stop()
	typed := []string{"", "mallocgc", "mallocGC", `\S+\.\W`, `\\Sort`, `\p{Lu}x`, `\PLx`, "(?P<Name>x)", "(?P<name>X)", "(?s:A)", "[A-Z]", "straße", "Ünder", `x\`,
		"(*Parser).Parse", "^codec.(*Decoder).Decode$", "(*Set[...]).Put", "(*Set[go.shape.string,go.shape.int]).Put", "main.Map[...]", "[...][...]", `a\[...]`, "(*A).F|(*B).G",
		`\(\*Parser\).Parse`, `\(*T\)`, `[(*]`, `Map\[...\]`, "(*Dec", "(*", "*a", "(*)", "(*T)(", "(*A).f|*[...]", "(*T).(x|y)$"}
	list, err := json.Marshal(typed)
	if err != nil {
		t.Fatal(err)
	}
	for name, here := range map[string]func(string) string{"smartCase": query.SmartCase, "pattern": query.Pattern} {
		got, err := chromedp.Run(ctx, chromedp.Evaluate[[]string](fmt.Sprintf(`(() => { %s; return %s.map(search.%s); })()`, script, list, name)))
		if err != nil {
			t.Fatal(err)
		}
		for i, text := range typed {
			if want := here(text); got[i] != want {
				t.Errorf("%s(%q) is %q, and %q elsewhere", name, text, got[i], want)
			}
		}
	}
}

// All searches of names go by one rule: in lower case they find both cases, and with a capital letter only what is spelled like that.
func TestPageSearchCase(t *testing.T) {
	p := open(t, serve(t, folded(t, "main.main;main.Sort 300\nmain.main;main.sort 100\nmain.main;main.other 10\n")), 1280, 800)
	shown := func(rows string) string {
		return strings.Join(eval[[]string](p, `[...document.querySelectorAll("`+rows+`")].map((e) => e.title).filter((s) => s !== "")`), " ")
	}
	for _, q := range []struct{ text, want string }{{"sort", "main.Sort main.sort"}, {"Sort", "main.Sort"}} {
		p.visit("/top?ui.q=" + q.text)
		if got := shown(".table tbody .fn"); got != q.want {
			t.Errorf("Top shows %q for %s, want %q", got, q.text, q.want)
		}
		p.visit("/source")
		eval[bool](p, fmt.Sprintf(`(() => {
			const box = document.querySelector(".functions input");
			box.value = %q;
			return box.dispatchEvent(new Event("input", { bubbles: true }));
		})()`, q.text))
		p.settled()
		if got := shown(".functions button"); got != q.want {
			t.Errorf("Source lists %q for %s, want %q", got, q.text, q.want)
		}
		p.visit("/sandwich")
		p.search()
		p.key(q.text)
		p.settled()
		if got := eval[string](p, `[...document.querySelectorAll(".picks button")].map((b) => b.lastElementChild.innerText).join(" ")`); got != q.want {
			t.Errorf("Callers offers %q for %s, want %q", got, q.text, q.want)
		}
	}
	// The share of what a picture finds comes from the server. A filter made of the search leaves the same.
	for _, test := range []struct{ q, matched, filter string }{
		{"sort", "97.56% matched", "(?i)sort"},
		{"Sort", "73.17% matched", "Sort"},
		{"other", "2.44% matched", "other"},
	} {
		p.visit("/flame?ui.q=" + test.q)
		p.wait(fmt.Sprintf(`document.querySelector(".matched")?.innerText.startsWith(%q)`, test.matched))
		p.click(".results button", "Focus")
		p.wait(`new URLSearchParams(location.search).get("focus") === ` + fmt.Sprintf("%q", test.filter))
	}
	p.pardon = "/api/search"
	p.visit("/flame?ui.q=(Sort")
	p.wait(`document.querySelector(".matched .bad") !== null`)
	if got, want := p.text(".matched"), `missing closing ) at character 1, "(Sort"`; got != want {
		t.Errorf("of a search that is no regexp the page says %q, want %q", got, want)
	}
	// Where the picture is zoomed, the share is of all, and the matches are those in view.
	for path, want := range map[string]string{
		"/flame?ui.q=other":                             "2.44% matched – / 1",
		"/flame?ui.q=other&root=main.main%3Bmain.Sort":  "2.44% of all matched none in view",
		"/flame?ui.q=other&root=main.main%3Bmain.other": "2.44% of all matched – / 1 in view",
	} {
		p.visit(path)
		now := `[".matched b", ".stepper .num"].map((s) => document.querySelector(s)?.innerText).join(" ")`
		p.wait(`document.querySelector(".matched b") !== null`)
		if got := eval[string](p, now); got != want {
			t.Errorf("%s says %q, want %q", path, got, want)
		}
	}
}
