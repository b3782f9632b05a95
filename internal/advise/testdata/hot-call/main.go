package main

import (
	"fmt"
	"math/big"
	"net"
	"regexp"
	"strings"
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

func main() {
	fmt.Println(parsed("12kb"), sum(5), words("a bc"), own("3"), stamp(nil, time.Time{}), local("::1"))
}
