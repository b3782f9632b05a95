package web_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/profile/profiletest"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/source"
)

// TestPictures makes pictures of the page for docs/pictures:
//
//	PICTURES=1 go test -run TestPictures/search ./internal/web
//
// Somebody should look at them.
func TestPictures(t *testing.T) {
	if os.Getenv("PICTURES") == "" {
		t.Skip("it writes docs/pictures; set PICTURES=1 to have it do so")
	}
	var in []*recording.Recording
	for run, name := range []string{"shop.pb.gz", "shop-before.pb.gz"} {
		b := profiletest.Bytes(profiletest.Config{Samples: 6000, Functions: 7000, Seed: 1, Run: uint64(run), Labels: true})
		p, err := profile.Parse(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		var o source.Options
		in = append(in, &recording.Recording{Ref: name, Profile: p, Sources: o.Sources(t.Context(), ".", nil, nil), Code: o.Code()})
	}
	url := serveRecordings(t, in...)
	for _, c := range []struct{ name, path, ready string }{
		{"search", "/flame?ui.q=json", `document.querySelector(".matched b") !== null`},
		{"source", "/source?arg=^runtime%5C.mallocgc$&ui.sel=runtime.mallocgc", `document.querySelector("code") !== null`},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, theme := range []string{"light", "dark"} {
				p := open(t, url, 1280, 800)
				eval[bool](p, `(localStorage.setItem("hone-theme", "`+theme+`"), true)`)
				p.visit(c.path)
				p.wait(c.ready)
				p.settled()
				picture, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join("..", "..", "docs", "pictures", "web-"+c.name+"-"+theme+".png"), picture, 0o666); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
