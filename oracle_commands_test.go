package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// testCommands runs command lines that are about the command line: mistakes, spellings, and what
// goes to files. They need no particular profile.
func (l *lab) testCommands(t *testing.T) {
	cpu, heap := newDraft(cpuTypes), newDraft(heapTypes)
	for i := range int64(9) {
		stack := fmt.Sprintf("main.main m.go:1;main.f%d f.go:%d", i%4, i)
		cpu.add(stack, i, i*10e6)
		heap.add(stack, i*i, i*i*1024, i, i*1024)
	}
	write := func(path string, d *draft) []byte {
		var b bytes.Buffer
		if err := d.Write(&b); err != nil {
			t.Fatal(err)
		}
		l.put(t, path, b.Bytes())
		return b.Bytes()
	}
	drop := newDraft(heapTypes)
	drop.DropFrames, drop.KeepFrames = `runtime\..*|.*::Alloc`, `runtime\.panic.*`
	drop.add("main.main m.go:1;main.a a.go:7;runtime.mallocgc mal.go:9;runtime.sys s.go:3", 3, 3000, 1, 1000)
	drop.add("main.main m.go:1;runtime.panicwrap p.go:7;main.handler h.go:9;runtime.gopanic p.go:1", 2, 2000, 1, 900)
	b := write("c/cpu", cpu)
	write("c/heap", heap)
	write("c/drop", drop)
	l.put(t, "c/cut", b[:len(b)/2])
	l.put(t, "c/empty", nil)
	l.put(t, "c/text", []byte("hello\nworld\n"))
	l.put(t, "c/junk", append(bytes.Clone(b), "trailing"...))
	l.put(t, "c/twice", append(bytes.Clone(b), b...))
	l.put(t, "c/plain", unzip(b))
	l.put(t, "c/gzip-of-text", gzipped("no profile"))
	l.put(t, "c/gzip-of-gzip", gzipped(string(b)))

	for i, line := range strings.Split(strings.TrimSpace(commandLines), "\n") {
		if testing.Short() && i%9 != 0 {
			continue
		}
		c := check{subject: "commands", flags: strings.ReplaceAll(line, "/", "_"), inv: invocation{dir: ".", args: strings.Fields(line)}}
		for i, a := range c.inv.args {
			c.inv.args[i] = strings.ReplaceAll(strings.ReplaceAll(a, "{empty}", ""), "{space}", " ")
		}
		c.own = strings.Contains(line, "-output")
		l.check(t, c)
	}
}

func gzipped(s string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(s))
	z.Close()
	return b.Bytes()
}

