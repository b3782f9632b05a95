package render

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// golden compares got with a file in testdata; UPDATE=1 rewrites it.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("UPDATE") != "" {
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s:\n%s\nwant\n%s", path, got, want)
	}
}

func TestGolden(t *testing.T) {
	variants := []struct {
		name   string
		format string
		o      Options
		only   []string // reports; nil is all
	}{
		{name: "text", format: "text", o: Options{Width: 20, Color: true}}, // neither is for pipes
		{name: "terminal", format: "terminal", o: Options{Width: 100}},
		{name: "narrow", format: "terminal", o: Options{Width: 48}, only: []string{"top", "tree", "list", "traces", "odd", "diff", "info"}},
		{name: "ascii", format: "terminal", o: Options{Width: 80, ASCII: true}, only: []string{"top", "tree", "flame"}},
		{name: "color", format: "terminal", o: Options{Width: 100, Color: true}, only: []string{"top", "tree", "list", "traces", "diff", "info"}},
		{name: "csv", format: "csv"},
		{name: "markdown", format: "markdown"},
		{name: "json", format: "json"},
	}
	for _, v := range variants {
		names := v.only
		if names == nil {
			names = everyName()
		}
		for _, name := range names {
			if name == "raw" && v.format != "json" {
				continue // its times are local; see TestWriteRaw
			}
			t.Run(v.name+"/"+name, func(t *testing.T) {
				var out bytes.Buffer
				if err := Write(&out, v.format, everyReport()[name], v.o); err != nil {
					t.Fatal(err)
				}
				golden(t, filepath.Join(v.name, name), out.Bytes())
			})
		}
	}
}
