// Package shop is a practice service of hone serve --demo: it takes orders. Version 3 compiles the patterns of coupons for each order.
package shop

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// A Service takes orders.
type Service struct {
	version int
	coupons []coupon
	prices  map[string]int
	orders  [][]byte // what customers send
	taken   [][]byte // the last receipts
}

type coupon struct {
	pattern string
	rx      *regexp.Regexp
	percent int
}

type order struct {
	Customer string `json:"customer"`
	Coupon   string `json:"coupon"`
	Lines    []line `json:"lines"`
}

type line struct {
	Article string `json:"article"`
	Count   int    `json:"count"`
}

const kept = 4096 // receipts

// New returns a service of a version.
func New(version int) *Service {
	s := &Service{version: version, prices: map[string]int{}, taken: make([][]byte, kept)}
	for i, pattern := range []string{`^SPRING-\d{4}$`, `^VIP-[A-Z]{3}-\d+$`, `(?i)^friends?-of-[a-z]+$`} {
		s.coupons = append(s.coupons, coupon{pattern, regexp.MustCompile(pattern), 5 * (i + 1)})
	}
	for i := range 5000 {
		s.prices[article(i)] = 100 + i%700
	}
	for i := range 64 {
		o := order{Customer: fmt.Sprintf("customer-%d", i*7919), Coupon: fmt.Sprintf("VIP-ABC-%d", i)}
		for j := range 6 + i%9 {
			o.Lines = append(o.Lines, line{article((i*31 + j*17) % 5000), 1 + j%3})
		}
		text, _ := json.Marshal(o)
		s.orders = append(s.orders, text)
	}
	return s
}

func article(i int) string { return fmt.Sprintf("article-%05d", i) }

// Endpoints are what a request can be for.
func (s *Service) Endpoints() []string { return []string{"/checkout", "/cart"} }

// Do answers a request.
func (s *Service) Do(endpoint string, n int) {
	o := s.decode(s.orders[n%len(s.orders)])
	total := s.total(o)
	if endpoint == "/checkout" {
		total -= total * s.discount(o) / 100
		s.taken[n%kept] = s.receipt(o, total)
	}
}

func (s *Service) decode(text []byte) *order {
	var o order
	if err := json.Unmarshal(text, &o); err != nil {
		panic(err) // we wrote it
	}
	return &o
}

func (s *Service) total(o *order) int {
	sum := 0
	for _, l := range o.Lines {
		sum += l.Count * s.prices[l.Article]
	}
	return sum
}

// discount returns the percentage of the best coupon.
func (s *Service) discount(o *order) int {
	best := 0
	for _, c := range s.coupons {
		rx := c.rx
		if s.version >= 3 {
			rx = regexp.MustCompile(c.pattern)
		}
		if rx.MatchString(o.Coupon) {
			best = max(best, c.percent)
		}
	}
	return best
}

func (s *Service) receipt(o *order, total int) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "receipt for %s\n", o.Customer)
	for _, l := range o.Lines {
		fmt.Fprintf(&b, "%3d × %-20s %8.2f\n", l.Count, strings.ToUpper(l.Article), float64(l.Count*s.prices[l.Article])/100)
	}
	fmt.Fprintf(&b, "total %8.2f\n", float64(total)/100)
	return []byte(b.String())
}
