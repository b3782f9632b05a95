package web_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/profile/profiletest"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/source"
	"github.com/hone-perf/hone/internal/web"
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
	hi, module := recordedHi(t)
	_, advised := serveWith(t, web.Options{Advise: module}, nil, hi)
	const known = `document.documentElement.dataset.advising === "0"`
	for _, c := range []struct{ name, url, path, ready string }{
		{"findings", advised, "/overview", known + ` && document.querySelector(".finding .code-change").open === (document.querySelector(".finding .code-change").open = true)`},
		{"findings-flame", advised, "/flame?ui.sel=example.com/hi/stage0.handleHi", known + ` && document.querySelector(".legend .flag") !== null`},
		{"findings-source", advised, "/source?arg=^example%5C.com/hi/stage0%5C.handleHi$&ui.finding=1", known + ` && document.querySelector(".told-row") !== null`},
		{"search", url, "/flame?ui.q=json", `document.querySelector(".matched b") !== null`},
		{"source", url, "/source?arg=^runtime%5C.mallocgc$&ui.sel=runtime.mallocgc", `document.querySelector("code") !== null`},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, theme := range []string{"light", "dark"} {
				p := open(t, c.url, 1280, 800)
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

// recordedHi returns a recording of the benchmark of a practice program, made by hone itself, and the folder of its module.
func recordedHi(t *testing.T) (rec *recording.Recording, module string) {
	t.Helper()
	module = filepath.Join(t.TempDir(), "hi")
	if err := os.CopyFS(module, os.DirFS(filepath.Join("..", "..", "examples", "hi"))); err != nil {
		t.Fatal(err)
	}
	hone := filepath.Join(t.TempDir(), "hone")
	if out, err := exec.Command("go", "build", "-o", hone, "../..").CombinedOutput(); err != nil {
		t.Fatalf("building hone: %v\n%s", err, out)
	}
	record := exec.Command(hone, "bench", "-count=1", "-o", "hi.hone", "./stage0", "-bench", "Hi$", "-benchtime", "30000x")
	record.Dir = module
	if out, err := record.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", record, err, out)
	}
	rec, err := recording.Open(filepath.Join(module, "hi.hone"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rec.Close() })
	rec.Ref = "hi.hone"
	if rec, _, err = rec.Pick("", 0, 0); err != nil {
		t.Fatal(err)
	}
	return rec, module
}
