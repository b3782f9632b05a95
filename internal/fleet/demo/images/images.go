// Package images is a practice service of hone serve --demo: it makes small pictures of large ones.
package images

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
)

// A Service makes small pictures.
type Service struct {
	large [][]byte
	small map[[32]byte][]byte
}

const (
	wide   = 320
	narrow = 80
	kept   = 256 // pictures
)

// New returns a service. All versions are the same.
func New(int) *Service {
	s := &Service{small: map[[32]byte][]byte{}}
	for i := range 8 {
		p := make([]byte, 4*wide*wide)
		for at := range p {
			p[at] = byte(at*(i+3)/7 ^ at>>9)
		}
		s.large = append(s.large, p)
	}
	return s
}

// Endpoints are what a request can be for.
func (s *Service) Endpoints() []string { return []string{"/thumbnail"} }

// Do answers a request.
func (s *Service) Do(_ string, n int) {
	picture := s.large[n%len(s.large)]
	small := scale(picture, n%3)
	packed := pack(small)
	if len(s.small) >= kept {
		clear(s.small)
	}
	s.small[sha256.Sum256(packed)] = packed
}

// scale averages squares of points.
func scale(p []byte, shift int) []byte {
	const by = wide / narrow
	out := make([]byte, 0, 4*narrow*narrow)
	for y := range narrow {
		for x := range narrow {
			for c := range 4 {
				out = append(out, average(p, by*x, by*y, c)+byte(shift*x))
			}
		}
	}
	return out
}

//go:noinline
func average(p []byte, x, y, c int) byte {
	const by = wide / narrow
	sum := 0
	for dy := range by {
		row := p[4*wide*(y+dy):]
		for dx := range by {
			sum += int(row[4*(x+dx)+c])
		}
	}
	return byte(sum / by / by)
}

func pack(p []byte) []byte {
	var b bytes.Buffer
	w, _ := flate.NewWriter(&b, flate.BestSpeed)
	w.Write(p)
	w.Close()
	return b.Bytes()
}
