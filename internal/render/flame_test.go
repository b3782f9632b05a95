package render

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image/color"
	"image/png"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/report"
)

func originReport() *report.Flame {
	node := func(o report.Origin, name string, flat, cum int64, children ...*report.FlameNode) *report.FlameNode {
		return &report.FlameNode{Frame: named(name), Origin: o, Flat: flat, Cum: cum, Children: children}
	}
	f := flameReport()
	f.Notes = hint.Said("two profiles were added up")
	f.Root = node("", "", 0, 13_010*ms,
		node(report.OwnCode, "main.main", 0, 12_000*ms,
			node(report.StdLibrary, "encoding/json.(*Decoder).Decode", 3_000*ms, 9_000*ms,
				node(report.Dependency, "github.com/acme/fast/v2.(*Parser[go.shape.struct { Name string; Size int }]).Next", 5_000*ms, 5_000*ms),
				node(report.GoRuntime, "runtime.memmove", 1_000*ms, 1_000*ms)),
			node(report.Foreign, "clock_gettime", 3_000*ms, 3_000*ms)),
		node(report.GoRuntime, "runtime.gcBgMarkWorker", 1_000*ms, 1_000*ms),
		node(report.GoRuntime, "runtime.mcall", 2*ms, 2*ms),
		node(report.GoRuntime, "runtime.mstart", 2*ms, 2*ms))
	return f
}

// signedReport is what subtracting a profile from another leaves.
func signedReport() *report.Flame {
	f := flameReport()
	f.Root.Cum = -2_000 * ms
	f.Root.Children[1].Cum, f.Root.Children[1].Flat = -14_000*ms, -14_000*ms
	return f
}

func goneReport() *report.Flame {
	f := flameDiffReport()
	f.Notes = hint.Said("before is scaled by 2, from 15s to 30s")
	f.Root.Width = 17_010 * ms
	f.Root.Children = append(f.Root.Children, &report.FlameNode{
		Frame: named("main.gone"), Before: &report.Cost2{Flat: 4_000 * ms, Cum: 4_000 * ms}, Width: 4_000 * ms,
	})
	return f
}

func oddFlame() *report.Flame {
	f := flameReport()
	f.Metric, f.File, f.Notes = "cpu\x1b[2J", "</svg><script>alert(1)</script>", hint.Said("\x00\u202e]]>")
	n := f.Root
	for _, name := range []string{"]]><script>", "line\nbreak\x1b[31m", "\xff\xfe", strings.Repeat("ネ", 10_000), "a\u202eb & \"c\""} {
		c := &report.FlameNode{Frame: named(name), Cum: n.Cum}
		n.Children = []*report.FlameNode{c}
		n = c
	}
	return f
}

// deepFlame is a function that calls itself so often.
func deepFlame(depth int) *report.Flame {
	f := flameReport()
	n := f.Root
	for range depth {
		c := &report.FlameNode{Frame: named("main.walk"), Cum: n.Cum}
		n.Children = []*report.FlameNode{c}
		n = c
	}
	return f
}

func flameReports() map[string]*report.Flame {
	return map[string]*report.Flame{
		"plain": flameReport(), "origins": originReport(), "diff": flameDiffReport(), "gone": goneReport(), "signed": signedReport(),
		"odd": oddFlame(), "deep": deepFlame(3_000),
		"empty": {Head: report.Head{Metric: "cpu", Unit: "nanoseconds"}, FlameTree: report.FlameTree{Root: &report.FlameNode{}}},
		"huge": {Head: report.Head{Metric: "cpu", Unit: "nanoseconds", Total: math.MaxInt64}, FlameTree: report.FlameTree{Root: &report.FlameNode{
			Cum: math.MaxInt64, Children: []*report.FlameNode{{Frame: named("a.b"), Cum: math.MaxInt64}, {Frame: named("c.d"), Cum: math.MinInt64}},
		}}},
	}
}

// TestFlameSVG holds the pictures of small trees as they are, and that all are well-formed.
func TestFlameSVG(t *testing.T) {
	for name, f := range flameReports() {
		var out bytes.Buffer
		if err := FlameSVG(&out, f, FlameOptions{}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for dec := xml.NewDecoder(bytes.NewReader(out.Bytes())); ; {
			tok, err := dec.Token()
			if errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Errorf("%s: %v", name, err)
				break
			}
			if e, ok := tok.(xml.StartElement); ok && e.Name.Local == "script" {
				t.Errorf("%s: a name became a script", name)
			}
		}
		switch name {
		case "origins", "gone", "signed", "empty":
			golden(t, filepath.Join("svg", "flame-"+name), out.Bytes())
		}
	}
}

