package worker

import (
	"hash/fnv"
	"testing"
)

func TestHashOf(t *testing.T) {
	h := fnv.New64a()
	h.Write([]byte("result[0]\x00\xffé"))
	if got := hashOf("result[0]", "\xffé"); got != h.Sum64() {
		t.Errorf("hashOf gives %x, want %x as from hash/fnv", got, h.Sum64())
	}
}
