package main

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"fmt"
	"io"
	"strings"
	"sync"
)

// readers has a name that patches keep.
var readers = sync.Pool{New: func() any { return bufio.NewReader(nil) }}

func first(r *bytes.Reader) byte {
	br := readers.Get().(*bufio.Reader)
	defer readers.Put(br)
	br.Reset(r)
	b, _ := br.ReadByte()
	return b
}

type page struct{ kept io.Writer }

func (p *page) write(w io.Writer) error {
	_, err := fmt.Fprintf(w, "page %d\n", 1)
	return err
}

func (p *page) keep(w io.Writer) { p.kept = w }

func serve(w io.Writer, p *page) {
	zw := gzip.NewWriter(w) // want
	defer zw.Close()
	p.write(zw) // cost: main.(*page).write fmt.Fprintf compress/gzip.(*Writer).Write compress/flate.NewWriter
}

func kept(w io.Writer, p *page) {
	zw := gzip.NewWriter(w) // want
	p.keep(zw)
	zw.Write(nil) // cost: compress/gzip.(*Writer).Write compress/flate.NewWriter
	zw.Close()
}

func lines(r io.Reader) (n int) {
	br := bufio.NewReader(r) // cost: bufio.NewReader bufio.NewReaderSize; want
	for {
		if _, err := br.ReadString('\n'); err != nil {
			return n
		}
		n++
	}
}

func words(r *bytes.Reader) (n int) {
	br := bufio.NewReader(r) // cost: bufio.NewReader bufio.NewReaderSize; want
	for {
		if _, err := br.ReadString(' '); err != nil {
			return n
		}
		n++
	}
}

func packed(w io.Writer, list []string) error {
	zw, err := flate.NewWriter(w, flate.BestSpeed) // cost: compress/flate.NewWriter; want
	if err != nil {
		return err
	}
	for _, s := range list {
		io.WriteString(zw, s)
	}
	return zw.Close()
}

func unpacked(r io.Reader) (string, error) {
	zr, err := gzip.NewReader(r) // cost: compress/gzip.NewReader compress/flate.NewReader; want
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(zr)
	return string(text), err
}

func inflated(r io.Reader) string {
	fr := flate.NewReader(r) // cost: compress/flate.NewReader; want
	text, _ := io.ReadAll(fr)
	return string(text)
}

func largeLines(r io.Reader) (n int) {
	br := bufio.NewReaderSize(r, 1<<16) // cost: bufio.NewReaderSize; want
	for {
		if _, err := br.ReadString('\n'); err != nil {
			return n
		}
		n++
	}
}

func levels(w io.Writer, level int) {
	zw, _ := gzip.NewWriterLevel(w, level) // cost: compress/gzip.NewWriterLevel; want
	zw.Close()
}

func each(list []string) (n int) {
	for _, s := range list {
		var b bytes.Buffer
		zw, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed) // cost: compress/gzip.NewWriterLevel; want
		io.WriteString(zw, s)
		zw.Close()
		n += b.Len()
	}
	return n
}

func main() {
	fmt.Println(first(bytes.NewReader([]byte("a"))))
	for i := range 3 {
		var a, b bytes.Buffer
		fmt.Println(packed(&a, []string{"a", fmt.Sprint(i)}), inflated(&a))
		levels(&b, i)
		fmt.Println(unpacked(&b))
		fmt.Println(unpacked(strings.NewReader("not packed")))
		buffered := bufio.NewReaderSize(strings.NewReader("a\nb\n"), 1<<17)
		fmt.Println(largeLines(buffered), largeLines(strings.NewReader("a\n")), lines(bufio.NewReader(strings.NewReader("a\n"))), each([]string{"a", "b"}))
	}
	var p page
	for range 3 {
		var a, b bytes.Buffer
		serve(&a, &p)
		kept(&b, &p)
		zr, err := gzip.NewReader(&a)
		text, _ := io.ReadAll(zr)
		fmt.Printf("%s %v %d %d %d\n", text, err, b.Len(), lines(bytes.NewReader(text)), words(bytes.NewReader(text)))
	}
}
