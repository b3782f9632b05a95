package main

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
)

func appended(b []byte, n int, f float64) []byte {
	b = append(b, strconv.Itoa(n)...)                          // cost: strconv.Itoa strconv.FormatInt; want
	b = append(b, strconv.FormatFloat(f, 'f', 3, 64)...)       // cost: strconv.FormatFloat strconv.genericFtoa; want
	return append(b, strconv.Quote(string(rune('a'+n&15)))...) // cost: strconv.Quote; want
}

func written(w *bytes.Buffer, n int64) {
	w.WriteString(strconv.FormatInt(n, 16)) // cost: strconv.FormatInt; want
}

func send(value string) string { return value + "!" }

func passed(f float64) string {
	return send(strconv.FormatFloat(f, 'g', -1, 64)) // cost: strconv.FormatFloat; want
}

func kept(n int) string {
	return strconv.Itoa(n) // cost: strconv.Itoa
}

func main() {
	for _, n := range []int{0, -1, 1 << 40} {
		var w bytes.Buffer
		written(&w, int64(n))
		fmt.Printf("%s %s %s %s\n", appended(nil, n, float64(n)/3), &w, passed(math.Pi), kept(n))
	}
}
