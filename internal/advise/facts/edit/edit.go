// Package edit has changes of a file that patches are made of.
package edit

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"

	"github.com/hone-perf/hone/internal/advise/facts/code"
)

// An Edit replaces what is from one place to another in a file.
type Edit struct {
	From, To token.Pos
	Text     string
}

// New returns an edit that puts a text in the place of what is from one place to another.
func New(from, to token.Pos, text string) Edit { return Edit{from, to, text} }

// Replace puts a text in the place of a node.
func Replace(n ast.Node, text string) Edit { return New(n.Pos(), n.End(), text) }

// Before puts a text before a node.
func Before(n ast.Node, text string) Edit { return New(n.Pos(), n.Pos(), text) }

// After puts a text behind a node.
func After(n ast.Node, text string) Edit { return New(n.End(), n.End(), text) }

// At is an empty node at a place.
func At(at token.Pos) ast.Node { return &ast.BadExpr{From: at, To: at} }

// Declare is an edit that puts a declaration before the function.
func Declare(f *code.Func, text string) Edit {
	at := f.Decl.Pos()
	if f.Decl.Doc != nil {
		at = f.Decl.Doc.Pos()
	}
	return New(at, at, text+"\n\n")
}

// DeclareShared is an edit that declares something in front of the function as Declare does, with %s for its name in the comment and the text, and
// returns that name. Where the package declares the same already, there is no edit.
func DeclareShared(f *code.Func, base, comment, text string) (name string, edits []Edit) {
	name, declared := f.SharedName(base, text)
	if declared {
		return name, nil
	}
	return name, []Edit{Declare(f, fmt.Sprintf(comment, name)+"\n"+fmt.Sprintf(text, name))}
}

// NextLine returns where the line behind a node begins, and behind a comment there, or the end of the node when something else follows it on its line.
func NextLine(f *code.Func, n ast.Node) token.Pos {
	rest := f.Between(n.End(), f.File.AST.FileEnd)
	line, _, more := strings.Cut(rest, "\n")
	if trimmed := strings.Trim(line, " \t\r;"); !more || trimmed != "" && !strings.HasPrefix(trimmed, "//") {
		return n.End()
	}
	return n.End() + token.Pos(len(line)+1)
}

// Comment returns the comment behind a node on its line, with a space before it, or "".
func Comment(f *code.Func, n ast.Node) string {
	line, _, _ := strings.Cut(f.Between(n.End(), f.File.AST.FileEnd), "\n")
	if line = strings.TrimSpace(line); strings.HasPrefix(line, "//") {
		return " " + line
	}
	return ""
}

// Behind is an edit that puts a line behind that of a statement, and behind a comment there.
func Behind(f *code.Func, st ast.Stmt, line string) Edit {
	at := f.File.Tok.Offset(st.End())
	rest, _, _ := strings.Cut(string(f.File.Text[at:]), "\n")
	if trimmed := strings.TrimSpace(rest); trimmed == "" || strings.HasPrefix(trimmed, "//") {
		end := f.File.Tok.Pos(at + len(rest))
		return New(end, end, "\n"+line)
	}
	return New(st.End(), st.End(), "\n"+line)
}
