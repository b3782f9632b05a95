package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"image"
	"image/draw"
	"io"
	"math/big"
	"net"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

var size = regexp.MustCompile(`^(\d+)([a-z]*)$`)

func parsed(s string) string {
	m := size.FindStringSubmatch(s) // cost: regexp.(*Regexp).FindStringSubmatch regexp.(*Regexp).doExecute; want
	return strings.Join(m, "|")
}

func sum(n int64) *big.Int {
	total := new(big.Int)
	for i := int64(0); i < n; i++ {
		total.Add(total, big.NewInt(i)) // cost: math/big.NewInt runtime.mallocgc, math/big.(*Int).Add; want
	}
	return total
}

func words(s string) int {
	n := 0
	for _, w := range strings.Split(strings.ToUpper(s), " ") { // cost: strings.ToUpper strings.Map; want
		n += len(w)
	}
	return n
}

func stamp(b []byte, t time.Time) []byte {
	return append(quoted(b, t.String()), '\n') // cost: time.Time.String time.Time.Format; want
}

func quoted(b []byte, s string) []byte {
	return append(append(append(b, '"'), s...), '"')
}

func local(s string) bool {
	return net.ParseIP(s).IsLoopback() // cost: net.ParseIP; want
}

// It is a function of this program that costs.
func own(s string) string {
	return parsed(s) // cost: main.parsed regexp.(*Regexp).FindStringSubmatch
}

// It makes room already, or made it on another line.
func roomy(list []string) string {
	var b strings.Builder
	b.Grow(64 * len(list)) // cost: strings.(*Builder).Grow strings.(*Builder).grow; want
	for _, s := range list {
		b.WriteString(s)
	}
	return b.String()
}

func tooLittle(list []string) string {
	var b strings.Builder
	b.Grow(8)
	for _, s := range list {
		b.WriteString(s) // cost: strings.(*Builder).WriteString runtime.growslice runtime.mallocgc; want
	}
	return b.String()
}

// The first array of a Buffer is allocated once for each text, and does not grow.
func short(s string) string {
	b := new(bytes.Buffer)
	b.WriteString(s) // cost: bytes.(*Buffer).WriteString bytes.(*Buffer).grow runtime.mallocgc; want
	return b.String()
}

func long(s string) string {
	b := wrapped{new(bytes.Buffer)}
	b.WriteString(s) // cost: bytes.(*Buffer).WriteString bytes.(*Buffer).grow bytes.growSlice runtime.mallocgc; want
	return b.String()
}

type wrapped struct{ *bytes.Buffer }

func shown(b *bytes.Buffer) string {
	return b.String() // cost: bytes.(*Buffer).String runtime.slicebytetostring runtime.mallocgc
}

func walked(s string) (n int) {
	for part := range strings.SplitSeq(s, ",") { // cost: strings.SplitSeq runtime.newobject runtime.mallocgc; want
		n += len(part)
	}
	return n
}

// It is the body of the loop that costs.
func raised(s string, out []string) []string {
	for part := range strings.FieldsSeq(s) { // cost: strings.FieldsSeq.func1 main.raised-range1 strings.ToUpper
		out = append(out, strings.ToUpper(part))
	}
	return out
}

// What a function costs that is passed to another is not what the other costs.
func ranged(m *sync.Map) (out string) {
	m.Range(func(k, v any) bool { // cost: sync.(*Map).Range main.ranged.func1 strings.Repeat
		out = strings.Repeat("b", 9)
		return true
	})
	return out
}

func appended(n int64) []byte {
	return strconv.AppendInt(nil, n, 10) // cost: strconv.AppendInt runtime.growslice runtime.mallocgc; want
}

// These return nothing, or nothing that is in memory.
func drawn(r image.Rectangle) int {
	dst := image.NewRGBA(r)
	draw.Draw(dst, r, image.Black, image.Point{}, draw.Src) // cost: image/draw.Draw image/draw.DrawMask runtime.newobject; want
	return len(dst.Pix)
}

func discarded(name string) bool {
	n, _ := io.Copy(io.Discard, strings.NewReader(name)) // cost: io.Copy io.copyBuffer runtime.makeslice; want
	return n > 0
}

// The code reads tokens already.
func tokens(d *xml.Decoder) (n int) {
	for {
		if _, err := d.Token(); err != nil { // cost: encoding/xml.(*Decoder).Token encoding/xml.(*Decoder).text runtime.mallocgc; want
			return n
		}
		n++
	}
}

// What is written to is made by somebody else.
type countedWriter struct {
	w io.Writer
	n int
}

func (c *countedWriter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b) // cost: bytes.(*Buffer).Write bytes.growSlice runtime.mallocgc; want
	c.n += n
	return n, err
}

// What a pool makes is told where it is taken out.
type server struct{ buffers sync.Pool }

func newServer() *server {
	s := &server{}
	s.buffers.New = func() any {
		return bytes.NewBuffer(make([]byte, 0, 4096)) // cost: bytes.NewBuffer runtime.newobject runtime.mallocgc
	}
	return s
}

func (s *server) take() *bytes.Buffer {
	return s.buffers.Get().(*bytes.Buffer) // cost: sync.(*Pool).Get main.newServer bytes.NewBuffer; want
}

// It runs once, before main.
func init() {
	limits = strings.Fields("3 4") // cost: strings.Fields runtime.makeslice runtime.mallocgc; want
}

var limits []string

func main() {
	c := &countedWriter{w: new(bytes.Buffer)}
	c.Write([]byte("a"))
	fmt.Println(c.n, tokens(xml.NewDecoder(strings.NewReader("<a>b</a>"))))
	once := strings.Fields("5 6") // cost: strings.Fields runtime.makeslice runtime.mallocgc; want
	fmt.Println(short("a"), long("b"), len(once), len(limits), roomy(limits), tooLittle(limits), walked("a,b"), string(appended(7)), drawn(image.Rect(0, 0, 2, 2)), discarded("x"), newServer().take().Len(), shown(bytes.NewBufferString("z")), ranged(new(sync.Map)))
	fmt.Println(parsed("12kb"), sum(5), words("a bc"), own("3"), stamp(nil, time.Time{}), local("::1"))
}
