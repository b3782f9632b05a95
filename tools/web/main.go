// Web bundles the page of hone web: TypeScript and Preact in internal/web/ui become the two files in internal/web/ui/dist
// that the server embeds, packed with gzip as it sends them. Those are committed, so neither go install nor the server needs this program. The part that
// prints numbers is put into internal/web/testdata as well, where a test compares it with package unit.
//
//	go -C tools/web run .          write the bundle
//	go -C tools/web run . -check   fail when the bundle is not what the sources give
//
// Beside the bundle it writes a list of what it is made of, in the form of sha256sum, by which a test sees whether it is stale without bundling.
//
// It has a go.mod of its own, so that those who use hone do not depend on the bundler. The bundler takes types away but
// does not check them. CI does, with the compiler of TypeScript: .ci/run says how.
package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// scriptLimit is what the script may weigh, packed: a page should be there before anybody waits for it.
const scriptLimit = 120 << 10

func main() {
	check := flag.Bool("check", false, "compare with the bundle that is there, and write nothing")
	ui := flag.String("ui", filepath.Join("..", "..", "internal", "web", "ui"), "where the page is")
	flag.Parse()
	if err := run(*ui, *check); err != nil {
		fmt.Fprintln(os.Stderr, "web:", err)
		os.Exit(1)
	}
}

func run(ui string, check bool) error {
	files, err := bundle(ui)
	if err != nil {
		return err
	}
	for _, f := range files {
		path, contents := f.Path, f.Contents
		if filepath.Base(filepath.Dir(path)) == "dist" {
			path += ".gz"
			if contents, err = pack(f.Contents); err != nil {
				return err
			}
		}
		if filepath.Ext(f.Path) == ".js" && len(contents) > scriptLimit {
			return fmt.Errorf("%s takes %d bytes; at most %d are allowed", path, len(contents), scriptLimit)
		}
		// Two versions of Go may pack differently, so that what is packed is compared.
		if there, err := read(path); err != nil {
			return err
		} else if bytes.Equal(there, f.Contents) {
			continue
		}
		if check {
			return fmt.Errorf("%s is not what the sources give; run: go -C tools/web run .", path)
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, contents, 0o644); err != nil {
			return err
		}
		fmt.Printf("%s: %d bytes, %d unpacked\n", filepath.Base(path), len(contents), len(f.Contents))
	}
	return list(ui, files, check)
}

// list writes the list of the sources and of the files that are made of them, or compares it with the one that is there.
func list(ui string, made []api.OutputFile, check bool) error {
	root, err := filepath.Abs(filepath.Join(ui, "..", "..", ".."))
	if err != nil {
		return err
	}
	var paths []string
	for _, f := range made {
		paths = append(paths, f.Path)
		if filepath.Base(filepath.Dir(f.Path)) == "dist" {
			paths[len(paths)-1] += ".gz"
		}
	}
	for _, from := range []string{ui, filepath.Join(root, "tools", "web")} {
		err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			if filepath.Base(filepath.Dir(path)) != "dist" {
				paths = append(paths, path)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	var lines []string
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if path, err = filepath.Abs(path); err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		lines = append(lines, fmt.Sprintf("%x  %s\n", sha256.Sum256(b), filepath.ToSlash(name)))
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[2*sha256.Size:], b[2*sha256.Size:]) })
	text, path := []byte(strings.Join(lines, "")), filepath.Join(ui, "dist", "sha256.txt")
	if there, err := read(path); err != nil || bytes.Equal(there, text) {
		return err
	}
	if check {
		return fmt.Errorf("%s is not that of the sources; run: go -C tools/web run .", path)
	}
	return os.WriteFile(path, text, 0o644)
}

// bundle returns what belongs in the folder dist of ui, and in testdata beside it.
func bundle(ui string) ([]api.OutputFile, error) {
	ui, err := filepath.Abs(ui)
	if err != nil {
		return nil, err
	}
	vendored := func(path string) string { return filepath.Join(ui, "vendor", filepath.FromSlash(path)) }
	page := api.BuildOptions{
		EntryPointsAdvanced: []api.EntryPoint{
			{InputPath: filepath.Join(ui, "src", "main.tsx"), OutputPath: "app"},
			{InputPath: filepath.Join(ui, "style.css"), OutputPath: "app"},
		},
		AbsWorkingDir: ui,
		Outdir:        filepath.Join(ui, "dist"),
		Bundle:        true,
		Alias: map[string]string{
			"preact":             vendored("preact/src/index.js"),
			"preact/hooks":       vendored("preact/hooks/src/index.js"),
			"preact/jsx-runtime": vendored("preact/jsx-runtime/src/index.js"),
		},
		JSX:             api.JSXAutomatic,
		JSXImportSource: "preact",
		Target:          api.ES2022,
		Format:          api.FormatIIFE, // an exported page has the script inline, where modules do not work from files
		// Preact's own names for its fields are long for readers, not for the wire.
		MangleProps:       "^_[a-z]",
		MinifyWhitespace:  true,
		MinifyIdentifiers: true,
		MinifySyntax:      true,
		LegalComments:     api.LegalCommentsEndOfFile,
		Charset:           api.CharsetUTF8,
		LogLevel:          api.LogLevelWarning,
	}
	// What tests call in a browser, as it is on the page.
	tested := func(name string) api.BuildOptions {
		return api.BuildOptions{
			EntryPoints:   []string{filepath.Join(ui, "src", name+".ts")},
			AbsWorkingDir: ui,
			Outfile:       filepath.Join(filepath.Dir(ui), "testdata", name+".js"),
			Bundle:        true,
			Target:        api.ES2022,
			Format:        api.FormatIIFE,
			GlobalName:    name,
			Charset:       api.CharsetUTF8,
			LogLevel:      api.LogLevelWarning,
		}
	}
	var files []api.OutputFile
	for _, opt := range []api.BuildOptions{page, tested("format"), tested("saved"), tested("search")} {
		result := api.Build(opt)
		if len(result.Errors) > 0 {
			return nil, fmt.Errorf("%d mistakes in the sources", len(result.Errors))
		}
		files = append(files, result.OutputFiles...)
	}
	return files, nil
}

func pack(b []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(b); err != nil {
		return nil, err
	}
	err = w.Close()
	return out.Bytes(), err
}

// read returns a file, unpacked when its name says that it is packed; nothing when there is none.
func read(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil || filepath.Ext(path) != ".gz" {
		return b, err
	}
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, nil // a damaged file is one that is not what the sources give
	}
	if b, err = io.ReadAll(r); err != nil {
		return nil, nil
	}
	return b, nil
}
