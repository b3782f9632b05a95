package render

import (
	"bytes"
	"image/color"
	"image/png"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"golang.org/x/image/font"
	"golang.org/x/image/font/opentype"
)

// testPicture has one of everything.
func testPicture() *canvas {
	var (
		paper  = inkOf(0xffffff, 0x16181d)
		black  = inkOf(0x1a1a1a, 0xe6e6e6)
		orange = inkOf(0xf2a65a, 0xb5651d)
		blue   = inkOf(0x3366cc, 0x88aaff)
	)
	c := newCanvas(240, 160, paper)
	c.group("a <box>\nwith \x1b[31mtwo\x00 lines", func() {
		c.rect(10, 10, 100, 40, look{fill: orange, stroke: black, width: 1, radius: 6})
		c.text(60, 34, `a < "b" & c`, lettering{size: 14, ink: black, anchor: middle, room: 90})
	})
	c.rect(120, 10, 100, 40, look{fill: orange, hatch: blue})
	c.text(216, 34, "github.com/example/long/path.Name", lettering{size: 12, ink: black, anchor: end, room: 90})
	c.curve([]point{{20, 60}, {20, 110}, {100, 70}, {100, 120}, {100, 130}, {110, 140}, {130, 145}}, look{stroke: blue, width: 3, arrow: 10})
	c.curve([]point{{140, 60}, {140, 100}, {220, 80}, {220, 140}}, look{stroke: black, width: 1.5, dash: []float64{6, 3}, arrow: 8})
	c.polygon([]point{{30, 120}, {50, 140}, {20, 150}}, look{fill: blue, stroke: black, width: 1})
	return c
}

func TestCanvasSVG(t *testing.T) {
	var out bytes.Buffer
	if err := testPicture().svg(&out, false); err != nil {
		t.Fatal(err)
	}
	golden(t, "canvas.svg", out.Bytes())
	if got, want := svgTexts(t, out.Bytes(), "title"), []string{"a <box>\nwith \\x1b[31mtwo\\x00 lines"}; !slices.Equal(got, want) {
		t.Errorf("titles are %q, want %q", got, want)
	}
}

func TestCanvasPNG(t *testing.T) {
	tests := []struct {
		x, y        float64
		light, dark uint32
	}{
		{0, 0, 0xffffff, 0x16181d},       // paper
		{10, 10, 0xffffff, 0x16181d},     // outside of a round corner
		{15, 30, 0xf2a65a, 0xb5651d},     // in a box
		{60, 10, 0x1a1a1a, 0xe6e6e6},     // on its line
		{30, 138, 0x3366cc, 0x88aaff},    // in a polygon
		{20, 61, 0x3366cc, 0x88aaff},     // where a curve begins
		{126, 144.5, 0x3366cc, 0x88aaff}, // in its head
	}
	const scale = 2
	for _, dark := range []bool{false, true} {
		var out bytes.Buffer
		if err := testPicture().png(&out, scale, dark); err != nil {
			t.Fatal(err)
		}
		img, err := png.Decode(&out)
		if err != nil {
			t.Fatal(err)
		}
		if got := img.Bounds().Max; got.X != 480 || got.Y != 320 {
			t.Errorf("the image has %v pixels, want 480 by 320", got)
		}
		for _, tt := range tests {
			want := rgb(tt.light)
			if dark {
				want = rgb(tt.dark)
			}
			if got := color.RGBAModel.Convert(img.At(int(tt.x*scale), int(tt.y*scale))); got != want {
				t.Errorf("dark %v: at %v, %v is %v, want %v", dark, tt.x, tt.y, got, want)
			}
		}
	}
}

func TestCanvasPNGLimits(t *testing.T) {
	var out bytes.Buffer
	if err := newCanvas(20_000, 5_000, inkOf(0xffffff, 0)).png(&out, 2, false); err != nil {
		t.Fatal(err)
	}
	size, err := png.DecodeConfig(&out)
	if err != nil {
		t.Fatal(err)
	}
	if n := size.Width * size.Height; n > maxPixels || n < maxPixels*9/10 {
		t.Errorf("the image has %d pixels, want nearly %d", n, maxPixels)
	}
	for _, c := range []*canvas{newCanvas(1e6, 1e6, ink{}), newCanvas(0, 10, ink{}), newCanvas(math.Inf(1), 1, ink{})} {
		if err := c.png(io.Discard, 1, false); err == nil || !strings.Contains(err.Error(), "write it as SVG") {
			t.Errorf("%v by %v: %v, want advice", c.width, c.height, err)
		}
	}
}

func TestTextWidth(t *testing.T) {
	const size = 64
	face, err := opentype.NewFace(letters(), &opentype.FaceOptions{Size: size, DPI: 72})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"", "runtime.mallocgc", "…Ünïcode → 世界", "iiiiWWWW"} {
		got, want := textWidth(s, size), float64(font.MeasureString(face, s))/64
		if math.Abs(got-want) > 0.5 {
			t.Errorf("%q is %v wide, drawn %v", s, got, want)
		}
	}
}

func TestFitText(t *testing.T) {
	const size = 10
	tests := []struct {
		in   string
		room float64
		want string
	}{
		{"short", 100, "short"},
		{"github.com/acme/shop.(*Store).Total", 100, "…/shop.(*Store).Total"},
		{"runtime.mallocgc", 20, ""},
		{strings.Repeat("i", 1<<20) + "end", 40, "…iiiiiend"},
		{"世界世界", 1, ""},
	}
	for _, tt := range tests {
		got := fitText(tt.in, size, tt.room)
		if got != tt.want {
			t.Errorf("fitText(%.40q, %v) = %q, want %q", tt.in, tt.room, got, tt.want)
		}
		if w := textWidth(got, size); w > tt.room {
			t.Errorf("%q is %v wide, there is room for %v", got, w, tt.room)
		}
	}
}

// A head takes the end of a curve, so that a thick line does not stick out of its tip.
func TestHeadOf(t *testing.T) {
	line := []point{{0, 0}, {0, 10}, {0, 20}, {0, 30}, {0, 40}, {0, 50}, {0, 60}}
	rest, head := headOf(line, 10, 2)
	last := rest[len(rest)-1]
	if head[0] != (point{0, 60}) || math.Abs(last.y-50) > 0.1 || last.x != 0 {
		t.Errorf("the line ends at %v and the head is %v; want them to meet at 0, 50", last, head)
	}
	if rest, head := headOf(line[:4], 1000, 2); rest[len(rest)-1] != line[0] || head[0] != line[3] {
		t.Errorf("of a line shorter than its head %v is left, and the head is %v", rest, head)
	}
}
