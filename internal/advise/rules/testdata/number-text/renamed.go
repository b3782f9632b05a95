package main

import conv "strconv"

func renamed(b []byte, n int) []byte {
	return append(b, conv.Itoa(n)...) // cost: strconv.Itoa; want
}
