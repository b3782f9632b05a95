package advise

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"
)

func TestDeclName(t *testing.T) {
	tests := []struct{ fn, decl, want string }{
		{"example.com/m.(*TextFormatter).Format", "func (f *TextFormatter) Format() {}", "example.com/m.(*TextFormatter).Format"},
		{"example.com/m.Get.func1", "func Get() {}", "example.com/m.Get"},
		{"example.com/m.Getter.Get.func1.2", "func (g Getter) Get() {}", "example.com/m.Getter.Get"},
		{"example.com/m.(*Set).Add", "func (s *Set[K, V]) Add() {}", "example.com/m.(*Set).Add"},
		{"example.com/m.List.Len", "func (l List[T]) Len() {}", "example.com/m.List.Len"},
		{"main.main", "func (s *server) inlined() {}", "main.(*server).inlined"},
		{"nodot", "func f() {}", "nodot"},
	}
	for _, tt := range tests {
		f, err := parser.ParseFile(token.NewFileSet(), "f.go", "package m\n"+tt.decl, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := declName(tt.fn, f.Decls[0].(*ast.FuncDecl)); got != tt.want {
			t.Errorf("declName(%q, %q) = %q, want %q", tt.fn, tt.decl, got, tt.want)
		}
	}
}
