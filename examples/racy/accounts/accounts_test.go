package accounts

import (
	"net/http/httptest"
	"sync"
	"testing"
)

func ask(b *Bank, target string) int {
	rec := httptest.NewRecorder()
	b.ServeHTTP(rec, httptest.NewRequest("GET", target, nil))
	return rec.Code
}

func TestTransfer(t *testing.T) {
	b := NewBank()
	if code := ask(b, "/?from=ann&to=ben&amount=30"); code != 200 {
		t.Errorf("the status is %d", code)
	}
	if code := ask(b, "/?from=ben&to=ann&amount=10"); code != 200 {
		t.Errorf("the status is %d", code)
	}
	if got := b.accounts["ann"].balance; got != 80 {
		t.Errorf("ann has %d; want 80", got)
	}
}

func TestTransferParallel(t *testing.T) {
	b := NewBank()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { ask(b, "/?from=ann&to=ben&amount=1") })
	}
	wg.Wait()
	if got := b.accounts["ben"].balance; got != 108 {
		t.Errorf("ben has %d; want 108", got)
	}
}

func TestNobody(t *testing.T) {
	if code := ask(NewBank(), "/?from=ann&to=eve&amount=1"); code != 400 {
		t.Errorf("the status is %d; want 400", code)
	}
}

func BenchmarkServeHTTP(b *testing.B) {
	bank := NewBank()
	b.ReportAllocs()
	for b.Loop() {
		ask(bank, "/?from=ann&to=ben&amount=1")
	}
}
