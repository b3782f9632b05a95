package rules

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/report/missing"
)

// newerWords are what Go has got since a version, as patches may write it.
var newerWords = []struct {
	minor int
	word  *regexp.Regexp
}{
	{18, regexp.MustCompile(`\bany\b|strings\.Cut\(|bytes\.Cut\(|utf8\.AppendRune|func \w+\[`)},
	{19, regexp.MustCompile(`atomic\.(Int|Uint|Bool|Pointer)|fmt\.Append|\.AppendUint(16|32|64)\(`)},
	{21, regexp.MustCompile(`\b(min|max|clear)\(|\bslices\.|\bmaps\.|\bcmp\.|sync\.Once(Func|Value)`)},
	{22, regexp.MustCompile(`range \d|slices\.Concat`)},
	{24, regexp.MustCompile(`strings\.\w+Seq`)},
}

// A module for an older Go gets patches that this version can build, or hears which version a patch would need.
func TestPatchesForOlderGo(t *testing.T) {
	const src = `package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"reflect"
	"sort"
	"strconv"
	"strings"
)

func press(w io.Writer, data []byte) {
	z, _ := zlib.NewWriterLevel(w, zlib.BestSpeed) // cost: compress/zlib.NewWriterLevelDict
	z.Write(data) // cost: compress/zlib.(*Writer).Write compress/flate.NewWriter
	z.Close()
}

func zip(w io.Writer, data []byte) {
	z := gzip.NewWriter(w) // cost: compress/gzip.NewWriter
	z.Write(data)
	z.Close()
}

func scratch(w io.Writer, n int) {
	buf := make([]byte, 0, 512) // cost: runtime.makeslice runtime.mallocgc
	buf = strconv.AppendInt(buf, int64(n), 10)
	w.Write(buf)
}

func sum(w io.Writer, data []byte) {
	h := sha256.New() // cost: crypto/sha256.New
	h.Write(data)
	fmt.Fprintln(w, h.Sum(nil)[0], h.Size())
	h.Write(data)
	fmt.Fprintln(w, h.Sum(nil)[0])
}

func show(v interface{}) string {
	return fmt.Sprint(v) // cost: fmt.Sprint fmt.(*pp).doPrint
}

func buffered(w *bufio.Writer, b *bytes.Buffer, name string, n int) {
	fmt.Fprintf(w, "%s is %c\n", name, 'x')  // cost: fmt.Fprintf fmt.(*pp).doPrintf
	fmt.Fprintf(w, "%s=%s\n", name, name)    // cost: fmt.Fprintf fmt.(*pp).doPrintf
	fmt.Fprintf(b, "%s is %d\n", name, n)    // cost: fmt.Fprintf fmt.(*pp).doPrintf
	w.WriteString(strconv.Itoa(n))           // cost: strconv.Itoa
	b.WriteString(strconv.Itoa(n))           // cost: strconv.Itoa
}

func cut(s string) string {
	parts := strings.SplitN(s, "=", 2) // cost: strings.SplitN
	if len(parts) == 2 {
		return parts[1]
	}
	return ""
}

func first(s string) string {
	return strings.Split(s, ",")[0] // cost: strings.Split
}

func each(s string) (n int) {
	for _, part := range strings.Split(s, ",") { // cost: strings.Split
		n += len(part)
	}
	return n
}

type value struct{ v reflect.Value }

type values []*value

func (v *value) items() values {
	var items values
	count := v.v.Len()
	for i := 0; i < count; i++ {
		items = append(items, &value{v.v.Index(i)}) // cost: runtime.growslice runtime.mallocgc
	}
	return items
}

func numbers(n int) []int {
	out := []int{}
	for i := 0; i < n; i++ {
		out = append(out, i*i) // cost: runtime.growslice runtime.mallocgc
	}
	return out
}

func sorted(list []string) {
	sort.Slice(list, func(i, j int) bool { return list[i] < list[j] }) // cost: sort.Slice
}

func main() {
	w := bufio.NewWriter(os.Stdout)
	press(w, nil)
	zip(w, nil)
	scratch(w, 1)
	sum(w, nil)
	buffered(w, new(bytes.Buffer), "a", 1)
	fmt.Println(show(1), cut("a=b"), first("a,b"), each("a,b"), len((&value{reflect.ValueOf([]int{1})}).items()), numbers(3))
	sorted(nil)
}
`
	for version, fixed := range map[string]map[string]bool{
		"1.12": {"zlib.NewWriterLevel": true, "gzip.NewWriter(": true, "make([]byte, 0, 512)": true, "fmt.Sprint(v)": true, "items = append": true, "out = append": false, "strings.SplitN": false, `Fprintf(w, "%s=%s`: true, `Fprintf(w, "%s is %c`: false, "w.WriteString": false, "Slice(list": false},
		"1.17": {"zlib.NewWriterLevel": true, "w.WriteString": false, "b.WriteString": false},
		"1.20": {"zlib.NewWriterLevel": true, "w.WriteString": true, "b.WriteString": false, "strings.SplitN": true, "items = append": true, "out = append": false},
	} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			patched := map[int]bool{}
			why := map[int]missing.Fact{}
			for _, f := range adviceFrom(t, version, src, nil, 1e-9).Findings {
				if f.Missing.Fact == missing.DoesNotCompile || f.Missing.Fact == missing.DoesNotApply {
					t.Errorf("%s of line %d: %s", f.Rule, f.Where.Line, f.Missing.Fact)
				}
				if f.Where.Line == lineOf(src, "z.Write(data)") {
					t.Errorf("%s counts the compressor once more, where it is first written to", f.Rule)
				}
				if len(f.Fixes) == 0 {
					why[f.Where.Line] = f.Missing.Fact
				}
				for _, x := range f.Fixes {
					patched[f.Where.Line] = true
					for _, line := range strings.Split(x.Patch, "\n") {
						for _, n := range newerWords {
							if strings.HasPrefix(line, "+") && fmt.Sprintf("1.%d", n.minor) > version && n.word.MatchString(line) {
								t.Errorf("%s: a patch for Go %s needs Go 1.%d: %s", f.Rule, version, n.minor, line)
							}
						}
					}
				}
			}
			for text, want := range fixed {
				line := lineOf(src, text)
				if patched[line] != want {
					t.Errorf("%s has a patch: %v, want %v; why not: %s", text, patched[line], want, why[line])
				}
				if !want && why[line] != missing.OlderGo {
					t.Errorf("%s has no patch because of %q, want %q", text, why[line], missing.OlderGo)
				}
			}
		})
	}
}

