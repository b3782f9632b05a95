package main

import (
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
)

func key(b []byte) string {
	h := sha256.New() // cost: crypto/sha256.New; want
	h.Write(b)
	return hex.EncodeToString(h.Sum(nil))
}

func name(s string) []byte {
	h := md5.New() // cost: crypto/md5.New; want
	_, _ = io.WriteString(h, s)
	if s == "" {
		return nil
	}
	return h.Sum(nil)
}

// parts writes twice.
func parts(a, b []byte) []byte {
	h := sha256.New() // cost: crypto/sha256.New; want
	h.Write(a)
	h.Write(b)
	return h.Sum(nil)
}

// checked looks at what Write returns.
func checked(a []byte) ([]byte, error) {
	h := sha256.New() // cost: crypto/sha256.New; want
	if _, err := h.Write(a); err != nil {
		return nil, err
	}
	return h.Sum(nil), nil
}

func main() {
	c, err := checked([]byte("c"))
	fmt.Printf("%s %x %x %x %v\n", key([]byte("a")), name("b"), parts([]byte("a"), []byte("b")), c, err)
}
