package inflate

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/hone-perf/hone/internal/testrun"
)

// pack packs with compress/gzip at a level.
func pack(t testing.TB, level int, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, level)
	if err != nil {
		t.Fatal(err)
	}
	w.Name, w.Comment, w.Extra = "a name", "a comment", []byte("extra")
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// samples are data of many kinds: of one byte, of few, random, with near and far matches, and like profiles.
func samples() map[string][]byte {
	rnd := rand.New(rand.NewPCG(1, 2))
	random := make([]byte, 300<<10)
	for i := range random {
		random[i] = byte(rnd.Uint32())
	}
	far := bytes.Repeat(random[:32<<10], 4) // matches at the largest distance
	var skewed []byte                       // long code words
	for i := range 200 << 10 {
		skewed = append(skewed, byte(rnd.ExpFloat64()*float64(1+i>>12)))
	}
	var profile []byte
	ids := make([][]byte, 3000)
	for i := range ids {
		for range 20 + rnd.IntN(20) {
			id := 1 + rnd.IntN(20000)
			ids[i] = append(ids[i], byte(id)|0x80, byte(id>>7))
		}
	}
	for range 20000 {
		s := ids[rnd.IntN(len(ids))]
		profile = append(profile, 0x12, byte(len(s)), 0x0a)
		profile = append(profile, s[rnd.IntN(len(s)):]...)
		profile = append(profile, 0x12, 3, 1, byte(rnd.Uint32()), byte(rnd.Uint32()))
	}
	return map[string][]byte{
		"nothing": nil,
		"byte":    {'x'},
		"zeros":   make([]byte, 400<<10),
		"run":     bytes.Repeat([]byte("ab"), 100<<10),
		"text":    []byte(strings.Repeat("It was the best of times, it was the worst of times. ", 9000)),
		"random":  random,
		"far":     far,
		"skewed":  skewed,
		"profile": profile,
	}
}

func TestReader(t *testing.T) {
	for name, data := range samples() {
		for level := gzip.HuffmanOnly; level <= gzip.BestCompression; level++ {
			t.Run(fmt.Sprintf("%s/%d", name, level), func(t *testing.T) {
				packed := pack(t, level, data)
				for _, src := range []io.Reader{
					bytes.NewReader(packed),
					iotest.HalfReader(bytes.NewReader(packed)),
					iotest.DataErrReader(bytes.NewReader(packed)),
				} {
					check(t, src, data, nil)
				}
				if len(packed) < 10<<10 {
					check(t, iotest.OneByteReader(bytes.NewReader(packed)), data, nil)
				}
				check(t, bytes.NewReader(append(packed[:len(packed):len(packed)], packed...)), append(data[:len(data):len(data)], data...), nil)
			})
		}
	}
}

// check unpacks src and compares what comes of it.
func check(t *testing.T, src io.Reader, want []byte, wantErr error) {
	t.Helper()
	r, err := NewReader(src)
	if err != nil {
		t.Fatalf("NewReader: %v", err)
	}
	got, err := io.ReadAll(r)
	if err != wantErr {
		t.Errorf("error %v, want %v", err, wantErr)
	}
	if !bytes.Equal(got, want) {
		n := 0
		for n < len(got) && n < len(want) && got[n] == want[n] {
			n++
		}
		t.Errorf("%d bytes that differ from the %d wanted at %d", len(got), len(want), n)
	}
}

// TestCut cuts packed data everywhere: what was there comes out, then the error.
func TestCut(t *testing.T) {
	data := samples()["text"][:2000]
	for _, level := range []int{gzip.NoCompression, gzip.BestSpeed, gzip.HuffmanOnly} {
		packed := pack(t, level, data)
		for n := range packed {
			compare(t, packed[:n])
		}
	}
}

