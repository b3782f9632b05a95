package main

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// The test binary also plays a server, and a program that fails.
func TestMain(m *testing.M) {
	switch os.Getenv("RECORDBENCH_FAKE") {
	case "":
		os.Exit(m.Run())
	case "serve":
		server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		os.Stderr.WriteString("hello\nlistening on " + server.URL + "\n")
		time.Sleep(time.Minute)
	case "fail":
		os.Stderr.WriteString("gc 1 @0.010s 1%: 0.1+1.0+0.1 ms clock, 0.2+0.1/0.2/0.3+0.2 ms cpu, 4->5->2 MB, 4 MB goal, 2 P\nno luck\n")
		os.Exit(1)
	}
}

func TestStart(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := &runner{log: io.Discard}
	var got string
	use := func(url string) error {
		got = url
		return send(t.Context(), url, 20, 0)
	}
	out, err := r.start(t.Context(), "", []string{"RECORDBENCH_FAKE=serve"}, []string{self}, use)
	if err != nil || !strings.HasPrefix(got, "http://127.0.0.1:") || !strings.Contains(string(out.stderr), "hello") {
		t.Errorf("a server at %q says %q, %v", got, out.stderr, err)
	}
	broken := errors.New("broken")
	_, err = r.start(t.Context(), "", []string{"RECORDBENCH_FAKE=serve"}, []string{self}, func(string) error { return broken })
	if !errors.Is(err, broken) {
		t.Errorf("what cannot be used gives %v", err)
	}
	out, err = r.start(t.Context(), "", []string{"RECORDBENCH_FAKE=fail"}, []string{self}, nil)
	if err == nil || !strings.Contains(err.Error(), "no luck") || collections(out.stderr) != 1 {
		t.Errorf("a program that fails gives %v, %d collections", err, collections(out.stderr))
	}
}

func TestSend(t *testing.T) {
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.URL.Path == "/bad" {
			http.Error(w, "no", http.StatusTeapot)
		}
	}))
	defer server.Close()
	if err := send(t.Context(), server.URL, 100, 0); err != nil || asked.Load() != 100 {
		t.Errorf("%d requests, %v", asked.Load(), err)
	}
	if err := send(t.Context(), server.URL, 0, 50*time.Millisecond); err != nil || asked.Load() == 100 {
		t.Errorf("%d requests, %v", asked.Load(), err)
	}
	if err := send(t.Context(), server.URL+"/bad", 100, 0); err == nil || !strings.Contains(err.Error(), "418") {
		t.Errorf("an error gives %v", err)
	}
}

func TestCommands(t *testing.T) {
	w := work{pkg: "./a", args: []string{"-n", "5"}}
	build, plain, record := w.commands("prog", "a.hone")
	for _, tt := range []struct{ got, want []string }{
		{build, []string{"build", "-o", "prog", "./a"}},
		{plain, []string{"prog", "-n", "5"}},
		{record, []string{"record", "-o", "a.hone", "./a", "--", "-n", "5"}},
	} {
		if !slices.Equal(tt.got, tt.want) {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
	w = work{pkg: "./a", test: []string{"-run", "XXX", "-bench", "Hi$"}}
	build, plain, record = w.commands("prog", "a.hone")
	for _, tt := range []struct{ got, want []string }{
		{build, []string{"test", "-c", "-o", "prog", "./a"}},
		{plain, []string{"prog", "-test.run", "XXX", "-test.bench", "Hi$"}},
		{record, []string{"record", "-o", "a.hone", "--test", "./a", "-run", "XXX", "-bench", "Hi$"}},
	} {
		if !slices.Equal(tt.got, tt.want) {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

func TestRows(t *testing.T) {
	const ms = time.Millisecond
	r := result{work: work{name: "w", target: 1.05}, plain: 4000 * ms, recorded: 4120 * ms, ratio: 1.03, low: 1, high: 1.1, own: 50 * ms, gcs: 9, gcsPlain: 8}
	if got, want := r.row(), "| w | 4.00 | 4.12 | 1.03 | 1.00 to 1.10 | 0.05 | 8 → 9 | ≤ 1.05 | yes |"; got != want || !r.met() {
		t.Errorf("got %s, want %s", got, want)
	}
	if r.ratio = 1.06; r.met() || !strings.HasSuffix(r.row(), "| **no** |") {
		t.Errorf("got %s", r.row())
	}
	lines := timed("look", []took{{200 * ms, 90 * ms}, {400 * ms, 70 * ms}, {310 * ms, 80 * ms}})
	var rows []string
	for _, l := range lines {
		rows = append(rows, l.row())
	}
	if want := []string{"| look | 310 ms | ≤ 300 ms | **no** |", "| … CPU | 80 ms | | |"}; !slices.Equal(rows, want) || lines[0].met() || !lines[1].met() {
		t.Errorf("got %q, want %q", rows, want)
	}
}

func TestMedian(t *testing.T) {
	if a, b, c := median([]int{3, 1, 2}), median([]float64{4, 1, 2, 3}), median([]float64{7}); a != 2 || b != 2.5 || c != 7 {
		t.Errorf("medians are %v, %v, %v", a, b, c)
	}
}

func TestOptions(t *testing.T) {
	opt, err := parseOptions([]string{"-only", "hi|load", "-n", "2", "-load", "5s"}, io.Discard)
	if err != nil || opt.rounds != 2 || opt.load != 5*time.Second || !opt.only.MatchString("load") || opt.keep != "" {
		t.Errorf("%+v, %v", opt, err)
	}
	for args, want := range map[string]string{
		"-only (": "-only: ", "-n 0": "at least one round", "-load 1ms": "a second at least", "hi": "unexpected argument",
		"-only nobody": "nothing is called like that",
	} {
		var stderr bytes.Buffer
		if code := run(t.Context(), strings.Fields(args), io.Discard, &stderr); code != 2 || !strings.Contains(stderr.String(), want) {
			t.Errorf("%s: %d, %s; want %s", args, code, &stderr, want)
		}
	}
}
