package web_test

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/hone-perf/hone/internal/testrun"
)

// A realProfile is one of the Go compiler at work, which is deep and wide.
type realProfile struct{ name, file string }

func realProfiles(t *testing.T) []realProfile {
	t.Helper()
	testrun.Live(t, "goes through pages in a browser")
	kept, err := filepath.Abs("testdata/compile.pb.gz")
	if err != nil {
		t.Fatal(err)
	}
	out := []realProfile{{"compile", kept}}
	// What the Go distribution builds the compiler with is another one, a hundred times as large.
	if !testrun.InNightly() {
		testrun.Left(t, t.Name()+"/pgo", "looks at a profile that is a hundred times as large, too")
		return out
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	if pgo := filepath.Join(strings.TrimSpace(string(root)), "src", "cmd", "compile", "default.pgo"); fileExists(pgo) {
		out = append(out, realProfile{"pgo", pgo})
	}
	return out
}

func fileExists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// openReal opens a page of a real profile.
func openReal(t *testing.T, r realProfile, width, height int64) *page {
	t.Helper()
	b, err := os.ReadFile(r.file)
	if err != nil {
		t.Fatal(err)
	}
	return open(t, serve(t, b), width, height)
}

// Inverted, where nearly all calls are narrow, a picture has no gray that its legend does not explain.
func TestPageRealColors(t *testing.T) {
	for _, r := range realProfiles(t) {
		t.Run(r.name, func(t *testing.T) {
			p := openReal(t, r, 1280, 900)
			for _, mode := range []string{"origin", "package"} {
				for _, theme := range []string{"light", "dark"} {
					p.visit("/overview")
					eval[bool](p, fmt.Sprintf(`(localStorage.setItem("hone-theme", %q), true)`, theme))
					p.visit("/flame?invert=1&ui.color=" + mode)
					got := eval[struct{ Boxes, Gray, Edges, Width, Bare int }](p, countGray)
					t.Logf("%s, %s: of %d pixels of boxes %d are gray, %d edges", mode, theme, got.Boxes, got.Gray, got.Edges)
					if got.Boxes < 50_000 || got.Gray > got.Boxes/50 {
						t.Errorf("%s, %s: of %d pixels of boxes %d are gray, want 2%% at most", mode, theme, got.Boxes, got.Gray)
					}
					if got.Bare > got.Width/100 {
						t.Errorf("%s, %s: of %d columns %d have nothing below the box of all", mode, theme, got.Width, got.Bare)
					}
				}
			}
		})
	}
}

// countGray counts what the calls of a picture are painted with: pixels of boxes, and those among them that are gray without being in
// the legend or, where boxes are not colored by origin, the color of all, which small calls have that are not drawn one by one. It also counts the columns in which nothing is
// below the box of all. Paper is what the corner of the last row is; letters and edges are as dark or as light as only they are.
const countGray = `(() => {
	const from = document.querySelector("canvas");
	const c = new OffscreenCanvas(from.width, from.height).getContext("2d", { willReadFrequently: true });
	c.drawImage(from, 0, 0);
	const first = 20 * devicePixelRatio; // below the box of all
	const d = c.getImageData(0, first, from.width, from.height - first).data;
	const rgb = (s) => s.match(/\d+/g).map(Number);
	const known = [...document.querySelectorAll(".legend .dot")].map((e) => rgb(getComputedStyle(e).backgroundColor));
	if (!location.search.includes("ui.color=origin")) known.push([...c.getImageData(from.width - 9, first / 2, 1, 1).data]);
	const paper = rgb(getComputedStyle(document.body).backgroundColor);
	const near = (a, r, g, b, by) => Math.abs(a[0] - r) <= by && Math.abs(a[1] - g) <= by && Math.abs(a[2] - b) <= by;
	const dark = document.documentElement.dataset.theme === "dark";
	let boxes = 0, gray = 0, edges = 0;
	for (let i = 0; i < d.length; i += 4) {
		const [r, g, b] = [d[i], d[i + 1], d[i + 2]];
		if (near(paper, r, g, b, 12)) continue; // between boxes, too
		boxes++;
		if (Math.max(r, g, b) - Math.min(r, g, b) > 12 || known.some((k) => near(k, r, g, b, 2))) continue;
		if (Math.max(r, g, b) < (dark ? 60 : 100)) edges++;
		else gray++;
	}
	let bare = 0;
	const nothing = (x) => {
		const i = (Math.round(first / 5) * from.width + x) * 4;
		return near(paper, d[i], d[i + 1], d[i + 2], 12);
	};
	for (let x = 1; x < from.width; x++) if (nothing(x - 1) && nothing(x)) bare++; // an edge may be as dark as the paper
	return { Boxes: boxes, Gray: gray, Edges: edges, Width: from.width, Bare: bare };
})()`

// Each hit of a search is seen: where it is, however narrow, the picture differs from one in which nothing is found.
func TestPageRealHits(t *testing.T) {
	testrun.Nightly(t, "searches a page sixteen times")
	for _, r := range realProfiles(t) {
		t.Run(r.name, func(t *testing.T) {
			p := openReal(t, r, 1280, 900)
			for _, invert := range []string{"", "&invert=1"} {
				p.visit("/flame?ui.q=^-$" + invert)
				eval[bool](p, takePicture)
				for _, q := range []string{"mallocgc", "^runtime\\.memclrNoHeapPointers$", "types2", "maps", "regalloc", "sort", "Sym", "^cmd/internal/src"} {
					// In the same page, which keeps the picture.
					eval[bool](p, fmt.Sprintf(`(() => {
						const box = document.querySelector(".search input");
						box.value = %q;
						return box.dispatchEvent(new Event("input", { bubbles: true }));
					})()`, q))
					p.wait(`/^[0-9.]+% matched/.test(document.querySelector(".matched")?.innerText ?? "") && new URLSearchParams(location.search).get("ui.q") === ` + fmt.Sprintf("%q", q))
					p.settled()
					got := eval[struct {
						Hits   int
						Unseen []string
					}](p, fmt.Sprintf(unseenHits, q))
					if got.Hits == 0 || len(got.Unseen) > 0 {
						t.Errorf("of %d hits of %q%s, %d are not seen: %.300q", got.Hits, q, invert, len(got.Unseen), got.Unseen)
					}
				}
			}
		})
	}
}

// takePicture keeps the picture as it is.
const takePicture = `(() => {
	globalThis.pixels = () => {
		const from = document.querySelector("canvas");
		const c = new OffscreenCanvas(from.width, from.height).getContext("2d", { willReadFrequently: true });
		c.drawImage(from, 0, 0);
		return c.getImageData(0, 0, from.width, from.height);
	};
	globalThis.before = pixels();
	return true;
})()`

// unseenHits compares the picture with the one that was kept, at each call in sight that a search finds.
const unseenHits = `(async () => {
	const q = %q;
	const pairs = new URLSearchParams(location.search);
	for (const k of [...pairs.keys()]) if (k.startsWith("ui.")) pairs.delete(k);
	const tree = await (await fetch("/api/flame?" + pairs)).json();
	const now = pixels(), rx = new RegExp(q);
	const scale = now.width / (tree.rows[0].width?.[0] || tree.rows[0].cum[0]);
	const lines = Math.floor(now.height / 20);
	let hits = 0;
	const unseen = [];
	tree.rows.slice(0, lines).forEach((row, y) => {
		let at = 0;
		row.frame.forEach((f, i) => {
			at += row.gap[i];
			const x = at * scale, w = row.width?.[i] || Math.abs(row.cum[i]);
			at += w;
			if (f < 0 || !rx.test(tree.frames.name[f])) return;
			hits++;
			// What is narrower than a pixel is painted in the one that is nearest.
			const left = Math.min(Math.floor(x), now.width - 1), right = Math.min(now.width, Math.max(Math.round(x) + 1, Math.ceil(at * scale)));
			for (let v = y * 20; v < y * 20 + 19; v++)
				for (let u = left; u < right; u++)
					for (let k = 0; k < 3; k++) if (now.data[(v * now.width + u) * 4 + k] !== before.data[(v * now.width + u) * 4 + k]) return;
			unseen.push(tree.frames.name[f] + " in row " + y + " at " + x.toFixed(2));
		});
	});
	return { Hits: hits, Unseen: unseen };
})()`

// At the same width of the window there are as many labels in the picture as in that of go tool pprof -http.
func TestPageRealLabels(t *testing.T) {
	for _, r := range realProfiles(t) {
		t.Run(r.name, func(t *testing.T) {
			p := openReal(t, r, 1280, 900)
			p.visit("/flame")
			ours := eval[int](p, `Number(document.querySelector("canvas").dataset.labels)`)
			p.pardon = "127.0.0.1" // what the other page lacks, such as a picture of itself
			p.do(chromedp.Navigate(pprofServer(t, r.file) + "/ui/flamegraph"))
			p.wait(`document.querySelectorAll(".boxtext").length > 10`)
			theirs := eval[int](p, `[...document.querySelectorAll(".boxtext")].filter((e) => e.textContent.trim() !== "" && e.getBoundingClientRect().top < innerHeight).length`)
			t.Logf("%d labels, and %d in pprof", ours, theirs)
			if ours < theirs {
				t.Errorf("the picture has %d labels, and that of pprof %d", ours, theirs)
			}
		})
	}
}

// pprofServer shows a profile with go tool pprof until the test ends, and returns where.
func pprofServer(t *testing.T, file string) string {
	t.Helper()
	tool, err := exec.Command("go", "tool", "-n", "pprof").Output() // go tool itself would leave it running
	if err != nil {
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0") // pprof does not say which port it was given
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	cmd := exec.Command(strings.TrimSpace(string(tool)), "-http", address, "-no_browser", file)
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	for lines := bufio.NewScanner(said); lines.Scan(); {
		if !strings.Contains(lines.Text(), "Serving web UI on ") {
			continue
		}
		for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) { // it says so before it does
			if c, err := net.Dial("tcp", address); err == nil {
				c.Close()
				return "http://" + address
			}
		}
	}
	t.Fatal("pprof serves nothing")
	return ""
}
