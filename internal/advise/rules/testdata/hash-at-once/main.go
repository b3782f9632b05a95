package main

import (
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/fnv"
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

// other has no function that hashes at once.
func other(b []byte) uint64 {
	h := fnv.New64a() // cost: hash/fnv.New64a
	h.Write(b)
	return h.Sum64()
}

var wrote int

func must(n int, err error) {
	wrote += n
}

// counted gives somebody else what Write returns.
func counted(b []byte) []byte {
	h := sha256.New() // cost: crypto/sha256.New; want
	must(h.Write(b))
	return h.Sum(nil)
}

// running hashes all that its result is given, not one by one.
func running() func(b []byte) []byte {
	h := sha256.New() // cost: crypto/sha256.New; want
	return func(b []byte) []byte {
		h.Write(b)
		return h.Sum(nil)
	}
}

func main() {
	sum := running()
	fmt.Printf("%x %x %x %d\n", counted([]byte("c")), sum([]byte("a")), sum([]byte("a")), wrote)
	c, err := checked([]byte("c"))
	fmt.Printf("%d %s %x %x %x %v\n", other([]byte("x")), key([]byte("a")), name("b"), parts([]byte("a"), []byte("b")), c, err)
}
