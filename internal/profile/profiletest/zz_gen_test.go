package profiletest

import (
	"os"
	"strconv"
	"testing"
)

func TestGenFile(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("GEN_N"))
	if n == 0 {
		return
	}
	f, _ := os.Create(os.Getenv("GEN_OUT"))
	k := CPU
	if os.Getenv("GEN_HEAP") != "" {
		k = Heap
	}
	if err := Write(f, Config{Samples: n, Kind: k, Seed: 1}); err != nil {
		t.Fatal(err)
	}
	f.Close()
}
