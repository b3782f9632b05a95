package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
)

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

func main() {
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
