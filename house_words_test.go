package main

import (
	"bytes"
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// fronts are the rooms that know how a user says things: as flags, at the prompt, on a page.
var fronts = []string{"web", "compat", "tour", "tui", "mcp", "cli"}

var (
	flagSpelled = regexp.MustCompile(`(^|[\s(;:,])--?[a-z][a-z-]+`)
	otherFlags  = []string{"--cap-add=PERFMON", "--security-opt"} // of programs that hone only names
	// notFlags are the files that run other programs with flags, each a literal of its own.
	notFlags = map[string]string{
		"internal/capture/changes.go":  "git",
		"internal/duel/count.go":       "valgrind",
		"internal/duel/sides.go":       "git",
		"internal/fix/branch.go":       "git",
		"internal/fix/ignored.go":      "git",
		"internal/prove/change.go":     "git",
		"internal/race/fix.go":         "git",
		"internal/source/gosrc/git.go": "git",
	}
)

// spelledCommands matches where a text spells a command line of hone.
func spelledCommands(t *testing.T) *regexp.Regexp {
	return regexp.MustCompile(`\bhone (` + strings.Join(commands(t), "|") + `)\b`)
}

// TestOnlyFrontsSpell holds that no text below the fronts has a flag or a command line of hone. hint.Option and hint.Command are for that.
func TestOnlyFrontsSpell(t *testing.T) {
	commandSpelled := spelledCommands(t)
	found, used := 0, make(map[string]bool)
	eachText(t, func(name string, pos token.Position, lit string) {
		spelled := commandSpelled.FindString(lit)
		if strings.Contains(lit, " ") {
			for _, m := range flagSpelled.FindAllString(lit, -1) {
				m = strings.TrimLeft(m, " (;:,\t\n")
				if strings.HasPrefix(m, "--") && !slices.ContainsFunc(otherFlags, func(o string) bool { return strings.HasPrefix(o, m) }) {
					spelled = m
				}
			}
		} else if m := flagSpelled.FindString(lit); strings.HasPrefix(m, "--") {
			if used[name] = true; notFlags[name] == "" {
				spelled = m
			}
		}
		if spelled != "" {
			found++
			t.Errorf("%s: %q in %q", pos, spelled, lit)
		}
	})
	for name := range notFlags {
		if !used[name] {
			t.Errorf("%s has no flags of other programs any more: take it off the list", name)
		}
	}
	if found > 0 {
		t.Log("say it with hint.Option or hint.Command, so that each front words it in its own way")
	}
}

// commands are the names of the commands of hone, as its help lists them. TestScript/help holds that it does.
func commands(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("testdata/script/help.txtar")
	if err != nil {
		t.Fatal(err)
	}
	help := string(text)
	from, to := strings.Index(help, "\nLook at profiles:"), strings.Index(help, "\nOutput:")
	if from < 0 || to < from {
		t.Fatal("help.txtar has no list of commands")
	}
	var names []string
	for _, m := range regexp.MustCompile(`(?m)^  ([a-z][a-z-]*) {2,}\S`).FindAllStringSubmatch(help[from:to], -1) {
		names = append(names, m[1])
	}
	if len(names) < 50 {
		t.Fatalf("hone --help lists only %q", names)
	}
	return names
}

// shownTexts are words that answers have. Code that has to know what they mean asks the value that they are made from.
var shownTexts = regexp.MustCompile(`^(fails on the|time was up|could not be compared|no difference in|what is put back|CPU time|throughput|allocations|live heap|resident memory|not proven|gives more)`)

// readTexts are phrases that code looks for in what others write, and which hone shows or writes, too.
var readTexts = map[string]string{
	"(anonymous namespace)":     "C++ symbols",
	"--- FAIL":                  "go test",
	"... argument":              "the compiler",
	"all goroutines are asleep": "the runtime",
	"allocated by":              "the race detector",
	"already in use":            "net/http/pprof",
	"chan receive":              "the runtime",
	"chan receive (nil":         "the runtime",
	"chan receive (nil chan)":   "the runtime",
	"chan send":                 "the runtime",
	"chan send (nil chan)":      "the runtime",
	"concurrent map":            "the runtime",
	"created by":                "the runtime",
	"declared at":               "the race detector",
	"escapes to heap":           "the compiler",
	"fatal error:":              "the runtime",
	"func Test":                 "Go code",
	"func literal":              "the compiler",
	"go func":                   "Go code",
	"in goroutine":              "the runtime",
	"leaks to":                  "the compiler",
	"main goroutine":            "the race detector",
	"ms clock,":                 "gctrace",
	"of usual":                  "the configuration of hone serve",
	"out of memory":             "the kernel",
	"profiling already in use":  "net/http/pprof",
	"select (no cases":          "the runtime",
	"select (no cases)":         "the runtime",
	"signal 9":                  "shells",
	"tenant, pin,":              "columns in SQL",
}

// literal returns the text of a string literal, "" of all else.
func literal(e ast.Expr) string {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return ""
	}
	s, _ := strconv.Unquote(lit.Value)
	return s
}

