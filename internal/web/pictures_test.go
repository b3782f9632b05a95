package web_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/web"
)

// TestPictures makes the pictures of the page that the guide shows:
//
//	PICTURES=1 go test -tags live -run TestPictures/findings ./internal/web
//
// Somebody should look at them.
func TestPictures(t *testing.T) {
	if os.Getenv("PICTURES") == "" {
		t.Skip("it writes docs/pictures; set PICTURES=1 to have it do so")
	}
	hone := filepath.Join(t.TempDir(), "hone")
	run(t, "", "go", "build", "-o", hone, "../..")
	hi, module := recordedOf(t, hone, "hi", "bench", "-count=1", "./stage0", "-bench", "Hi$", "-benchtime", "30000x")
	_, advised := serveWith(t, web.Options{Advise: module}, nil, hi)
	server, _ := recordedOf(t, hone, "leftpad", "load", "--record", "./v1", "localhost:{port}/pad", "-X", "POST", "--body", `{"str":"7","len":64,"chr":"x"}`, "-t", "12s", "--", "-addr", "localhost:{port}")
	loaded := serveRecordings(t, server)
	const known = `document.documentElement.dataset.advising === "0"`
	compiled := serve(t, compilerProfile(t))
	for _, c := range []struct{ name, theme, address, path, ready string }{
		{"flame", "light", compiled, "/flame?ui.q=mallocgc", `/matched/.test(document.querySelector(".matched")?.innerText ?? "")`},
		{"calltree", "light", compiled, "/calltree", `document.querySelectorAll(".table tbody tr").length > 10`},
		{"graph", "light", compiled, "/graph?limit=30", `document.querySelector(".graph").shadowRoot?.querySelector(".way") !== null`},
		{"flamechart", "light", loaded, "/flamechart", `document.querySelectorAll(".ruler .part").length > 5`},
		{"flamechart", "dark", loaded, "/flamechart", `document.querySelectorAll(".ruler .part").length > 5`},
		{"findings", "light", advised, "/overview", known + ` && document.querySelector(".finding .code-change").open === (document.querySelector(".finding .code-change").open = true)`},
		{"findings-flame", "light", advised, "/flame?ui.sel=example.com/hi/stage0.handleHi", known + ` && document.querySelector(".legend .flag") !== null`},
	} {
		t.Run(c.name+"-"+c.theme, func(t *testing.T) {
			p := open(t, c.address, 1280, 800)
			eval[bool](p, `(localStorage.setItem("hone-theme", "`+c.theme+`"), true)`)
			p.visit(c.path)
			p.wait(c.ready)
			p.settled()
			picture, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join("..", "..", "docs", "pictures", "web-"+c.name+"-"+c.theme+".png"), picture, 0o666); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// compilerProfile returns a CPU profile of the Go compiler at work.
func compilerProfile(t *testing.T) []byte {
	t.Helper()
	file := filepath.Join(t.TempDir(), "compile.pprof")
	const what = "cmd/compile/internal/ssa"
	run(t, "", "go", "build", "-gcflags="+what+"=-cpuprofile="+file, "-o", os.DevNull, what)
	profile, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return profile
}

// recordedOf returns a recording of a practice program, made by a command of hone, and the folder of its module.
func recordedOf(t *testing.T, hone, name, command string, args ...string) (rec *recording.Recording, module string) {
	t.Helper()
	module = filepath.Join(t.TempDir(), name)
	if err := os.CopyFS(module, os.DirFS(filepath.Join("..", "..", "examples", name))); err != nil {
		t.Fatal(err)
	}
	run(t, module, hone, append([]string{command, "-o", name + ".hone"}, args...)...)
	rec, err := recording.Open(filepath.Join(module, name+".hone"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rec.Close() })
	rec.Ref = name + ".hone"
	if rec, _, err = rec.Pick("", 0, 0); err != nil {
		t.Fatal(err)
	}
	return rec, module
}

// run runs a command in a folder. One that does not end in time fails the test, and so does one whose children keep its output open.
func run(t *testing.T, dir, command string, args ...string) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	cmd := exec.CommandContext(ctx, command, args...)
	cmd.Dir, cmd.WaitDelay = dir, 5*time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
}
