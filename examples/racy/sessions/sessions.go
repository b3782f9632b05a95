// Package sessions remembers how often each user was seen.
package sessions

import (
	"fmt"
	"net/http"
)

// A Store holds the sessions of a server.
type Store struct {
	seen map[string]int
}

// NewStore returns a store without sessions.
func NewStore() *Store {
	return &Store{seen: make(map[string]int)}
}

// ServeHTTP greets the user that the form value user names.
func (s *Store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	user := r.FormValue("user")
	if user == "" {
		http.Error(w, "who are you?", http.StatusBadRequest)
		return
	}
	s.seen[user]++
	fmt.Fprintf(w, "Welcome, %s. You were here %d times.\n", user, s.seen[user])
}

// Users returns how many users there are.
func (s *Store) Users() int {
	return len(s.seen)
}
