package main

import "fmt"

type registry struct{ sessions, recent map[int][]byte }

func (r *registry) open(id int) {
	if r.sessions == nil {
		r.sessions = make(map[int][]byte)
	}
	s := make([]byte, 100) // cost: [inuse_space]
	r.sessions[id] = s     // want
}

func (r *registry) visit(id int) {
	r.recent[id] = make([]byte, 100) // cost: [inuse_space]
	delete(r.recent, id-10)
}

func main() {
	r := registry{recent: map[int][]byte{}}
	r.open(1)
	r.visit(1)
	fmt.Println(len(r.sessions), len(r.recent))
}