// compare unpacks with this package and with compress/gzip, and holds that they answer alike.
func compare(t *testing.T, packed []byte) {
	t.Helper()
	const limit = 8 << 20
	var got, want []byte
	r, err := NewReader(bytes.NewReader(packed))
	if err == nil {
		got, err = io.ReadAll(io.LimitReader(r, limit))
	}
	z, wantErr := gzip.NewReader(bytes.NewReader(packed))
	if wantErr == nil {
		want, wantErr = io.ReadAll(io.LimitReader(z, limit))
	}
	// Where code words make no sense just before the end of the input, either may be what is said. The place of
	// damage may differ by the bytes of one symbol.
	if kind, wantKind := damage(err), damage(wantErr); kind != wantKind && !(kind > 0 && wantKind > 0) || kind == 0 && err != wantErr {
		t.Errorf("error %v, want %v", err, wantErr)
	}
	if n := min(len(got), len(want)); wantErr == nil && len(got) != len(want) || !bytes.Equal(got[:n], want[:n]) {
		t.Errorf("got %d bytes, want %d, and the same", len(got), len(want))
	}
	if len(got) < len(want) {
		t.Errorf("got %d bytes; compress/gzip salvages %d", len(got), len(want))
	}
}

// damage returns 1 for input that ends too early, 2 for input that makes no sense, and 0 for other errors.
func damage(err error) int {
	var corrupt flate.CorruptInputError
	switch {
	case err == io.ErrUnexpectedEOF:
		return 1
	case errors.As(err, &corrupt):
		return 2
	}
	return 0
}

func TestErrors(t *testing.T) {
	tests := []struct{ name, in string }{
		{"empty", ""},
		{"short header", "\x1f\x8b\x08\x00"},
		{"no gzip", "hello, world"},
		{"other method", "\x1f\x8b\x07\x00\x00\x00\x00\x00\x00\x00"},
		{"bad block", "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x00\x07"},
		{"bad stored", "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x00\x01\x01\x00\x00\x00a"},
		{"far back", "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x00\x03\x02\x00\x00\x00\x00\x00"},
		{"long name", "\x1f\x8b\x08\x08\x00\x00\x00\x00\x00\x00" + strings.Repeat("n", 600)},
		{"bad header sum", "\x1f\x8b\x08\x02\x00\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00"},
		{"bad sum", "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x00\x03\x00\x01\x00\x00\x00\x00\x00\x00\x00"},
		{"trailing", "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00garbage that follows"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { compare(t, []byte(tt.in)) })
	}
	broken := errors.New("broken pipe")
	packed := pack(t, 6, samples()["text"])
	r, err := NewReader(io.MultiReader(bytes.NewReader(packed[:len(packed)/2]), iotest.ErrReader(broken)))
	if err == nil {
		_, err = io.Copy(io.Discard, r)
	}
	if err != broken {
		t.Errorf("error %v, want that of the source", err)
	}
}

// TestDamaged flips bytes of packed data.
func TestDamaged(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for name, data := range samples() {
		data = data[:min(len(data), 20<<10)]
		for _, level := range []int{gzip.BestSpeed, gzip.BestCompression, gzip.HuffmanOnly} {
			packed := pack(t, level, data)
			for range testrun.Size(200, 40) {
				bad := bytes.Clone(packed)
				for range 1 + rnd.IntN(3) {
					bad[rnd.IntN(len(bad))] ^= 1 << rnd.IntN(8)
				}
				compare(t, bad)
				if t.Failed() {
					t.Fatalf("%s at level %d: %x", name, level, bad[:min(len(bad), 200)])
				}
			}
		}
	}
}

func FuzzReader(f *testing.F) {
	for _, data := range samples() {
		data = data[:min(len(data), 300)]
		for _, level := range []int{gzip.NoCompression, gzip.BestSpeed, gzip.BestCompression, gzip.HuffmanOnly} {
			f.Add(pack(f, level, data))
		}
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		compare(t, in)
		// What compress/gzip packs comes back.
		check(t, bytes.NewReader(pack(t, int(uint(len(in))%10), in)), in, nil)
	})
}

func BenchmarkReader(b *testing.B) {
	data := samples()["profile"]
	for _, level := range []int{gzip.BestSpeed, gzip.DefaultCompression} {
		packed := pack(b, level, data)
		b.Run(fmt.Sprintf("level=%d", level), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				r, err := NewReader(bytes.NewReader(packed))
				if err != nil {
					b.Fatal(err)
				}
				if _, err := io.Copy(io.Discard, r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
