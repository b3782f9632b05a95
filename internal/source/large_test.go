package source

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/profile/profiletest"
)

// TestLarge checks that what is known to be a large profile is said while it is read, and of nothing else.
func TestLarge(t *testing.T) {
	plain := func(samples int) []byte {
		p, err := profile.ParseBytes(profiletest.Bytes(profiletest.Config{Samples: samples, Functions: 300}))
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := p.WriteUncompressed(&b); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	whole := plain(20_000)
	if len(whole) <= large {
		t.Fatalf("the profile has %d bytes only", len(whole))
	}
	for _, c := range []struct {
		name    string
		content []byte
		said    int
		read    bool
	}{
		{"large", whole, 1, true},
		{"small", plain(100), 0, true},
		{"stacks as text", []byte(strings.Repeat("main;work 3\n", 100_000)), 0, true},
		{"nothing of the kind", bytes.Repeat([]byte{0xff, 0, 1}, 500_000), 0, false},
		{"with an end that makes no sense", append(bytes.Clone(whole), 0x12, 0x02, 0x08), 1, true}, // it is cut short
		{"with a field that makes no sense", append(bytes.Clone(whole), 0x10, 0x05), 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "cpu.pprof")
			if err := os.WriteFile(name, c.content, 0o666); err != nil {
				t.Fatal(err)
			}
			said := 0
			o := Options{Large: func() { said++ }}
			_, err := o.Fetch(t.Context(), name)
			if said != c.said || (err == nil) != c.read {
				t.Errorf("said %d times, error %v", said, err)
			}
		})
	}
}
