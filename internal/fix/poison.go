package fix

import (
	"context"
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/go/types/typeutil"

	"github.com/hone-perf/hone/internal/gotypes"
)

// poisonFile is the file that is added to a package.
const poisonFile = "zz_hone_poison.go"

// poison makes a package overwrite what it puts into pools, so that it shows when somebody still uses that. env is that of the go command. It returns the texts
// of the files that change; none when there is nothing to overwrite.
func poison(ctx context.Context, dir string, env []string) (map[string][]byte, error) {
	found, err := gotypes.Load(&packages.Config{Context: ctx, Dir: dir, Env: env, Mode: packages.LoadSyntax}, ".")
	if err != nil {
		return nil, err
	}
	files := make(map[string][]byte)
	for _, p := range found {
		if err := gotypes.Problem(p); err != nil {
			return nil, err
		}
		for _, f := range p.Syntax {
			name := p.Fset.File(f.FileStart).Name()
			var at []*ast.CallExpr
			ast.Inspect(f, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok && len(call.Args) == 1 {
					if fn := typeutil.Callee(p.TypesInfo, call); fn != nil && fn.String() == "func (*sync.Pool).Put(x any)" {
						at = append(at, call)
					}
				}
				return true
			})
			if len(at) == 0 {
				continue
			}
			text, err := os.ReadFile(name)
			if err != nil {
				return nil, err
			}
			slices.SortFunc(at, func(a, b *ast.CallExpr) int { return int(b.Pos() - a.Pos()) }) // the last first
			offset := func(pos token.Pos) int { return p.Fset.Position(pos).Offset }
			for _, call := range at {
				// pool.Put(x) becomes honePut(pool.Put, x), which means the same behind defer and go.
				open := offset(call.Lparen)
				text = slices.Concat(text[:offset(call.Pos())], []byte("honePut("), text[offset(call.Pos()):open], []byte(", "), text[open+1:])
			}
			files[name] = text
		}
		if len(files) > 0 {
			files[filepath.Join(dir, poisonFile)] = fmt.Appendf(nil, poisonCode, p.Name)
		}
	}
	return files, nil
}

// poisonCode compiles beside whatever a package calls bytes and io, and as the Go of any go.mod.
const poisonCode = `package %s

import (
	honebytes "bytes"
	honeio "io"
)

// honePut puts something into a pool that nobody may use any more: who does sees it.
func honePut(put func(interface{}), x interface{}) {
	switch x := x.(type) {
	case *honebytes.Buffer:
		if x != nil {
			honeFill(x.Bytes())
			rest := x.AvailableBuffer()
			honeFill(rest[:cap(rest)])
		}
	case *[]byte:
		if x != nil {
			honeFill((*x)[:cap(*x)])
		}
	case []byte:
		honeFill(x[:cap(x)])
	case interface{ Reset(honeio.Writer) }:
		x.Reset(honePoison{})
	case interface{ Reset(honeio.Reader) }:
		x.Reset(honePoison{})
	}
	put(x)
}

func honeFill(b []byte) {
	for i := range b {
		b[i] = 0xDB
	}
}

// A honePoison is what compressors and buffers in a pool write to and read from.
type honePoison struct{}

func (honePoison) Write([]byte) (int, error) { panic("written to behind Put") }
func (honePoison) Read([]byte) (int, error)  { panic("read behind Put") }
`