// isNamed reports whether an expression is an identifier.
func isNamed(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}

// TestNothingComparesWithShownTexts holds that no code decides by what it says to people: it compares with no phrase that is part of a
// text elsewhere in the program.
func TestNothingComparesWithShownTexts(t *testing.T) {
	compares := []string{"Contains", "HasPrefix", "HasSuffix", "Cut", "CutPrefix", "CutSuffix", "ReplaceAll", "Replace", "Index", "LastIndex", "Split", "TrimPrefix", "TrimSuffix", "EqualFold"}
	compared := make(map[*ast.BasicLit]bool)
	texts := make(map[string]token.Position) // in which hone may say something
	at := make(map[string]token.Position)    // phrases that are compared with
	checks := make(map[string]bool)          // names of the checks of a proof
	named := make(map[string]token.Position) // what a field Name is compared with
	eachGoFile(t, func(name string, fset *token.FileSet, file *ast.File) {
		compare := func(e ast.Expr) {
			lit, ok := e.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return
			}
			compared[lit] = true
			s, _ := strconv.Unquote(lit.Value)
			if shownTexts.MatchString(s) {
				t.Errorf("%s: compares with %q, which is shown", fset.Position(e.Pos()), s)
			}
			if s = strings.TrimSpace(s); strings.Contains(s, " ") {
				at[s] = fset.Position(e.Pos())
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ImportSpec:
				return false
			case *ast.Field: // has tags
				return n.Tag == nil
			case *ast.BinaryExpr:
				if n.Op == token.EQL || n.Op == token.NEQ {
					compare(n.X)
					compare(n.Y)
					if sel, ok := n.X.(*ast.SelectorExpr); ok && sel.Sel.Name == "Name" {
						named[literal(n.Y)] = fset.Position(n.Pos())
					}
				}
			case *ast.CaseClause:
				for _, e := range n.List {
					compare(e)
				}
			case *ast.CompositeLit:
				if sel, ok := n.Type.(*ast.SelectorExpr); ok && sel.Sel.Name == "Check" || isNamed(n.Type, "Check") {
					for _, e := range n.Elts {
						if kv, ok := e.(*ast.KeyValueExpr); ok && isNamed(kv.Key, "Name") {
							checks[literal(kv.Value)] = true
						}
					}
				}
			case *ast.CallExpr:
				if sel, ok := n.Fun.(*ast.SelectorExpr); (ok && sel.Sel.Name == "check" || isNamed(n.Fun, "check")) && len(n.Args) > 0 {
					checks[literal(n.Args[0])] = true
				}
				if sel, ok := n.Fun.(*ast.SelectorExpr); ok && slices.Contains(compares, sel.Sel.Name) {
					for _, e := range n.Args {
						compare(e)
					}
				}
			case *ast.BasicLit: // what is around it came first
				if s, err := strconv.Unquote(n.Value); n.Kind == token.STRING && !compared[n] && err == nil && strings.Contains(s, " ") {
					texts[s] = fset.Position(n.Pos())
				}
			}
			return true
		})
	})
	for name, pos := range named {
		if name != "" && checks[name] {
			t.Errorf("%s: decides by %q, the name of a check, which is shown; compare its Kind", pos, name)
		}
	}
	letters := regexp.MustCompile(`[a-zA-Z]{4}`)
	used := make(map[string]bool)
	for phrase, pos := range at {
		if !letters.MatchString(phrase) {
			continue
		}
		for text, shown := range texts {
			switch {
			case !strings.Contains(text, phrase):
			case readTexts[phrase] != "":
				used[phrase] = true
			default:
				t.Errorf("%s: compares with %q, which %s has in a text", pos, phrase, shown)
			}
		}
	}
	for phrase := range readTexts {
		if !used[phrase] {
			t.Errorf("nothing compares with %q any more, or says it: take it off the list", phrase)
		}
	}
}

// eachText calls yield with the string literals of the rooms below the fronts, but for tags and imports.
func eachText(t *testing.T, yield func(name string, pos token.Position, text string)) {
	eachGoFile(t, func(name string, fset *token.FileSet, file *ast.File) {
		room, _, _ := strings.Cut(strings.TrimPrefix(name, "internal/"), "/")
		if !strings.HasPrefix(name, "internal/") || slices.Contains(fronts, room) {
			return
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ImportSpec:
				return false
			case *ast.Field: // has tags
				return n.Tag == nil
			case *ast.BasicLit:
				if n.Kind == token.STRING {
					if s, err := strconv.Unquote(n.Value); err == nil {
						yield(name, fset.Position(n.Pos()), s)
					}
				}
			}
			return true
		})
	})
}

