package race

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/prove"
)

const (
	replayFile   = "zz_hone_race_test.go"
	replayTest   = "TestHoneReplay"
	requestsEnv  = "HONE_RACE_REQUESTS"   // names the file with them
	requestsEach = 200                    // made up for a handler
	atATime      = 8                      // requests
	replayTime   = 500 * time.Millisecond // that a handler is asked for at least: one that is quick is asked more often
)

// addReplay writes the test that asks handlers, and the requests for it.
func (sub *subject) addReplay(work string, number int, recorded []prove.MadeRequest) (gocmd.Overlay, error) {
	requests := make([][]prove.MadeRequest, len(sub.serving.Handlers))
	for i, h := range sub.serving.Handlers {
		requests[i] = h.Requests
		if len(recorded) > 0 {
			requests[i] = recorded
		}
	}
	text, err := json.Marshal(requests)
	if err != nil {
		return nil, err
	}
	sub.requests = filepath.Join(work, fmt.Sprintf("requests%d.json", number))
	if err := os.WriteFile(sub.requests, text, 0o600); err != nil {
		return nil, err
	}
	file := filepath.Join(work, fmt.Sprintf("replay%d_test.go", number))
	if err := os.WriteFile(file, []byte(sub.replay()), 0o600); err != nil {
		return nil, err
	}
	return gocmd.Overlay{filepath.Join(sub.dir, replayFile): file}, nil
}

// replay writes the test. It is built with whatever version of the language the module asks for, and the names in it are not
// to be those of the package.
func (sub *subject) replay() string {
	imports := []string{"encoding/json", "fmt", "io/ioutil", "net/http", "net/http/httptest", "os", "strings", "sync", "testing", "time"}
	for _, h := range sub.serving.Handlers {
		imports = append(imports, h.Imports...)
	}
	slices.Sort(imports)
	imports = slices.Compact(imports)
	var b strings.Builder
	fmt.Fprintf(&b, "package %s\n\nimport (\n", sub.serving.Package)
	for _, path := range imports {
		fmt.Fprintf(&b, "\t%q\n", path)
	}
	b.WriteString(")\n\nvar honeHandlers = []struct {\n\tname string\n\tmake func() http.Handler\n}{\n")
	for _, h := range sub.serving.Handlers {
		fmt.Fprintf(&b, "\t{%s, func() http.Handler { return %s }},\n", strconv.Quote(h.Name), h.Expr)
	}
	b.WriteString("}\n")
	fmt.Fprintf(&b, replayCode, replayTest, requestsEnv, atATime, replayTime.Milliseconds())
	return b.String()
}

// The requests of a handler are asked by several goroutines at the same time: first each request by all of them at once, then
// each goroutine in an order of its own. Nothing that they share is synchronized between requests: it would put accesses in
// an order that are in none, and hide what is looked for.
const replayCode = `
type honeAsked struct {
	Method, Target, Body string
	Header               [][]string
}

func %[1]s(t *testing.T) {
	text, err := ioutil.ReadFile(os.Getenv(%[2]q))
	if err != nil {
		t.Skip("the search for races alone runs this")
	}
	var all [][]honeAsked
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	for i, h := range honeHandlers {
		handler := h.make()
		list := all[i]
		var asked, panics [%[3]d]int
		var first [%[3]d]string
		each := func(turn func(goroutine, i int) int) {
			var done sync.WaitGroup
			start := make(chan struct{})
			for g := 0; g < %[3]d; g++ {
				done.Add(1)
				go func(g int) {
					defer done.Done()
					<-start
					for i := range list {
						what := honeServe(handler, &list[turn(g, i)])
						asked[g]++
						if what != "" {
							panics[g]++
							first[g] = what
						}
					}
				}(g)
			}
			close(start)
			done.Wait()
		}
		began := time.Now()
		for pass := 1; pass <= 2 || time.Since(began) < %[4]d*time.Millisecond && pass < 500; pass++ {
			each(func(g, i int) int { return i })
			each(func(g, i int) int { return (i*(7+2*pass) + g*(len(list)/%[3]d+pass)) %% len(list) })
		}
		for g := range asked {
			fmt.Fprintf(os.Stderr, "hone-replay %%d %%d %%d %%q\n", i, asked[g], panics[g], first[g])
		}
	}
}

func honeServe(h http.Handler, r *honeAsked) (what string) {
	req, err := http.NewRequest(r.Method, "http://example.com"+r.Target, strings.NewReader(r.Body))
	if err != nil {
		return ""
	}
	req.RequestURI, req.RemoteAddr = r.Target, "192.0.2.1:1234"
	for _, f := range r.Header {
		req.Header.Add(f[0], f[1])
	}
	defer func() {
		if v := recover(); v != nil && v != http.ErrAbortHandler {
			what = fmt.Sprint(v)
		}
	}()
	h.ServeHTTP(httptest.NewRecorder(), req)
	return ""
}
`