// What an older Go does not parse would end a program that it builds when that starts, and not when it gets there.
func TestTextsForOlderGo(t *testing.T) {
	const src = `package main

import (
	"os"
	"regexp"
	"text/template"
)

func named(s string) bool {
	return regexp.MustCompile("(?<word>a+)").MatchString(s) // cost: regexp.MustCompile regexp.Compile regexp.compile; want
}

func page(data any) error {
	t := template.Must(template.New("page").Parse("{{with .}}a{{else with 1}}b{{end}}")) // cost: text/template.(*Template).Parse text/template/parse.Parse; want
	return t.Execute(os.Stdout, data)
}

func main() {
	named("a")
	page(nil)
}
`
	for version, want := range map[string]missing.Fact{"1.21": missing.OlderGo, "1.23": ""} {
		found := adviseModule(t, version, map[string]string{"main.go": src})
		told := 0
		for _, f := range found {
			if f.Rule == "regexp-per-call" || f.Rule == "template-per-call" {
				if told++; f.Missing.Fact != want || (len(f.Fixes) > 0) != (want == "") {
					t.Errorf("Go %s: %s has %d patches, and %q is missing; want %q", version, f.Rule, len(f.Fixes), f.Missing.Fact, want)
				}
			}
		}
		if told != 2 {
			t.Errorf("Go %s: found %+v", version, found)
		}
	}
}
