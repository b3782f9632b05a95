// Package search is a practice service of hone serve --demo: it finds documents. Version 8 looks for duplicates by going through all that it has.
package search

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// A Service finds documents.
type Service struct {
	version   int
	documents []string
	index     map[string][]int
	recent    []string // answers
}

const (
	documents = 3000
	kept      = 2048 // answers
)

var words = strings.Fields("quick brown fox lazy dog river stone light paper cloud engine garden window silver forest winter market letter signal bridge")

// New returns a service of a version.
func New(version int) *Service {
	s := &Service{version: version, index: map[string][]int{}, recent: make([]string, kept)}
	for d := range documents {
		var b strings.Builder
		for w := range 40 {
			fmt.Fprintf(&b, "%s%d ", words[(d*7+w*w*13+w)%len(words)], (d*w)%9)
		}
		text := b.String()
		s.documents = append(s.documents, text)
		for _, w := range tokens(text) {
			if list := s.index[w]; len(list) == 0 || list[len(list)-1] != d {
				s.index[w] = append(list, d)
			}
		}
	}
	return s
}

// Endpoints are what a request can be for.
func (s *Service) Endpoints() []string { return []string{"/search", "/suggest"} }

// Do answers a request.
func (s *Service) Do(endpoint string, n int) {
	query := fmt.Sprintf("%s%d %s%d", words[n%len(words)], n%9, words[(n/7)%len(words)], n%5)
	if endpoint == "/suggest" {
		s.recent[n%kept] = strings.Join(s.suggest(query[:3]), ",")
		return
	}
	found := s.find(tokens(query))
	s.recent[n%kept] = s.snippets(s.rank(found, query))
}

func tokens(text string) []string {
	list := strings.Fields(strings.ToLower(text))
	for i, w := range list {
		list[i] = strings.Trim(w, ".,;:!?")
	}
	return list
}

// find returns the documents that have one of the words, each once.
func (s *Service) find(words []string) []int {
	var found []int
	if s.version >= 8 {
		for _, w := range words {
			for _, d := range s.index[w] {
				if !slices.Contains(found, d) {
					found = append(found, d)
				}
			}
		}
		return found
	}
	seen := make([]bool, len(s.documents))
	for _, w := range words {
		for _, d := range s.index[w] {
			if !seen[d] {
				seen[d] = true
				found = append(found, d)
			}
		}
	}
	return found
}

// rank returns the best of the documents.
func (s *Service) rank(found []int, query string) []int {
	score := make(map[int]int, len(found))
	for _, d := range found {
		for _, w := range strings.Fields(query) {
			score[d] += strings.Count(s.documents[d], w)
		}
	}
	sort.Slice(found, func(i, j int) bool {
		a, b := found[i], found[j]
		if score[a] != score[b] {
			return score[a] > score[b]
		}
		return a < b
	})
	return found[:min(len(found), 10)]
}

func (s *Service) snippets(best []int) string {
	var b strings.Builder
	for i, d := range best {
		text := s.documents[d]
		fmt.Fprintf(&b, "%d. %s…\n", i+1, text[:min(len(text), 60)])
	}
	return b.String()
}

// suggest returns words that begin with a text.
func (s *Service) suggest(prefix string) []string {
	var out []string
	for w := range s.index {
		if strings.HasPrefix(w, prefix) {
			out = append(out, w)
		}
	}
	slices.Sort(out)
	return out
}
