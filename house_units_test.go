package main

import (
	"go/ast"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// printsUnits are the forms in which a number with a unit is made text. Package unit is for that.
var printsUnits = []*regexp.Regexp{
	regexp.MustCompile(`%[-+# 0]*\d*\.\d+[efg] ?%%|%[-+# 0]*\d*g ?%%`),             // a percentage: %.1f%%
	regexp.MustCompile(`%[-+# 0]*\d*(\.\d+)?[dsvfg] ?([kKMGTP]i?B|bytes/s|B/s)\b`), // a size: %d kB
	regexp.MustCompile(`%[-+# 0]*\d*(\.\d+)?[dvfg] ?(ns|us|µs|ms|hrs|hours)\b`),    // a time: %d ms
	regexp.MustCompile(`%[-+# 0]*\d*\.\d+[fg] ?(s|h|seconds|minutes)\b`),           // a time: %.2f s
	regexp.MustCompile(`^ ?[kKMGTP]i?B$`),                                          // the unit alone, to put behind a number
	regexp.MustCompile(`%[-+# 0]*\d*\.\d+[efg]`),                                   // a number with a chosen count of digits
}

// ownUnits are the files that have reasons to print numbers in another way.
var ownUnits = map[string]string{
	"internal/capture/agent/process_linux.go": "reads what the kernel writes",
	"internal/cli/time.go":                    "has the form of the time of csh",
	"internal/fleet/demo/shop/shop.go":        "is a practice program, and prints money",
	"internal/gclog/pieces.go":                "reads what the runtime writes",
	"internal/gclog/scan.go":                  "reads what the runtime writes",
	"internal/latency/histogram.go":           "says which number of a damaged file is wrong, as it stands there",
	"internal/load/findmax.go":                "rounds a rate that is asked for next",
	"internal/maxrss/maxrss_linux.go":         "reads what the kernel writes",
	"internal/prove/shrink.go":                "looks for a shorter number that does the same",
	"internal/render/canvaspng.go":            "counts pixels",
	"internal/render/chart.go":                "gives all ticks of an axis as many digits as their distance needs",
	"internal/verdict/unit.go":                "knows the units of benchmarks",
	"internal/view/loadview/server.go":        "makes a time that can be typed again",
	"internal/view/runview/mem.go":            "makes a time that can be typed again",
	"internal/view/runview/timeline.go":       "makes a time that can be typed again",
}

// TestOneUnitPrinter holds that only package unit, and format.ts for the page, make text of sizes, times, shares and rates. Commands that are
// compatible with others have the forms of those.
func TestOneUnitPrinter(t *testing.T) {
	used := make(map[string]bool)
	eachGoFile(t, func(name string, fset *token.FileSet, file *ast.File) {
		if strings.HasPrefix(name, "internal/unit/") || strings.HasPrefix(name, "internal/compat/") {
			return
		}
		wrong := func(n ast.Node, what string) {
			if ownUnits[name] != "" {
				used[name] = true
				return
			}
			t.Errorf("%s: %s", fset.Position(n.Pos()), what)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ImportSpec:
				return false
			case *ast.BasicLit:
				if n.Kind != token.STRING {
					return true
				}
				text, _ := strconv.Unquote(n.Value)
				for _, form := range printsUnits {
					if found := form.FindString(text); found != "" {
						wrong(n, "prints a number without package unit, with "+strconv.Quote(found))
						break
					}
				}
			case *ast.CallExpr:
				sel, ok := n.Fun.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if sel.Sel.Name == "FormatFloat" && len(n.Args) == 4 {
					if _, all := n.Args[2].(*ast.UnaryExpr); !all { // -1
						wrong(n, "strconv.FormatFloat with a chosen count of digits")
					}
				}
				if in, ok := sel.X.(*ast.CallExpr); ok && sel.Sel.Name == "String" && roundsTime(in) {
					wrong(n, "prints a time without package unit")
				}
				if from, ok := sel.X.(*ast.Ident); ok && from.Name != "unit" || !ok {
					for _, arg := range n.Args {
						if in, ok := arg.(*ast.CallExpr); ok && roundsTime(in) {
							wrong(arg, "rounds a time to print it")
						}
					}
				}
			}
			return true
		})
	})
	for name := range ownUnits {
		if !used[name] {
			t.Errorf("%s does not print numbers any more: take it off the list", name)
		}
	}
	digits := regexp.MustCompile(`\.to(Fixed|Precision|LocaleString)\(|\bIntl\.`)
	for _, name := range trackedFiles(t) {
		if !strings.HasPrefix(name, "internal/web/ui/src/") || path.Base(name) == "format.ts" {
			continue
		}
		text, err := os.ReadFile(filepath.FromSlash(name))
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			if found := digits.FindString(line); found != "" {
				t.Errorf("%s:%d: prints a number without package unit, with %s", name, i+1, found)
			}
		}
	}
}

// roundsTime reports whether call is such as d.Round(time.Second).
func roundsTime(call *ast.CallExpr) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "Round" || len(call.Args) != 1 {
		return false
	}
	time := false
	ast.Inspect(call.Args[0], func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && id.Name == "time" {
			time = true
		}
		return true
	})
	return time
}