// TestFlameBrokenPipe holds that pictures say so when they could not be written.
func TestFlameBrokenPipe(t *testing.T) {
	for _, format := range []string{"svg", "png"} {
		if err := Write(&brokenPipe{100}, format, originReport(), Options{}); !errors.Is(err, errPipe) {
			t.Errorf("%s: error is %v, want %v", format, err, errPipe)
		}
		if err := Write(io.Discard, format, topReport(), Options{}); !errors.Is(err, errNoPicture) {
			t.Errorf("%s of top: error is %v, want %v", format, err, errNoPicture)
		}
	}
}

// TestFlamePNG looks at pixels in the middle of boxes, above their text.
func TestFlamePNG(t *testing.T) {
	for name, f := range flameReports() {
		var out bytes.Buffer
		if err := FlamePNG(&out, f, FlameOptions{Pixels: 150}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := png.Decode(&out); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, dark := range []bool{false, true} {
		for _, upwards := range []bool{false, true} {
			var out bytes.Buffer
			if err := FlamePNG(&out, originReport(), FlameOptions{Options: Options{Dark: dark, Up: upwards}}); err != nil {
				t.Fatal(err)
			}
			img, err := png.Decode(&out)
			if err != nil {
				t.Fatal(err)
			}
			if w := img.Bounds().Dx(); w != 2400 {
				t.Fatalf("the picture is %d pixels wide, want two for each of 1200", w)
			}
			of := func(i ink) color.RGBA {
				if dark {
					return i.dark
				}
				return i.light
			}
			// Rows are counted from the end of the picture where the leaves are.
			at := func(row int) color.RGBA {
				y := img.Bounds().Dy() - int(2*(flameMargin+flameStep*float64(row)+2))
				if upwards {
					y = img.Bounds().Dy() - int(2*(flameMargin+flameStep*float64(3-row)+2))
				}
				return color.RGBAModel.Convert(img.At(500, y)).(color.RGBA)
			}
			for row, want := range []tint{tintDep, tintStd, tintOwn, tintRun} {
				if got := at(row); got != of(tintInks[want]) {
					t.Errorf("dark %v, upwards %v: row %d from the leaves is %v, want %v", dark, upwards, row, got, of(tintInks[want]))
				}
			}
		}
	}
}

// TestFlameContrast holds that text can be read on every color: 4.5 is what WCAG calls AA.
func TestFlameContrast(t *testing.T) {
	luminance := func(c color.RGBA) float64 {
		linear := func(v uint8) float64 {
			x := float64(v) / 255
			if x <= 0.04045 {
				return x / 12.92
			}
			return math.Pow((x+0.055)/1.055, 2.4)
		}
		return 0.2126*linear(c.R) + 0.7152*linear(c.G) + 0.0722*linear(c.B)
	}
	check := func(what string, a, b color.RGBA) {
		x, y := luminance(a)+0.05, luminance(b)+0.05
		if ratio := max(x, y) / min(x, y); ratio < 4.5 {
			t.Errorf("%s: contrast is %.1f", what, ratio)
		}
	}
	for tt, i := range tintInks {
		check(fmt.Sprint("light tint ", tt), i.light, flameText.light)
		check(fmt.Sprint("dark tint ", tt), i.dark, flameText.dark)
	}
	for what, i := range map[string]ink{"title": titleText, "small": smallText} {
		check("light "+what, i.light, flamePaper.light)
		check("dark "+what, i.dark, flamePaper.dark)
	}
}

// randomFlame is a tree whose frames cost at most what their caller costs.
func randomFlame(r *rand.Rand, cum int64, depth int) *report.FlameNode {
	n := &report.FlameNode{Frame: named(fmt.Sprintf("p%d.f%d", r.IntN(9), r.IntN(99))), Cum: cum}
	for left := cum; depth > 0 && left > 0 && len(n.Children) < 8; {
		part := 1 + r.Int64N(left)
		left -= part
		n.Children = append(n.Children, randomFlame(r, part, depth-1))
	}
	return n
}

// TestFlameRows holds that boxes do not overlap, lie below their callers, and are as wide as what they cost.
func TestFlameRows(t *testing.T) {
	const width, least, little = 1000.0, 0.3, 1e-6
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		root := randomFlame(r, 1+r.Int64N(1_000_000), 6)
		var above map[*report.FlameNode]flameBox // those of the row above, by what they call
		for depth, row := range flameRows(root, width, least) {
			end := 0.0
			below := make(map[*report.FlameNode]flameBox)
			for _, b := range row {
				if b.x < end-little || b.x+b.w > width+little {
					t.Fatalf("seed %d, row %d: a box from %g to %g, after one up to %g", seed, depth, b.x, b.x+b.w, end)
				}
				end = b.x + b.w
				if b.w < least {
					t.Errorf("seed %d, row %d: a box is %g wide", seed, depth, b.w)
				}
				if b.node == nil {
					if b.frames < 2 {
						t.Errorf("seed %d, row %d: a run of %d frames is %g wide", seed, depth, b.frames, b.w)
					}
					continue
				}
				if want := width * float64(b.node.Cum) / float64(root.Cum); math.Abs(b.w-want) > little {
					t.Errorf("seed %d: %d of %d is %g wide, want %g", seed, b.node.Cum, root.Cum, b.w, want)
				}
				if caller, ok := above[b.node]; depth > 0 && (!ok || b.x < caller.x-little || b.x+b.w > caller.x+caller.w+little) {
					t.Errorf("seed %d, row %d: a box is not below its caller", seed, depth)
				}
				for _, c := range b.node.Children {
					below[c] = b
				}
			}
			above = below
		}
	}
}

// TestFlameText holds that lines are as wide as asked, in all ways to draw them.
func TestFlameText(t *testing.T) {
	for name, f := range flameReports() {
		for _, cols := range []int{1, 2, 7, 40, 133} {
			for _, o := range []Options{{}, {ASCII: true}, {Color: true}} {
				p := NewFlamePainter(f, o)
				rows, _ := FlameBoxes(f.Root, cols)
				for i, row := range rows {
					line := p.Row(row, nil)
					most := cols
					if !o.Color {
						most++ // the bar at the end
					}
					if w := width(uncolored(line)); w > most {
						t.Errorf("%s in %d columns, %+v: row %d is %d wide: %q", name, cols, o, i, w, line)
					}
				}
			}
		}
	}
	var out bytes.Buffer
	if err := Terminal(&out, originReport(), Options{Width: 100, Color: true}); err != nil {
		t.Fatal(err)
	}
	golden(t, filepath.Join("color", "flame"), out.Bytes())
}

// uncolored returns s without what switches colors.
func uncolored(s string) string {
	var out strings.Builder
	for s != "" {
		before, after, ok := strings.Cut(s, "\x1b[")
		out.WriteString(before)
		if !ok {
			break
		}
		_, s, _ = strings.Cut(after, "m")
	}
	return out.String()
}

func TestBoxName(t *testing.T) {
	tests := []struct {
		name string
		room int
		want string
	}{
		{"net/http.(*conn).serve", 22, "net/http.(*conn).serve"},
		{"net/http.(*conn).serve", 21, "http.(*conn).serve"},
		{"net/http.(*conn).serve", 16, "…(*conn).serve"},
		{"net/http.(*conn).serve", 8, "…serve"},
		{"net/http.(*conn).serve", 5, "serve"},
		{"net/http.(*conn).serve", 4, "ser…"},
		{"net/http.(*conn).serve", 3, ""},
		{"slices.SortFunc[go.shape.[]string,go.shape.string,int]", 20, "slices.SortFunc[…]"},
		{"slices.SortFunc[go.shape.[]string,go.shape.string,int]", 8, "SortFunc"},
		{"main.main.func1", 9, "main.fun…"},
		{"github.com/acme/shop", 12, "github.com/…"},
		{"std::sort", 5, "std:…"},
		{"", 9, ""},
		{"日本語日本語", 7, "日本語…"},
	}
	for _, tt := range tests {
		got, _ := boxName(tt.name, "…", func(s string) bool { return width(s) <= tt.room })
		if got != tt.want {
			t.Errorf("boxName(%q) in %d columns = %q, want %q", tt.name, tt.room, got, tt.want)
		}
	}
}

func FuzzBoxName(f *testing.F) {
	f.Add("net/http.(*conn).serve", 7)
	f.Add("a.b[c.d[e]].f(", 3)
	f.Fuzz(func(t *testing.T, name string, room int) {
		got, _ := boxName(name, "…", func(s string) bool { return width(s) <= room })
		if got != "" && width(got) > room {
			t.Errorf("boxName(%q) in %d columns = %q", name, room, got)
		}
	})
}
