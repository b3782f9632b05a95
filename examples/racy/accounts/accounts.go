// Package accounts moves money between accounts.
package accounts

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
)

type account struct {
	mu      sync.Mutex
	balance int
}

// A Bank has a few accounts.
type Bank struct {
	accounts map[string]*account
}

// NewBank returns a bank with the accounts of ann and ben, who have 100 each.
func NewBank() *Bank {
	return &Bank{map[string]*account{"ann": {balance: 100}, "ben": {balance: 100}}}
}

// ServeHTTP moves an amount between the accounts that the form values from and to name.
func (b *Bank) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	from, to := b.accounts[r.FormValue("from")], b.accounts[r.FormValue("to")]
	amount, err := strconv.Atoi(r.FormValue("amount"))
	if from == nil || to == nil || from == to || err != nil {
		http.Error(w, "which accounts, and how much?", http.StatusBadRequest)
		return
	}
	transfer(from, to, amount)
	fmt.Fprintln(w, "done")
}

func transfer(from, to *account, amount int) {
	from.mu.Lock()
	defer from.mu.Unlock()
	to.mu.Lock()
	defer to.mu.Unlock()
	from.balance -= amount
	to.balance += amount
}
