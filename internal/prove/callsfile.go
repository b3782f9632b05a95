package prove

import (
	"bytes"
	"cmp"
	"fmt"
	"go/format"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Without returns what is left of calls when lines of a file do not compile: the calls around these lines are left out, or all of the
// file where the lines are not in calls, or none are known. It returns nil where nothing is left.
func (p *Parallel) Without(file string, lines []int) *Parallel {
	out := *p
	out.Files, out.Calls = nil, nil
	gone := make(map[int]bool) // lines
	all := false
	for _, f := range p.Files {
		if f.Name != file {
			out.Files = append(out.Files, f)
			continue
		}
		text := strings.Split(f.Source, "\n")
		whole := len(lines) == 0
		for _, n := range lines {
			if n < 1 || n > len(text) {
				whole = true
				break
			}
			from, to := n-1, n-1
			if !importLine().MatchString(text[n-1]) {
				for from >= 0 && strings.TrimSpace(text[from]) != groupMark && strings.TrimSpace(text[from]) != groupEnd {
					from--
				}
				for to < len(text) && strings.TrimSpace(text[to]) != groupEnd {
					to++
				}
				whole = whole || from < 0 || to == len(text) || strings.TrimSpace(text[from]) == groupEnd
			}
			for i := max(from, 0); i <= to && i < len(text); i++ {
				gone[i+1] = true
				if i != from && i != to || from == to { // the marks stay
					text[i] = ""
				}
			}
		}
		if whole {
			all = true
			continue
		}
		out.Files = append(out.Files, ParallelFile{f.Name, strings.Join(text, "\n")})
	}
	for _, c := range p.Calls {
		if c.File != file || !all && !gone[c.First] {
			out.Calls = append(out.Calls, c)
		}
	}
	if len(out.Calls) == 0 {
		return nil
	}
	return &out
}

// importLine is a line that imports a package.
var importLine = lazily(`^\t(\w+ )?"[^"]+"$`)

// write writes the file, and notes where its calls are.
func (w *parallelWriter) write(s *side) (*Parallel, error) {
	var body strings.Builder
	std := func(path string) string { return w.coder.std(path) }
	fmt.Fprintf(&body, "func %s(t *testing.T) {\nif %s.Getenv(%q) == \"\" {\nt.Skip(\"the search for races alone runs this\")\n}\n", parallelMade, std("os"), ParallelOrder)
	for _, g := range w.groups {
		fmt.Fprintf(&body, "{\nmade := func() []func() {\n%s\nreturn []func(){\n", g.setup)
		for n, i := range g.calls {
			fmt.Fprintf(&body, "%s\nfunc() {\n%s%d\n%s\n},\n%s\n", groupMark, parallelMark, i, w.calls[i].Text, groupEnd)
			if slices.Contains(g.ends, n+1) {
				body.WriteString("nil,\n") // another function follows; calls may be left out later, so that numbers would not say where
			}
		}
		body.WriteString("}\n}\n")
		if len(g.ends) > 1 {
			body.WriteString("honeEach(made)\n")
		}
		fmt.Fprintf(&body, "honeParallel(%d, made)\n}\n", len(w.groups))
	}
	body.WriteString("}\n")
	fmt.Fprintf(&body, eachCode, std("strconv"), std("os"), ParallelOrder, std("sync"))
	fmt.Fprintf(&body, parallelCode, std("strconv"), std("os"), ParallelOrder, std("time"), manyGroups, std("sync"), manyGroups, std("time"), std("time"), std("time"))
	file := callsWriter{name: callsFile, calls: w.calls}
	out := &Parallel{}
	made, calls, err := file.finish(w.coder.file(s, body.String()))
	if err != nil {
		return nil, fmt.Errorf("writing calls of %s: %w", s.pkg.PkgPath, err)
	}
	out.Files, out.Calls = []ParallelFile{made}, calls
	return out, nil
}

// eachCode calls one function after the other, each from several goroutines. Where all functions are called beside each other, a lock of one of
// them puts accesses of the others in an order, and hides what is in the first use of each.
const eachCode = `
func honeEach(made func() []func()) {
	seed, _ := %s.Atoi(%s.Getenv(%q))
	var some []func()
	for _, f := range append(made(), nil) {
		if f != nil {
			some = append(some, f)
			continue
		}
		var done %s.WaitGroup
		start := make(chan struct{})
		for g := 0; g < 3; g++ {
			done.Add(1)
			go func() {
				defer done.Done()
				<-start
				for i := range some {
					honeCall(some[(i+seed)%%len(some)])
				}
			}()
		}
		close(start)
		done.Wait()
		some = nil
	}
}
`

// Nothing synchronizes the goroutines between their calls: that would put accesses in an order that they do not have, and hide what is
// looked for. Two that access the same at different times are enough for the detector. Each pass makes the shared value anew, as some
// races are only in its first use.
const parallelCode = `
func honeParallel(groups int, made func() []func()) {
	seed, _ := %s.Atoi(%s.Getenv(%q))
	began := %s.Now()
	many := 8
	if groups >= %d {
		many = 3
	}
	for pass := 0; pass < 200; pass++ {
		calls := made()
		var done %s.WaitGroup
		start := make(chan struct{})
		for g := 0; g < many; g++ {
			done.Add(1)
			go func(g int) {
				defer done.Done()
				<-start
				for i := range calls {
					k := (i + seed + pass) %% len(calls)
					if pass%%2 == 1 { // each goroutine at a place of its own
						k = (i*(1+2*(g%%3)) + g*(1+pass/2) + seed) %% len(calls)
					}
					honeCall(calls[k])
				}
			}(g)
		}
		close(start)
		done.Wait()
		if groups >= %d || pass >= 3 && %s.Since(began) > 3*%s.Second/%s.Duration(groups+2) {
			return
		}
	}
}

func honeCall(f func()) {
	defer func() { _ = recover() }()
	if f != nil {
		f()
	}
}
`

// A callsWriter writes a file with calls for goroutines.
type callsWriter struct {
	name    string
	imports map[string]string
	calls   []ParallelCall
}

// source is the text of a file that has a test with a body; named are the packages that the body may name.
func (w *callsWriter) source(pkg, test, body string, named map[string]string) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "package %s\n\nimport (\n", pkg)
	used := func(name string) bool { return regexp.MustCompile(`\b` + name + `\.`).MatchString(body) }
	for _, name := range sortedKeys(named) {
		if !used(name) {
			continue
		}
		if path.Base(named[name]) == name {
			fmt.Fprintf(&b, "%s\n", strconv.Quote(named[name]))
		} else {
			fmt.Fprintf(&b, "%s %s\n", name, strconv.Quote(named[name]))
		}
	}
	for _, std := range []string{"os", "strconv", "sync", "testing", "time"} {
		fmt.Fprintf(&b, "hone_%s %q\n", std, std)
	}
	b.WriteString(")\n\n")
	fmt.Fprintf(&b, "func %s(t *hone_testing.T) {\nif hone_os.Getenv(%q) == \"\" {\nt.Skip(\"the search for races alone runs this\")\n}\n%s}\n", test, ParallelOrder, body)
	fmt.Fprintf(&b, parallelCode, "hone_strconv", "hone_os", ParallelOrder, "hone_time", manyGroups, "hone_sync", manyGroups, "hone_time", "hone_time", "hone_time")
	b.WriteString(rowCode)
	return strings.NewReplacer("honeParallel(", "honeRepeat(", "honeCall(", "honeRepeatOne(").Replace(b.String())
}

