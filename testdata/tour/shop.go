// The program of the tour in the README: a shop that looks for prices the slow way.
package main

import (
	"encoding/json"
	"log"
	"net/http"
	_ "net/http/pprof"
	"strings"
)

type item struct {
	Name  string
	Cents int
}

var catalog []item

func main() {
	http.HandleFunc("/checkout", checkout)
	http.HandleFunc("/search", search)
	log.Fatal(http.ListenAndServe("localhost:6060", nil))
}

func checkout(w http.ResponseWriter, r *http.Request) {
	var names []string
	if err := json.NewDecoder(r.Body).Decode(&names); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	total := 0
	for _, name := range names {
		total += price(name)
	}
	answer(w, total)
}

func price(name string) int {
	for _, it := range catalog {
		if strings.EqualFold(it.Name, name) {
			return it.Cents
		}
	}
	return 0
}

func search(w http.ResponseWriter, r *http.Request) {
	var found []item
	for _, it := range catalog {
		if strings.Contains(it.Name, r.FormValue("q")) {
			found = append(found, it)
		}
	}
	answer(w, found)
}

func answer(w http.ResponseWriter, v any) {
	if err := json.NewEncoder(w).Encode(v); err != nil {
		log.Print(err)
	}
}
