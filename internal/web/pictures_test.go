package web_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/web"
)

// TestPictures makes the pictures of the page that the guide shows:
//
//	PICTURES=1 go test -run TestPictures/findings ./internal/web
//
// Somebody should look at them.
func TestPictures(t *testing.T) {
	if os.Getenv("PICTURES") == "" {
		t.Skip("it writes docs/pictures; set PICTURES=1 to have it do so")
	}
	hi, module := recordedHi(t)
	_, advised := serveWith(t, web.Options{Advise: module}, nil, hi)
	const known = `document.documentElement.dataset.advising === "0"`
	compiler, err := os.ReadFile("testdata/compile.pb.gz")
	if err != nil {
		t.Fatal(err)
	}
	compiled := serve(t, compiler)
	for _, c := range []struct{ name, address, path, ready string }{
		{"flame", compiled, "/flame?ui.q=mallocgc", `/matched/.test(document.querySelector(".matched")?.innerText ?? "")`},
		{"calltree", compiled, "/calltree", `document.querySelectorAll(".table tbody tr").length > 10`},
		{"graph", compiled, "/graph?limit=30", `document.querySelector(".graph").shadowRoot?.querySelector(".way") !== null`},
		{"findings", advised, "/overview", known + ` && document.querySelector(".finding .code-change").open === (document.querySelector(".finding .code-change").open = true)`},
		{"findings-flame", advised, "/flame?ui.sel=example.com/hi/stage0.handleHi", known + ` && document.querySelector(".legend .flag") !== null`},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := open(t, c.address, 1280, 800)
			eval[bool](p, `(localStorage.setItem("hone-theme", "light"), true)`)
			p.visit(c.path)
			p.wait(c.ready)
			p.settled()
			picture, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join("..", "..", "docs", "pictures", "web-"+c.name+"-light.png"), picture, 0o666); err != nil {
				t.Fatal(err)
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