// commandLines are run with an empty standard input: one without a report enters the shell and
// leaves it at once.
const commandLines = `
-h
-help
--help
-top
-wrong c/cpu
-top -wrong=3 c/cpu
-top=maybe c/cpu
-- c/cpu
c/cpu
c/cpu -top
-top=false c/cpu
-top -- c/cpu
-top -tree c/cpu
-top -peek=f1 c/cpu
-peek=f1 -list=f2 c/cpu
-lines -files -top c/cpu
-flat -cum -top c/cpu
-cum=false -top c/cpu
-flat=true -top c/cpu
-nodecount x -top c/cpu
-nodecount
-nodefraction=x -top c/cpu
-nodefraction=2 -top c/cpu
-nodefraction=-1 -top c/cpu
-edgefraction=1e3 -tree c/cpu
-nodecount=-5 -top c/cpu
-trim=maybe -top c/cpu
-trim=0 -top c/cpu
-divide_by=0 -top c/cpu
-divide_by=x -top c/cpu
-divide_by=inf -top c/cpu
-divide_by=NaN -top c/cpu
-seconds=x -top c/cpu
-seconds=5 -top c/cpu
-timeout=x -top c/cpu
-timeout=7 -top c/cpu
-no_browser -top c/cpu
-no_browser c/cpu
-http=localhost:0 -top c/cpu
-normalize -top c/cpu
-base c/cpu -diff_base c/cpu -top c/cpu
-base= -diff_base=c/cpu -top c/cpu
-base c/missing -top c/cpu
-base c/text -top c/cpu
-diff_base c/missing -top c/cpu
-base c/heap -top c/cpu
-diff_base c/cpu -normalize -sample_index=0 -top c/cpu
-top c/missing
-top c/missing c/cpu
-top c/cpu c/missing
-top c/missing c/absent
-top c/cpu c/text c/cut
-top c
-top c/empty
-top c/text
-top c/cut
-top c/junk
-top c/twice
-top c/plain
-top c/gzip-of-text
-top c/gzip-of-gzip
-top c/cpu c/heap
-top c/heap c/cpu
-proto c/cpu c/heap
-top -
-top -tls_ca=c/missing https://127.0.0.1:1/
-top -tls_cert=c/missing -tls_key=c/text https://127.0.0.1:1/
-top -tls_ca=c/missing c/cpu
-top {empty}
-top c/cpu {empty}
-tools=nowhere -top c/cpu
-symbolize=what -top c/cpu
-symbolize=none:what -top c/cpu
-symbolize=NONE -top c/cpu
-symbolize=remote -top c/cpu
-symbolize=fastlocal -top c/cpu
-symbolize=force -top c/cpu
-unit= -top c/cpu
-unit=Seconds -top c/cpu
-sample_index=nope -top c/cpu
-sample_index=2 -top c/cpu
-sample_index=-1 -top c/cpu
-sample_index=01 -top c/cpu
-sample_index=CPU -top c/cpu
-sample_index=inuse_cpu -top c/cpu
-sample_index=space -top c/heap
-sample_index=inuse_space -top c/heap
-sample_index=0 -inuse_space -top c/heap
-alloc_space -inuse_space -top c/heap
-alloc_objects -alloc_space -inuse_objects -top c/heap
-inuse_space -top c/cpu
-total_delay -top c/cpu
-contentions -top c/cpu
-mean_delay -top c/cpu
-mean -inuse_space -top c/heap
-mean -raw c/heap
-focus=( -top c/cpu
-focus=[ -relative_percentages -top c/cpu
-ignore=* -top c/cpu
-hide=(?P<x -top c/cpu
-show=a{2,1} -top c/cpu
-show_from=\ -top c/cpu
-prune_from=x** -top c/cpu
-tagfocus=( -top c/cpu
-tagfocus=k=( -top c/cpu
-tagfocus=a,( -top c/cpu
-tagignore=[ -top c/cpu
-tagshow=( -top c/cpu
-taghide=( -top c/cpu
-tagfocus=1kb:2s -top c/cpu
-tagfocus=5 -top c/cpu
-tagfocus=-5: -top c/cpu
-tagfocus=1:2:3 -top c/cpu
-tagfocus== -top c/cpu
-tagfocus=k= -top c/cpu
-focus=( -ignore=( -top c/cpu
-peek=( c/cpu
-peek= c/cpu
-peek=nothing c/cpu
-list=[ c/cpu
-list=nothing c/cpu
-list=f1 c/cpu
-focus= -top c/cpu
-focus=nothing -tree c/cpu
-focus=nothing -dot c/cpu
-focus=nothing -traces c/cpu
-focus=nothing -raw c/cpu
-focus=nothing -peek=f1 c/cpu
-focus=nothing -list=f1 c/cpu
-focus=nothing -tags c/cpu
-focus=nothing -callgrind c/cpu
-focus=main{space}main -top c/cpu
-tagroot=, -top c/cpu
-tagleaf=k,,l -top c/cpu
-call_tree -top c/cpu
-intel_syntax -top c/cpu
-all_frames -top c/drop
-all_frames=false -top c/drop
-all_frames=maybe -top c/drop
-all_frames=1 -raw c/drop
-all_frames -proto -output=out.pb.gz c/drop
-all_frames -top c/drop c/heap
-all_frames -top -base c/heap c/drop
-all_frames -top c/cpu
-all_frames c/drop
-top -show=runtime c/drop
-add_comment= -comments c/cpu
-add_comment=a{space}b -comments c/cpu
-buildid=1234 -raw c/cpu
-buildid= -top c/cpu
-source_path= -list=f1 c/cpu
-showcolumns=false -top c/cpu
-output=out.txt -top c/cpu
-output=out.txt -traces c/heap
-output=out.pb.gz -proto c/cpu c/cpu
-output=out.dot -dot c/heap
-output=out.pb -topproto c/heap
-output=no/such/dir/out.txt -top c/cpu
-output=out.txt -peek=nothing c/cpu
-output=out.txt c/cpu
`

// testMerge merges many files, more than pprof takes at a time, and asks pprof what is in the
// profiles that both programs wrote.
func (l *lab) testMerge(t *testing.T) {
	var many []string
	for i := range 300 {
		d := newDraft(cpuTypes)
		d.TimeNanos += int64(300-i) * 60e9
		d.DurationNanos = 1e9
		d.Comments = []string{fmt.Sprintf("part %d", i%7)}
		d.add(fmt.Sprintf("main.main m.go:1;main.f%d f.go:%d", i%40, i%90), int64(i), int64(i)*10e6)
		d.add("main.main m.go:1;main.same f.go:9", 1, 10e6).Label = map[string][]string{"part": {fmt.Sprint(i % 3)}}
		var b bytes.Buffer
		if err := d.Write(&b); err != nil {
			t.Fatal(err)
		}
		many = append(many, l.put(t, fmt.Sprintf("m/%03d", i), b.Bytes()))
	}
	for _, c := range []struct {
		name string
		args []string
	}{
		{"two", many[:2]},
		{"whole chunk", many[:128]},
		{"chunk and one", many[:129]},
		{"three chunks", many},
		{"base", append([]string{"-base=" + many[7]}, many[:20]...)},
		{"missing among them", append([]string{many[1], "m/missing"}, many[2:5]...)},
	} {
		if testing.Short() && len(c.args) > 100 {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			l.check(t, check{subject: "merge", flags: "top " + c.name, inv: invocation{dir: ".", args: append([]string{"-top"}, c.args...)}})
			l.check(t, check{subject: "merge", flags: "proto " + c.name, inv: invocation{dir: ".", args: append([]string{"-proto"}, c.args...)}, same: unzip})
			l.checkRoundTrip(t, c.name, c.args)
		})
	}
}

