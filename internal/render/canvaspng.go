package render

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"math"

	"golang.org/x/image/font"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// maxPixels limits the memory of a picture: each pixel takes four bytes.
const maxPixels = 32 << 20

// png paints the picture at a number of pixels for each CSS pixel, reduced if the image would be too large.
func (c *canvas) png(w io.Writer, scale float64, dark bool) error {
	if area := c.width * c.height * scale * scale; area > maxPixels {
		scale *= math.Sqrt(maxPixels / area)
	}
	const least = 0.2 // smaller pictures are unreadable
	wide, high := int(c.width*scale), int(c.height*scale)
	if scale < least || wide < 1 || high < 1 {
		return fmt.Errorf("a picture of %.0f by %.0f pixels is too large for PNG; write it as SVG", c.width, c.height)
	}
	p := painter{img: image.NewRGBA(image.Rect(0, 0, wide, high)), scale: scale, dark: dark, faces: make(map[float64]font.Face)}
	paper := color.RGBA{}
	if c.paper != (ink{}) {
		paper = p.color(c.paper)
	}
	draw.Draw(p.img, p.img.Rect, image.NewUniform(paper), image.Point{}, draw.Src)
	for i := range c.marks {
		if err := p.mark(&c.marks[i]); err != nil {
			return err
		}
	}
	return png.Encode(w, p.img)
}

// A painter paints marks on an image. All its points are in pixels of the image.
type painter struct {
	img    *image.RGBA
	scale  float64
	dark   bool
	raster vector.Rasterizer
	faces  map[float64]font.Face // by size
}

func (p *painter) color(i ink) color.RGBA {
	if p.dark {
		return i.dark
	}
	return i.light
}

func (p *painter) mark(m *mark) error {
	points := make([]point, len(m.points))
	for i, at := range m.points {
		points[i] = point{at.x * p.scale, at.y * p.scale}
	}
	l := m.look
	l.width *= p.scale
	l.radius *= p.scale
	l.arrow *= p.scale
	l.dash = make([]float64, len(m.look.dash))
	for i, d := range m.look.dash {
		l.dash[i] = d * p.scale
	}
	switch m.kind {
	case rectMark:
		p.shape(rectOutline(points[0], points[1], l.radius), l)
	case polygonMark:
		p.shape(points, l)
	case curveMark:
		var head []point
		if l.arrow > 0 {
			points, head = headOf(points, l.arrow, l.width)
		}
		p.stroke(flatten(points), l)
		if head != nil {
			p.fill([][]point{head}, l.stroke)
		}
	case textMark:
		return p.text(points[0], m.text, m.letter)
	}
	return nil
}

// rectOutline returns the corners of a rectangle, rounded ones as short lines.
func rectOutline(a, b point, radius float64) []point {
	radius = min(radius, (b.x-a.x)/2, (b.y-a.y)/2)
	if radius <= 0 {
		return []point{a, {b.x, a.y}, b, {a.x, b.y}}
	}
	const steps = 6
	var out []point
	for corner, center := range []point{
		{b.x - radius, a.y + radius}, {b.x - radius, b.y - radius}, {a.x + radius, b.y - radius}, {a.x + radius, a.y + radius},
	} {
		for i := range steps + 1 {
			sin, cos := math.Sincos((float64(corner-1) + float64(i)/steps) * math.Pi / 2)
			out = append(out, point{center.x + radius*cos, center.y + radius*sin})
		}
	}
	return out
}

// shape paints a closed shape.
func (p *painter) shape(corners []point, l look) {
	p.fill([][]point{corners}, l.fill)
	if l.hatch != (ink{}) {
		p.hatch(corners, l.hatch)
	}
	if l.stroke != (ink{}) {
		p.stroke(append(corners[:len(corners):len(corners)], corners[0]), l)
	}
}

// fill paints the union of shapes. All corners must be in the same direction of rotation.
func (p *painter) fill(shapes [][]point, i ink) {
	if i == (ink{}) {
		return
	}
	p.fillFrom(shapes, image.NewUniform(p.color(i)))
}

func (p *painter) fillFrom(shapes [][]point, src image.Image) {
	box := boundsOf(shapes).Intersect(p.img.Rect)
	if box.Empty() {
		return
	}
	p.raster.Reset(box.Dx(), box.Dy())
	at := func(q point) (float32, float32) {
		return float32(q.x - float64(box.Min.X)), float32(q.y - float64(box.Min.Y))
	}
	for _, s := range shapes {
		p.raster.MoveTo(at(s[0]))
		for _, q := range s[1:] {
			p.raster.LineTo(at(q))
		}
		p.raster.ClosePath()
	}
	p.raster.Draw(p.img, box, src, box.Min)
}

// boundsOf returns the pixel bounds of shapes.
func boundsOf(shapes [][]point) image.Rectangle {
	lo, hi := point{math.Inf(1), math.Inf(1)}, point{math.Inf(-1), math.Inf(-1)}
	for _, s := range shapes {
		for _, q := range s {
			lo = point{min(lo.x, q.x), min(lo.y, q.y)}
			hi = point{max(hi.x, q.x), max(hi.y, q.y)}
		}
	}
	return image.Rect(int(math.Floor(lo.x)), int(math.Floor(lo.y)), int(math.Ceil(hi.x)), int(math.Ceil(hi.y)))
}

