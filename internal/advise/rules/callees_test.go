package rules

import (
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/tools/go/packages"

	"github.com/hone-perf/hone/internal/advise/facts/symbol"
	"github.com/hone-perf/hone/internal/report"
)

// TestCallees looks each function up: a name that is in no library would never be found in a profile.
func TestCallees(t *testing.T) {
	var paths []string
	for _, k := range callees {
		paths = append(paths, symbol.PackageOf(k.prefix+"x"))
	}
	slices.Sort(paths)
	pkgs, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedTypes | packages.NeedImports | packages.NeedDeps | packages.NeedExportFile}, slices.Compact(paths)...)
	if err != nil {
		t.Fatal(err)
	}
	var names []string // as profiles have them
	for _, pkg := range pkgs {
		for _, e := range pkg.Errors {
			t.Error(e)
		}
		scope := pkg.Types.Scope()
		for _, name := range scope.Names() {
			names = append(names, pkg.PkgPath+"."+name)
			named, ok := scope.Lookup(name).Type().(*types.Named)
			if _, isType := scope.Lookup(name).(*types.TypeName); !ok || !isType {
				continue
			}
			for m := range named.Methods() {
				recv := name
				if _, ok := m.Signature().Recv().Type().(*types.Pointer); ok {
					recv = "(*" + name + ")"
				}
				names = append(names, pkg.PkgPath+"."+recv+"."+m.Name())
			}
		}
	}
	for _, name := range names {
		k := knownCallee(name)
		if k == nil || strings.HasPrefix(name, "math/big.") || name == "sync.(*Pool).Get" {
			continue // whose advice is how to call it
		}
		words := strings.FieldsFunc(k.advice, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		if own := name[strings.LastIndexByte(name, '.')+1:]; token.IsExported(own) && slices.Contains(words, own) {
			t.Errorf("%s is advised to be what it is: %s", name, k.advice)
		}
	}
	for i, k := range callees {
		if !slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, k.prefix) }) {
			t.Errorf("no function is called %s…", k.prefix)
		}
		for _, earlier := range callees[:i] {
			if strings.HasPrefix(k.prefix, earlier.prefix) {
				t.Errorf("%s… is never found behind %s…", k.prefix, earlier.prefix)
			}
		}
	}
}

// What a call of an unknown function does besides allocating cannot be saved.
func TestUnknownCalleeSavesAllocation(t *testing.T) {
	const src = `package main

import "regexp/syntax"

func main() {
	for {
		parse("a*") // cost: [cpu*100] runtime.usleep
	}
}

func parse(s string) (any, error) {
	return syntax.Parse(s, 0) // cost: [cpu*60] regexp/syntax.Parse regexp/syntax.parse, [cpu*40] regexp/syntax.Parse regexp/syntax.parse runtime.growslice, [alloc_space] regexp/syntax.Parse, [alloc_objects] regexp/syntax.Parse
}
`
	all := adviseOn(t, src, nil)
	i := slices.IndexFunc(all, func(f report.Finding) bool { return f.Rule == "hot-call" })
	if i < 0 {
		t.Fatalf("%+v", all)
	}
	for _, s := range all[i].Savings {
		if s.Metric == "cpu" && s.Share != 0.2 {
			t.Errorf("saves %g of all CPU; want 0.2", s.Share)
		}
	}
}

func TestKnownCallee(t *testing.T) {
	for fn, want := range map[string]string{
		"time.Time.String":                    "time formatted on every call, by String",
		"time.ParseDuration":                  "duration parsed on every call",
		"strconv.ParseInt":                    "number parsed on a hot path",
		"strconv.FormatInt":                   "number formatted on every call",
		"bytes.Split":                         "byte slice split on every call",
		"bytes.(*Buffer).WriteString":         "buffer grown on every call",
		"bytes.(*Buffer).Grow":                "room made for a buffer",
		"strings.(*Builder).Grow":             "Builder grown in one step",
		"strings.(*Builder).WriteByte":        "Builder grown on every call",
		"bytes.(*Buffer).String":              "string copied out of a Buffer",
		"strings.SplitSeq":                    "iterator over the parts of a string",
		"bytes.FieldsSeq":                     "iterator over the parts of a byte slice",
		"sort.Search":                         "binary search by a function",
		"math/big.(*Int).String":              "number formatted on every call",
		"strconv.(*NumError).Error":           "error message built on every call",
		"strconv.AppendInt":                   "bytes appended to a slice that grows",
		"strconv.AppendQuote":                 "bytes appended to a slice that grows",
		"slices.Clone[...]":                   "slice copied on every call",
		"strings.EqualFold":                   "",
		"example.com/strings.Split":           "",
		"path/filepath.WalkDir":               "",
		"text/template.(*Template).Execute":   "template executed on a hot path",
		"crypto/sha256.New":                   "hash allocated on every call",
		"net.(*conn).Read":                    "",
		"net.ParseIP":                         "IP address as a list of bytes",
		"golang.org/x/text/unicode/norm.Form": "",
	} {
		got := ""
		if k := knownCallee(fn); k != nil {
			got = k.title
		}
		if got != want {
			t.Errorf("%s: %q, want %q", fn, got, want)
		}
	}
	for fn, not := range map[string]string{"regexp.(*Regexp).MatchString": "returned", "encoding/json.Marshal": "decodes", "encoding/json.(*Encoder).Encode": "decodes", "bytes.Join": "string"} {
		if k := knownCallee(fn); k == nil || strings.Contains(k.claim+k.title+k.advice, not) {
			t.Errorf("%s: %+v, without %q", fn, k, not)
		}
	}
	if talks("net.ParseIP") || !talks("net.(*conn).Read") || !talks("net/http.Get") {
		t.Error("who talks is told apart wrongly")
	}
}
