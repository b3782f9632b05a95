package tour

import (
	_ "embed"
	"os"
	"path/filepath"

	"golang.org/x/tools/txtar"
)

// program is what the tour is about, stage 0 of examples/hi. That is a module of its own, from which nothing can be embedded; so
// this is a copy. UPDATE=1 go test ./internal/tour makes it anew.
//
//go:embed hi.txtar
var program []byte

// What is known of the program before anything is measured.
const (
	stage   = "stage0"    // folder of its package
	handler = "handleHi$" // what answers its requests
	bench   = "Hi$"       // what measures the handler
	ask     = "http://127.0.0.1:{port}/?color=red"
	listen  = "127.0.0.1:{port}"
)

// unpack writes the program into a folder, and returns that of its package.
func unpack(dir string) (string, error) {
	for _, f := range txtar.Parse(program).Files {
		name := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			return "", err
		}
		if err := os.WriteFile(name, f.Data, 0o666); err != nil {
			return "", err
		}
	}
	return filepath.Join(dir, stage), nil
}
