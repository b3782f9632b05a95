package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math/big"
	"net/netip"
	"time"
)

func stamp(b []byte, t time.Time) []byte {
	return append(b, t.Format(time.RFC3339)...) // cost: time.Time.Format; want
}

func encode(w *bytes.Buffer, b []byte) {
	w.WriteString(base64.StdEncoding.EncodeToString(b)) // cost: encoding/base64.(*Encoding).EncodeToString; want
}

func address(a netip.Addr) []byte {
	return []byte(a.String()) // cost: net/netip.Addr.String; want
}

func number(b []byte, n *big.Int) []byte {
	return append(b, n.String()...) // cost: math/big.(*Int).String; want
}

// shown is what rule fmt-text looks at.
func shown(n int, s string) []byte {
	return []byte(fmt.Sprintf("%05d %v", n, []string{s})) // cost: fmt.Sprintf
}

// kept is a string in the end.
func kept(t time.Time) string {
	return t.Format(time.Kitchen) // cost: time.Time.Format
}

func main() {
	var w bytes.Buffer
	encode(&w, []byte("abc"))
	t := time.Unix(1e9, 0).UTC()
	fmt.Printf("%s %s %s %s %s %s\n", stamp([]byte("at "), t), w.String(), address(netip.MustParseAddr("10.0.0.1")), number(nil, big.NewInt(12)), shown(3, "x"), kept(t))
}