// hatch paints diagonal lines within a closed shape.
func (p *painter) hatch(corners []point, i ink) {
	step, half := hatchStep*p.scale*math.Sqrt2, hatchWidth*p.scale*math.Sqrt2
	p.fillFrom([][]point{corners}, &stripes{c: p.color(i), step: step, width: half})
}

// stripes are an image of diagonal lines.
type stripes struct {
	c           color.RGBA
	step, width float64 // along a row
}

func (s *stripes) ColorModel() color.Model { return color.RGBAModel }
func (s *stripes) Bounds() image.Rectangle {
	return image.Rect(math.MinInt32, math.MinInt32, math.MaxInt32, math.MaxInt32)
}

func (s *stripes) At(x, y int) color.Color {
	if math.Mod(float64(x+y), s.step) < s.width {
		return s.c
	}
	return color.RGBA{}
}

// flatten approximates cubic splines by lines, so short that they look the same.
func flatten(points []point) []point {
	const length = 4 // pixels
	out := points[:1:1]
	for i := 0; i+3 < len(points); i += 3 {
		a, b, c, d := points[i], points[i+1], points[i+2], points[i+3]
		around := math.Hypot(b.x-a.x, b.y-a.y) + math.Hypot(c.x-b.x, c.y-b.y) + math.Hypot(d.x-c.x, d.y-c.y)
		steps := int(min(max(around/length, 1), 4096))
		for j := 1; j <= steps; j++ {
			t := float64(j) / float64(steps)
			u := 1 - t
			out = append(out, point{
				u*u*u*a.x + 3*u*u*t*b.x + 3*u*t*t*c.x + t*t*t*d.x,
				u*u*u*a.y + 3*u*u*t*b.y + 3*u*t*t*c.y + t*t*t*d.y,
			})
		}
	}
	return out
}

// stroke paints a line along points.
func (p *painter) stroke(points []point, l look) {
	for _, run := range dashes(points, l.dash) {
		// The rasterizer visits each pixel of the bounding box, so long lines are painted in short pieces.
		const pieces = 16
		for i := 0; i+1 < len(run); i += pieces {
			p.fill(outline(run[i:min(i+pieces+1, len(run))], l.width/2), l.stroke)
		}
	}
}

// outline returns the shapes of a line: a bar for each piece, and a disc at each joint.
func outline(points []point, half float64) [][]point {
	var out [][]point
	for i, a := range points[:len(points)-1] {
		b := points[i+1]
		dx, dy := b.x-a.x, b.y-a.y
		d := math.Hypot(dx, dy)
		if d == 0 {
			continue
		}
		nx, ny := -dy/d*half, dx/d*half
		out = append(out, []point{{a.x - nx, a.y - ny}, {b.x - nx, b.y - ny}, {b.x + nx, b.y + ny}, {a.x + nx, a.y + ny}})
		if i > 0 {
			out = append(out, rectOutline(point{a.x - half, a.y - half}, point{a.x + half, a.y + half}, half))
		}
	}
	return out
}

// dashes returns the parts of a line that are painted.
func dashes(points []point, lengths []float64) [][]point {
	whole := 0.0
	for _, d := range lengths {
		whole += d
	}
	if whole < 1 {
		return [][]point{points}
	}
	var out [][]point
	on, n, left := true, 0, lengths[0]
	run := []point{points[0]}
	for i := 1; i < len(points); i++ {
		a, b := points[i-1], points[i]
		d := math.Hypot(b.x-a.x, b.y-a.y)
		for d > left {
			t := left / d
			a = point{a.x + (b.x-a.x)*t, a.y + (b.y-a.y)*t}
			if d -= left; on {
				out = append(out, append(run, a))
			}
			run = []point{a}
			on = !on
			n = (n + 1) % len(lengths)
			left = lengths[n]
		}
		left -= d
		run = append(run, b)
	}
	if on {
		out = append(out, run)
	}
	return out
}

func (p *painter) text(at point, s string, l lettering) error {
	switch l.anchor {
	case middle:
		at.x -= textWidth(s, l.size) * p.scale / 2
	case end:
		at.x -= textWidth(s, l.size) * p.scale
	}
	face, ok := p.faces[l.size]
	if !ok {
		var err error
		face, err = opentype.NewFace(letters(), &opentype.FaceOptions{Size: l.size * p.scale, DPI: 72})
		if err != nil {
			return fmt.Errorf("painting text: %w", err)
		}
		p.faces[l.size] = face
	}
	d := font.Drawer{
		Dst: p.img, Src: image.NewUniform(p.color(l.ink)), Face: face,
		Dot: fixed.Point26_6{X: fixed.Int26_6(at.x * 64), Y: fixed.Int26_6(at.y * 64)},
	}
	d.DrawString(s)
	return nil
}