// eachGoFile calls yield with the Go files of the program, without tests.
func eachGoFile(t *testing.T, yield func(name string, fset *token.FileSet, file *ast.File)) {
	fset := token.NewFileSet()
	for _, name := range trackedFiles(t) {
		if path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || strings.Contains(name, "testdata/") || !strings.HasPrefix(name, "internal/") {
			continue
		}
		file, err := parser.ParseFile(fset, filepath.FromSlash(name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		yield(name, fset, file)
	}
}

// british are spellings that the Go project does not use, as words that begin with or have one of the stems. notOurs are names that others
// gave, by where they are used.
var (
	britishStems = strings.Fields(`behaviour colour neighbour favour honour labelled labelling travell modelled modelling cancelled cancelling
		judgement artefact catalogue licence defence centre grey analyse analysing
		optimis recognis summaris organis initialis serialis normalis minimis maximis synchronis prioritis utilis specialis generalis customis emphasis realis`)
	british = regexp.MustCompile(`our|ll|judgement|artefact|catalogue|licence|defence|^centre|^grey(s|ish)?$|analys(e|ed|er|ing)$|is(e|ed|es|er|ing|ation)$`)
	notOurs = map[string]string{
		"colour":    "internal/prove/samples.go", // a key that programs of others have
		"cancelled": "internal/mcp/",             // a method of the Model Context Protocol
	}
)

// TestOneSpelling holds that words are spelled as in the Go project, in what is shown, in documents and in comments.
func TestOneSpelling(t *testing.T) {
	for _, name := range trackedFiles(t) {
		switch path.Ext(name) {
		case ".go", ".md", ".ts", ".tsx", ".css", ".txtar":
		default:
			continue
		}
		if name == "house_words_test.go" || strings.Contains(name, "/vendor/") || strings.Contains(name, "/testdata/") {
			continue
		}
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		// Looking for stems is much faster than matching a pattern at each letter.
		lower := bytes.ToLower(data)
		letter := func(i int) bool { return i >= 0 && i < len(lower) && lower[i] >= 'a' && lower[i] <= 'z' }
		for _, stem := range britishStems {
			for from := 0; ; {
				i := bytes.Index(lower[from:], []byte(stem))
				if i < 0 {
					break
				}
				start, end := from+i, from+i+len(stem)
				for letter(start - 1) {
					start--
				}
				for letter(end) {
					end++
				}
				from = end
				word := string(lower[start:end])
				if british.MatchString(word) && (notOurs[word] == "" || !strings.Contains(name, notOurs[word])) {
					t.Errorf("%s:%d: %q is spelled in the British way", name, 1+bytes.Count(lower[:start], []byte("\n")), word)
				}
			}
		}
	}
}

// toolFiles are the files of commands that are tools of hone mcp, too: their hints reach callers who type no flags.
var toolFiles = []string{"advise", "compare", "events", "fix", "gc", "metrics", "profiles", "prove", "race", "record", "trace", "views", "whyalloc"}

// othersFlags are command lines of other programs.
var othersFlags = regexp.MustCompile(`\b(go test|git log) --?[a-z]+`)

// TestHintsOfTools holds that the hints of these commands name what to set and to run as values.
func TestHintsOfTools(t *testing.T) {
	seen, commandSpelled := 0, spelledCommands(t)
	eachGoFile(t, func(name string, fset *token.FileSet, file *ast.File) {
		if path.Dir(name) != "internal/cli" || !slices.Contains(toolFiles, strings.TrimSuffix(path.Base(name), ".go")) {
			return
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if fn, ok := call.Fun.(*ast.Ident); !ok || fn.Name != "withHint" {
				return true
			}
			seen++
			for _, arg := range call.Args[1:] {
				lit, ok := arg.(*ast.BasicLit)
				if !ok {
					continue
				}
				text, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Fatal(err)
				}
				text = othersFlags.ReplaceAllString(text, "")
				if said := cmp.Or(commandSpelled.FindString(text), flagSpelled.FindString(text)); said != "" {
					t.Errorf("%s: %q in %q: say it with hint.Option or hint.Command", fset.Position(lit.Pos()), said, text)
				}
			}
			return true
		})
	})
	if seen < 20 {
		t.Errorf("it looked at %d hints", seen)
	}
}
