package prove

import (
	"bufio"
	"maps"
	"strings"
	"testing"
)

func TestReadCover(t *testing.T) {
	const text = `mode: set
example.com/p/main.go:3.13,5.16 2 1
example.com/p/main.go:5.16,7.3 1 0
example.com/p/main.go:9.2,9.20 1 1
example.com/p/main.go:9.20,9.30 1 0
example.com/p/main.go:12.2,13.3 0 0
C:/p:q/x.go:1.1,2.2 1 1
nonsense
example.com/p/main.go:x.13,5.16 2 1
`
	got := readCover(bufio.NewScanner(strings.NewReader(text)))
	want := map[place]bool{{"main.go", 3}: true, {"main.go", 5}: false, {"main.go", 9}: false, {"x.go", 1}: true}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