// rowCode chooses rows of a table, in another order in each run.
const rowCode = `
func honeRowOf(i, rows int) int {
	seed, _ := hone_strconv.Atoi(hone_os.Getenv("` + ParallelOrder + `"))
	return (i*7919 + seed*31) % rows
}
`

// finish formats the file, and notes where its calls are.
func (w *callsWriter) finish(source string) (ParallelFile, []ParallelCall, error) {
	text, err := format.Source([]byte(source))
	if err != nil {
		return ParallelFile{}, nil, err
	}
	out := ParallelFile{Name: w.name, Source: string(text)}
	at := -1
	for n, line := range strings.Split(out.Source, "\n") {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, parallelMark); ok {
			fmt.Sscan(rest, &at)
			w.calls[at].File, w.calls[at].First = w.name, n+1
		}
		if line == "}," && at >= 0 {
			w.calls[at].Last = n + 1
		}
	}
	return out, w.calls, nil
}

// writeRepeated writes the files that repeat tests: one in the package and one outside of it.
func (g *guards) writeRepeated(all []*borrowed) (files []ParallelFile, calls []ParallelCall, err error) {
	for _, outer := range []bool{false, true} {
		name, pkg, test := insideFile, g.pkg.Types.Name(), parallelInside
		if outer {
			name, pkg, test = outsideFile, pkg+"_test", parallelOutside
		}
		w := callsWriter{name: name, imports: map[string]string{}}
		var body strings.Builder
		var mine []*borrowed
		named := map[string]string{}
	each:
		for _, r := range all {
			if r.outer != outer {
				continue
			}
			for local, path := range r.imports {
				if was, ok := named[local]; ok && was != path {
					continue each
				}
			}
			for local, path := range r.imports {
				named[local] = path
			}
			mine = append(mine, r)
		}
		if len(mine) == 0 {
			continue
		}
		for _, r := range mine {
			r.writeTo(&body, len(mine), &w)
		}
		text := w.source(pkg, test, body.String(), named)
		file, list, err := w.finish(text)
		if err != nil {
			return nil, nil, fmt.Errorf("repeating tests of %s: %w", g.pkg.PkgPath, err)
		}
		files, calls = append(files, file), append(calls, list...)
	}
	return files, calls, nil
}

// writeTo writes a subtest, one of several.
func (r *borrowed) writeTo(b *strings.Builder, of int, w *callsWriter) {
	own := r.before + r.row
	fmt.Fprintf(b, "%s\n", groupMark)
	if r.table != "" {
		// Loops are as in the Go of the module, which may be an old one.
		fmt.Fprintf(b, "for honeI, honeRows, honeBegan := 0, func() int {\n%s\nreturn len(%s)\n}(), hone_time.Now(); honeI < honeRows && (honeI < %d || hone_time.Since(honeBegan) < 9*hone_time.Second/%d); honeI++ {\nhoneRow := honeRowOf(honeI, honeRows)\n",
			r.before, r.table, repeatedRows, of+2)
		of = manyGroups
	}
	fmt.Fprintf(b, "t.Run(%q, func(%s *hone_testing.T) {\ndefer func() { _ = recover() }()\n", r.test, cmp.Or(r.param, "_"))
	fmt.Fprintf(b, "honeParallel(%d, func() []func() {\n%s%s\nreturn []func(){\n", of, own, r.setup)
	for _, text := range r.calls {
		fmt.Fprintf(b, "func() {\n%s%d\n%s%s\n},\n", parallelMark, len(w.calls), own, text)
		w.calls = append(w.calls, ParallelCall{Name: strings.Join(r.methods, ", "), Of: r.of, Setup: strings.TrimSpace(r.setup), Text: strings.TrimSpace(text)})
	}
	b.WriteString("}\n})\n})\n")
	if r.table != "" {
		b.WriteString("}\n")
	}
	fmt.Fprintf(b, "%s\n", groupEnd)
}
