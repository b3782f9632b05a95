package recording

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// zipped makes a zip file.
func zipped(t *testing.T, write func(z *zip.Writer)) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	write(z)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func put(t *testing.T, z *zip.Writer, name string, text io.Reader) {
	t.Helper()
	w, err := z.Create(name)
	if err == nil {
		_, err = io.Copy(w, text)
	}
	if err != nil {
		t.Fatal(err)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

func TestCheck(t *testing.T) {
	const manifest = `{"format":1,"how":"ran","target":"x"}`
	good := zipped(t, func(z *zip.Writer) { put(t, z, manifestFile, strings.NewReader(manifest)) })
	bomb := zipped(t, func(z *zip.Writer) {
		put(t, z, manifestFile, strings.NewReader(manifest))
		for i := range 4 {
			put(t, z, fmt.Sprintf("cpu/%09d.pb.gz", i), io.LimitReader(zeros{}, 1<<20))
		}
	})
	// A list of more files than anybody needs, which is a small part of what a server takes.
	long := zipped(t, func(z *zip.Writer) {
		put(t, z, manifestFile, strings.NewReader(manifest))
		for i := range maxList/60_000 + 1 {
			if _, err := z.Create(fmt.Sprintf("%d/%s", i, strings.Repeat("x", 60_000))); err != nil {
				t.Fatal(err)
			}
		}
	})
	tests := []struct {
		name string
		in   []byte
		is   error // nil is a recording
		says string
	}{
		{name: "a recording", in: good},
		{"a bomb", bomb, ErrTooLarge, "more than 2MB"},
		{"too many files", long, ErrNotRecording, "more than 262144 files"},
		{"a file that is cut short", good[:len(good)-10], ErrNotRecording, ""},
		{"no zip file", []byte("PK\x03\x04 and what else"), ErrNotRecording, ""},
		{"nothing", nil, ErrNotRecording, ""},
		{"another zip file", zipped(t, func(z *zip.Writer) { put(t, z, "a.txt", strings.NewReader("a")) }), ErrNotRecording, "there is no manifest.json"},
	}
	for _, tt := range tests {
		m, err := Check(bytes.NewReader(tt.in), int64(len(tt.in)), 2<<20)
		switch {
		case tt.is == nil && (err != nil || m.Target != "x"):
			t.Errorf("%s: %v, %v", tt.name, m, err)
		case tt.is != nil && (!errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.says)):
			t.Errorf("%s: %v, want one that is %v and says %q", tt.name, err, tt.is, tt.says)
		}
	}
}