// checkRoundTrip compares what pprof reads in the merged profiles of both programs.
func (l *lab) checkRoundTrip(t *testing.T, name string, args []string) {
	t.Helper()
	read := func(p *program, file string) outcome {
		o := p.run(t, l.dir, invocation{dir: ".", args: append([]string{"-proto", "-output=" + file}, args...)})
		if !o.OK {
			return o
		}
		return l.pprof.run(t, l.dir, invocation{dir: ".", args: []string{"-raw", file}})
	}
	c := check{subject: "merge", flags: "raw of proto " + name, inv: invocation{dir: ".", args: args}}
	if !l.wanted(c) {
		return
	}
	l.tally.ran(c)
	want, got := read(&l.pprof, "m/merged-pprof"), read(&l.hone, "m/merged-hone")
	if diff := c.compare(want, got, nil); len(diff) != 0 {
		l.tally.fail(c)
		t.Errorf("%s: the profile that hone pprof -proto wrote reads differently\n%s", c.name(), describe(diff))
	}
}

// testFetch fetches from a server: what is asked of it, what is said on the way, and the copy
// that is kept of the profile.
func (l *lab) testFetch(t *testing.T) {
	d := newDraft(cpuTypes)
	d.add("main.main m.go:1;main.f f.go:2", 3, 30e6)
	var prof bytes.Buffer
	if err := d.Write(&prof); err != nil {
		t.Fatal(err)
	}
	l.put(t, "f/local", prof.Bytes())
	var mu sync.Mutex
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.Method+" "+r.URL.String())
		mu.Unlock()
		switch r.URL.Path {
		case "/missing":
			http.NotFound(w, r)
		case "/busy":
			w.Header().Set("X-Go-Pprof", "1")
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			w.WriteHeader(http.StatusInternalServerError)
			fmt.Fprintln(w, "Could not enable CPU profiling: cpu profiling already in use")
		case "/text":
			fmt.Fprintln(w, "hello")
		case "/none":
		default:
			w.Write(prof.Bytes())
		}
	}))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	for _, args := range []string{
		"-top {url}/debug/pprof/heap",
		"-top {host}/debug/pprof/allocs?gc=1",
		"-top {host}",
		"-top {url}/",
		"-top -seconds=3 {host}",
		"-top -seconds=3 {url}/debug/pprof/profile?seconds=9&x=y",
		"-top -timeout=20 {url}/debug/pprof/profile?seconds=2",
		"-raw -symbolize=none {url}/any/path",
		"-top {url}/missing",
		"-top {url}/busy",
		"-top {url}/text",
		"-top {url}/none",
		"-top {url}/missing f/local",
		"-top {url}/one f/local",
		"-top -base {url}/base f/local",
		"-top ftp://{host}/x",
	} {
		c := check{subject: "fetch", flags: strings.ReplaceAll(args, "/", "_"), inv: invocation{dir: "."}}
		for _, a := range strings.Fields(args) {
			c.inv.args = append(c.inv.args, strings.NewReplacer("{url}", server.URL, "{host}", host).Replace(a))
		}
		if !l.wanted(c) {
			continue
		}
		l.tally.ran(c)
		fetch := func(p *program) outcome {
			o := p.run(t, l.dir, c.inv)
			mu.Lock()
			o.Files = map[string][]byte{"asked of the server": []byte(strings.Join(asked, "\n"))}
			asked = nil
			mu.Unlock()
			// Each run starts without the copies of the last one, which would change the names.
			kept, err := filepath.Glob(filepath.Join(p.home, "tmp", "pprof.*"))
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range kept {
				b, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				o.Files[filepath.Base(file)] = b
				if err := os.Remove(file); err != nil {
					t.Fatal(err)
				}
			}
			return o
		}
		if diff := c.compare(fetch(&l.pprof), fetch(&l.hone), nil); len(diff) != 0 {
			l.tally.fail(c)
			t.Errorf("%s: hone pprof %s\n%s", c.name(), command(c.inv), describe(diff))
		}
	}
}
