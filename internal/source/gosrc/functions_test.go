package gosrc

import (
	"os"
	"path/filepath"
	"testing"
)

func TestModuleHas(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":               "module example.com/shop\n",
		"shop.go":              "package shop\nfunc Open() {}\nfunc init() {}\n",
		"cart.v2/cart.go":      "package cart\ntype Cart[T any] struct{}\nfunc (c *Cart[T]) Add(T) {}\nfunc (c Cart[T]) Len() int { return 0 }\nfunc Sum[K, V any](map[K]V) {}\n",
		"cart.v2/wind_test.go": "package cart\nfunc TestAdd() {}\n",
		"cmd/api/main.go":      "package main\nfunc main() {}\nfunc serve() {}\n",
		"cmd/job/main.go":      "package main\nfunc main() {}\nfunc work() {}\n",
		"tool/go.mod":          "module example.com/tool\n",
		"tool/main.go":         "package main\nfunc tool() {}\n",
		"broken/broken.go":     "package broken\nfunc Fine() {}\nfunc (",
	} {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m := ModuleAt(filepath.Join(dir, "cmd", "api"))
	if m == nil || m.Path != "example.com/shop" {
		t.Fatalf("the module is %v", m)
	}
	for name, want := range map[string]bool{
		"example.com/shop.Open":                             true,
		"example.com/shop.Open.func1":                       true,
		"example.com/shop.init.0":                           true,
		"example.com/shop.init":                             true,
		"example.com/shop.glob..func1":                      true,
		"example.com/shop.Shut":                             false,
		"example.com/shop/cart%2ev2.(*Cart[...]).Add":       true,
		"example.com/shop/cart%2ev2.(*Cart[a/b.C]).Add":     true,
		"example.com/shop/cart%2ev2.(*Cart[...]).Add.func1": true,
		"example.com/shop/cart%2ev2.(*Cart[...]).Add-fm":    true,
		"example.com/shop/cart%2ev2.Cart[int].Len":          true,
		"example.com/shop/cart%2ev2.(*Cart[...]).Remove":    false,
		"example.com/shop/cart%2ev2.Sum[go.shape.int,x.y]":  true,
		"example.com/shop/cart%2ev2.Sum-range1":             true,
		"example.com/shop/none.F":                           false,
		"main.main":                                         true,
		"main.serve":                                        true,
		"main.work.gowrap2":                                 true,
		"main.tool":                                         false,
		"example.com/shop/broken.Fine":                      true,
	} {
		if got := m.Has(name); got != want {
			t.Errorf("Has(%q) = %t, want %t", name, got, want)
		}
	}
	if m := ModuleAt(string(filepath.Separator)); m != nil {
		t.Errorf("the root is in %v", m)
	}
}
