//go:build unix

package main

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	cryptorand "crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/fleet/event"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/store"
	"github.com/hone-perf/hone/internal/store/storetest"
	"github.com/hone-perf/hone/internal/testrun"
)

// A served is a hone serve that runs.
type served struct {
	url string
	cmd *exec.Cmd
	err *spoken
}

// spoken is what a command that still runs says.
type spoken struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *spoken) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *spoken) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func startServe(t *testing.T, data string, args ...string) *served {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := &served{err: new(spoken)}
	s.cmd = exec.Command(self, append([]string{"serve", "--data", data, "--listen", "127.0.0.1:0", "--keep", "4000d"}, args...)...)
	s.cmd.Env = append(os.Environ(), "HONE_TEST_EXEC=1")
	s.cmd.Stderr = s.err
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.cmd.Process.Kill(); s.cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("hone serve: %v\n%s", err, s.err)
	}
	s.url = strings.TrimSpace(line)
	return s
}

// stop ends it as a system does.
func (s *served) stop(t *testing.T) {
	t.Helper()
	s.cmd.Process.Signal(syscall.SIGTERM)
	err := s.cmd.Wait()
	if code := s.cmd.ProcessState.ExitCode(); code != 0 && code != 130 {
		t.Errorf("hone serve ended with %v\n%s", err, s.err)
	}
}

// push sends a profile, once.
func (s *served) push(u *store.Upload) error {
	q := url.Values{"service": {u.Service}, "kind": {u.Kind}, "from": {u.Start.Format(time.RFC3339Nano)}, "until": {u.End.Format(time.RFC3339Nano)}}
	if u.Kind == "mutex" {
		q.Set("delta", "true")
	}
	for _, l := range append(u.Labels, u.Row...) {
		q.Add("label", l.Name+"="+l.Value)
	}
	client := http.Client{Timeout: 20 * time.Second}
	resp, err := client.Post(s.url+"/api/v1/profiles?"+q.Encode(), "application/octet-stream", bytes.NewReader(u.Raw))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	words, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, words)
	}
	return err
}

// profiles returns how many profiles there are of each service and kind.
func (s *served) profiles(t *testing.T, ref string) map[string]int {
	t.Helper()
	resp, err := http.Get(s.url + "/api/v1/series?ref=" + url.QueryEscape(ref))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var series []store.Series
	if err := json.NewDecoder(resp.Body).Decode(&series); err != nil {
		t.Fatal(err)
	}
	out := map[string]int{}
	for _, s := range series {
		out[s.Service+" "+s.Kind] += s.Profiles
	}
	return out
}

const allOfFleet = `{service_name=~"service-.*"}@2026-08-01..2026-10-01`

// Every command that reads profiles reads those of a store, and answers what it answers about the merged files.
func TestServe(t *testing.T) {
	f := storetest.Small()
	f.Services, f.Instances, f.Deploy, f.Kinds = 2, 2, 4, []string{"cpu", "mutex"}
	data, files := filepath.Join(t.TempDir(), "data"), t.TempDir()
	s := startServe(t, data)
	merged := map[string][]string{}
	for i, u := range f.All() {
		if err := s.push(u); err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(files, strconv.Itoa(i))
		if err := os.WriteFile(name, u.Raw, 0o600); err != nil {
			t.Fatal(err)
		}
		key := u.Service + " " + u.Kind + " " + u.Labels.Get("version")
		merged[key] = append(merged[key], name)
	}
	t.Setenv("HONE_STORE", s.url)
	file := func(key string) string {
		out := filepath.Join(files, strings.ReplaceAll(key, " ", "-")+".pb.gz")
		hone(t, append([]string{"merge", "-o", out}, merged[key]...)...)
		return out
	}
	const times = "@2026-09-01..2026-09-02"
	v1, v0 := `store:service-0{version="v1"}`+times, `store:service-0{version="v0"}`+times
	f1, f0 := file("service-0 cpu v1"), file("service-0 cpu v0")
	same := func(from, with []string) {
		t.Helper()
		got, want := hone(t, from...), hone(t, with...)
		if got != want || got == "" {
			t.Errorf("hone %q:\n%s\nwant as of hone %q:\n%s", from, got, with, want)
		}
	}
	for _, args := range [][]string{
		{"top", "--limit", "8"}, {"top", "--cum", "--metric", "samples"}, {"tree", "--limit", "20"}, {"peek", "step1"}, {"tags"}, {"flame", "--json"}, {"top", "--csv"},
	} {
		same(append(args[:len(args):len(args)], v1), append(args[:len(args):len(args)], f1))
	}
	same([]string{"diff", v0, v1, "--limit", "9"}, []string{"diff", f0, f1, "--limit", "9"})
	same([]string{"top", "--metric", "delay", v1}, []string{"top", "--metric", "delay", file("service-0 mutex v1")})
	again := filepath.Join(files, "again.pb.gz")
	hone(t, "merge", "-o", again, v1)
	same([]string{"top", again}, []string{"top", f1})

	hone(t, "pgo", "-o", filepath.Join(files, "stored.pgo"), v1)
	hone(t, "pgo", "-o", filepath.Join(files, "merged.pgo"), f1)
	same([]string{"folded", filepath.Join(files, "stored.pgo")}, []string{"folded", filepath.Join(files, "merged.pgo")})

	if got := s.profiles(t, allOfFleet); got["service-1 cpu"] != f.Rounds*f.Instances {
		t.Errorf("profiles: %v", got)
	}
	s.stop(t)
	if out := hone(t, "serve", "check", "--data", data); !strings.HasPrefix(out, strconv.Itoa(len(f.All()))+" profiles in") {
		t.Errorf("after the end: %s", out)
	}
	s = startServe(t, data)
	t.Setenv("HONE_STORE", s.url)
	same([]string{"top", v1}, []string{"top", f1})
	s.stop(t)
}

// A recording that is shared is read by its link as its file is, until it is deleted, also by another server on the same folder.
func TestShared(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	s := startServe(t, data)
	t.Setenv("HONE_STORE", s.url)
	const file = "testdata/docs/havlak/havlak.hone"
	link := strings.TrimSpace(hone(t, "push", "--note", "before", "--expires", "7d", file))
	if again := strings.TrimSpace(hone(t, "push", "--note", "before", "--expires", "7d", file)); again != link || !strings.HasPrefix(link, s.url+"/shelf/") {
		t.Errorf("links are %s and %s", link, again)
	}
	for _, args := range [][]string{{"top"}, {"info"}, {"tree", "--limit", "9"}, {"mem"}, {"raw"}} {
		if got, want := strings.ReplaceAll(hone(t, append(args, link)...), link, file), hone(t, append(args, file)...); got != want || got == "" {
			t.Errorf("hone %q of %s:\n%s\nwant as of the file:\n%s", args, link, got, want)
		}
	}
	if got, want := hone(t, "top", "--metric", "cpu", link+"@0s..1s"), hone(t, "top", "--metric", "cpu", file+"@0s..1s"); got != want {
		t.Errorf("a part of it:\n%s\nwant\n%s", got, want)
	}
	s.stop(t)
	s = startServe(t, data)
	t.Setenv("HONE_STORE", s.url)
	list := hone(t, "shelf")
	if !strings.Contains(list, "havlak.hone") || !strings.Contains(list, "before") || !strings.Contains(list, s.url+"/shelf/") {
		t.Errorf("on the shelf:\n%s", list)
	}
	hone(t, "shelf", "rm", filepath.Base(link))
	if list := hone(t, "shelf"); list != "there are no recordings on the shelf\n" {
		t.Errorf("after deleting:\n%s", list)
	}
}

// The token is sent to the server that it is for, and to no other that a link names.
func TestSharedToken(t *testing.T) {
	var got []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization"))
		http.Error(w, "a token is needed", http.StatusUnauthorized)
	}))
	defer s.Close()
	t.Setenv("HONE_TOKEN", "hone_secret")
	link := s.URL + "/shelf/" + strings.Repeat("a", 20)
	for _, store := range []string{"http://127.0.0.1:1", s.URL} {
		t.Setenv("HONE_STORE", store)
		for _, args := range [][]string{{"top", link}, {"shelf", "rm", link}} {
			if code, out := honeFails(t, args...); code != 1 || !strings.Contains(out, "a token is needed") {
				t.Errorf("hone %q: %d %s", args, code, out)
			}
		}
	}
	if want := []string{"", "", "Bearer hone_secret", "Bearer hone_secret"}; !slices.Equal(got, want) {
		t.Errorf("requests had %q, want %q", got, want)
	}
}

// Findings in profiles of a store say what all processes pay, and have patches, though the program was built elsewhere.
func TestAdviseStore(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles patches")
	}
	s := startServe(t, filepath.Join(t.TempDir(), "data"))
	t.Setenv("HONE_STORE", s.url)
	module := filepath.Join(t.TempDir(), "hi")
	if err := os.CopyFS(module, os.DirFS("examples/hi")); err != nil {
		t.Fatal(err)
	}
	bare := filepath.Join(t.TempDir(), "bare.pb.gz")
	hone(t, "merge", "-o", bare, "testdata/docs/advise/hi0.hone")
	for i, root := range []string{"/build/src/hi", "example.com/hi", "example.com/hi@v1.2.3", "/home/gopher/go/pkg/mod/example.com/hi@v1.2.3"} {
		raw, err := os.ReadFile(bare)
		if err != nil {
			t.Fatal(err)
		}
		p, err := profile.ParseBytes(raw)
		if err != nil {
			t.Fatal(err)
		}
		functions := slices.Clone(p.Functions)
		for k := range functions {
			if _, name, ok := strings.Cut(functions[k].File, "/examples/hi/"); ok {
				functions[k].File = root + "/" + name
			}
		}
		p = p.WithTables(profile.Tables{Functions: functions, Locations: p.Locations, Mappings: p.Mappings})
		file := filepath.Join(t.TempDir(), "moved.pb.gz")
		var out bytes.Buffer
		if err := errors.Join(p.Write(&out), os.WriteFile(file, out.Bytes(), 0o600)); err != nil {
			t.Fatal(err)
		}
		service := fmt.Sprint("hi", i)
		for _, instance := range []string{"a", "b"} {
			hone(t, "push", "--service", service, "--kind", "cpu", "--label", "instance="+instance, file)
		}
		got := hone(t, "advise", "--core-hour", "$0.04", "--source", module, "store:"+service+"@2026-11-01..2026-12-01")
		for _, want := range []string{"2 processes", "a month", "stage0/hi.go:23", "regexp compiled on every call", "of all processes: ", "handleHiRE.MatchString"} {
			if !strings.Contains(got, want) {
				t.Errorf("advice about %s has no %q:\n%s", root, want, got)
			}
		}
	}
}

// On a machine with the sources, the page of what a store has shows findings, and source with what each line costs.
func TestWebStore(t *testing.T) {
	s := startServe(t, filepath.Join(t.TempDir(), "data"))
	module := filepath.Join(t.TempDir(), "hi")
	if err := os.CopyFS(module, os.DirFS("examples/hi")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HONE_STORE", s.url)
	hone(t, "push", "--service", "hi", "testdata/docs/advise/hi0.hone")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ref := s.url + "/store:hi@2026-11-01..2026-12-01"
	web := exec.Command(self, "web", "--no-browser", "--source", module, "--source-path", module, ref)
	web.Env = append(os.Environ(), "HONE_TEST_EXEC=1", "HONE_STORE=")
	out, err := web.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { web.Process.Kill(); web.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	page, err := url.Parse(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	jar, _ := cookiejar.New(nil)
	client := http.Client{Jar: jar}
	ask := func(path string, q url.Values) string {
		t.Helper()
		at := url.URL{Scheme: page.Scheme, Host: page.Host, Path: path, RawQuery: q.Encode()}
		resp, err := client.Get(at.String())
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s %s %v", path, resp.Status, text, err)
		}
		return string(text)
	}
	ask("/flame", page.Query()) // takes the token
	if got := ask("/api/advise", url.Values{"ref": {ref}}); !strings.Contains(got, "regexp compiled on every call") || !strings.Contains(got, "stage0/hi.go") || !strings.Contains(got, `"fixes"`) {
		t.Errorf("the findings are %s", got)
	}
	if got := ask("/api/list", url.Values{"ref": {ref}, "arg": {"stage0.handleHi"}}); !strings.Contains(got, "regexp.MatchString(") {
		t.Errorf("the source is %s", got)
	}
}

// A finding of a store ends in a patch that is proven.
func TestFixStore(t *testing.T) {
	testrun.Nightly(t, "proves a patch")
	s := startServe(t, filepath.Join(t.TempDir(), "data"))
	t.Setenv("HONE_STORE", s.url)
	module := filepath.Join(t.TempDir(), "hi")
	if err := os.CopyFS(module, os.DirFS("examples/hi")); err != nil {
		t.Fatal(err)
	}
	hone(t, "push", "--service", "hi", "testdata/docs/advise/hi0.hone")
	hone(t, "fix", "--source", module, "--each", "30s", "--forget", "store:hi@2026-11-01..2026-12-01", "1")
	text, err := os.ReadFile(filepath.Join(module, "stage0", "hi.go"))
	if err != nil || !strings.Contains(string(text), "handleHiRE.MatchString") {
		t.Errorf("the file after the fix (%v):\n%s", err, text)
	}
}

// A server that is killed has lost nothing that it acknowledged, and what is sent again is there once. HONE_KILLS says how often it is killed.
func TestServeKilled(t *testing.T) {
	testrun.Live(t, "sends profiles, and kills the server")
	kills := 4
	if v := os.Getenv("HONE_KILLS"); v != "" {
		var err error
		if kills, err = strconv.Atoi(v); err != nil {
			t.Fatalf("HONE_KILLS=%q: want a number", v)
		}
	}
	f := storetest.Small()
	f.Services, f.Rounds, f.Kinds = 4, 40, []string{"cpu", "heap"}
	all := f.All()
	data := filepath.Join(t.TempDir(), "data")
	next, sums := 0, map[string]int64{}
	for kill := range kills {
		began := time.Now()
		s := startServe(t, data)
		if took := time.Since(began); took > 30*time.Second { // a second on a quiet machine: the note of a run says what it was
			t.Errorf("after %d kills it takes %v to start", kill, took)
		} else {
			t.Logf("started in %v", took.Round(time.Millisecond))
		}
		part := all[next:min(len(all), next+max(1, len(all)/kills))]
		if kill == kills-1 {
			part = all[next:]
		}
		next += len(part)
		// Many send at the same time; what fails is sent again to the next server.
		work := make(chan *store.Upload)
		failed := make(chan *store.Upload, len(part))
		var senders sync.WaitGroup
		for range 8 {
			senders.Go(func() {
				for u := range work {
					if s.push(u) != nil {
						failed <- u
					}
				}
			})
		}
		die := rand.IntN(len(part) + 1)
		for i, u := range part {
			if i == die {
				go func() {
					time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)
					s.cmd.Process.Kill()
				}()
			}
			work <- u
		}
		close(work)
		senders.Wait()
		s.cmd.Process.Kill()
		s.cmd.Wait()
		close(failed)
		s = startServe(t, data)
		for u := range failed {
			if err := s.push(u); err != nil {
				t.Fatalf("sending again: %v\n%s", err, s.err)
			}
		}
		s.cmd.Process.Kill()
		s.cmd.Wait()
	}
	want := map[string]int{}
	for _, u := range all {
		want[u.Service+" "+u.Kind]++
		if u.Kind == "cpu" {
			p, err := profile.ParseBytes(u.Raw)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range p.Values(1) {
				sums[u.Service] += v
			}
		}
	}
	s := startServe(t, data)
	defer s.stop(t)
	got := s.profiles(t, allOfFleet)
	for key, n := range want {
		if got[key] != n {
			t.Errorf("there are %d profiles of %s, want %d", got[key], key, n)
		}
	}
	for service, sum := range sums {
		resp, err := http.Get(s.url + "/api/v1/profile?kind=cpu&ref=" + url.QueryEscape(service+"@2026-08-01..2026-10-01"))
		if err != nil {
			t.Fatal(err)
		}
		p, err := profile.Parse(resp.Body)
		resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		n := int64(0)
		for _, v := range p.Values(1) {
			n += v
		}
		if n != sum {
			t.Errorf("%s used %d ns, want %d", service, n, sum)
		}
	}
}

// hone events says what happened, in all formats.
func TestServeEvents(t *testing.T) {
	data := t.TempDir()
	log, err := event.Open(filepath.Join(data, "events.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	at := time.Now().UTC().Add(-time.Hour).Truncate(time.Second)
	for _, e := range []event.Event{
		{ID: "1", Kind: event.Deployed, Service: "shop", Time: at, Deploy: &event.Deploy{Version: "v2", Before: "v1"}},
		{ID: "2", Kind: event.Killed, Service: "api", Time: at.Add(time.Minute), Process: &event.Process{Instance: "a:1"}},
	} {
		e.Tenant = "default"
		if err := log.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	log.Close()
	s := startServe(t, data)
	t.Setenv("HONE_STORE", s.url)
	t.Setenv("TZ", "UTC")
	for args, want := range map[string][]string{
		"events":                    {"2 events · ", "  deploy  version v2 of shop was deployed in place of v1\n", "hone diff --per second 'store:shop{version=\"v1\"}@"},
		"events shop --kind deploy": {"1 event · ", at.Format(time.DateTime)},
		"events --json":             {`"kind": "oom"`, `"service": "api"`},
		"events --csv":              {"time,kind,event\n", ",oom,"},
		"events --md":               {"| oom "},
		"events --last 30m":         {"0 events"},
		"events --limit 1":          {"raise --limit to see them"},
	} {
		out := hone(t, strings.Fields(args)...)
		for _, w := range want {
			if !strings.Contains(out, w) {
				t.Errorf("hone %s has no %q:\n%s", args, w, out)
			}
		}
	}
	if code, out := honeFails(t, "events", "shpo"); code != 1 || !strings.Contains(out, "there is no service shpo\nhint: did you mean shop? the store has api, shop\n") {
		t.Errorf("hone events shpo: exit %d\n%s", code, out)
	}
	s.stop(t)
}

// A part of a store that the disk damaged is named; all else is served. The store is whole again after it was moved out of the way.
func TestServeDamaged(t *testing.T) {
	f := storetest.Small()
	f.Services, f.Instances, f.Rounds, f.Kinds = 2, 1, 2, []string{"cpu"}
	data := filepath.Join(t.TempDir(), "data")
	s := startServe(t, data)
	for _, u := range f.All() {
		if err := s.push(u); err != nil {
			t.Fatal(err)
		}
	}
	s.stop(t)
	const all = "@2026-08-01..2026-10-01"
	found, err := filepath.Glob(filepath.Join(data, "data", "*", "*", "service-0.*", "*.seg"))
	if err != nil || len(found) != 1 {
		t.Fatalf("segments: %q, %v", found, err)
	}
	segment := filepath.Base(found[0])
	text, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	for i := 20; i < len(text); i += 37 {
		text[i] ^= 0x40
	}
	if err := os.WriteFile(found[0], text, 0o600); err != nil {
		t.Fatal(err)
	}
	if code, said := honeFails(t, "serve", "check", "--data", data); code != 1 || !strings.Contains(said, "1 problem in ") {
		t.Errorf("check ends with %d: %s", code, said)
	}

	s = startServe(t, data)
	t.Setenv("HONE_STORE", s.url)
	if out := hone(t, "top", "store:service-1"+all); !strings.Contains(out, "step") {
		t.Errorf("the service that is whole: %s", out)
	}
	if code, said := honeFails(t, "top", "store:service-0"+all); code != 1 || !strings.Contains(said, segment) {
		t.Errorf("the damaged service ends with %d, and does not name %s: %s", code, segment, said)
	}
	if code, said := honeFails(t, "serve", "check", "--data", data); code != 1 || !strings.Contains(said, "another hone has the store open\nhint: only one ") {
		t.Errorf("check beside a server ends with %d: %s", code, said)
	}
	s.stop(t)

	if out := hone(t, "serve", "check", "--mend", "--data", data); !strings.Contains(out, segment) || !strings.Contains(out, "(mended; the file is kept as ") {
		t.Errorf("mending says %s", out)
	}
	if out := hone(t, "serve", "check", "--data", data); !strings.HasPrefix(out, "2 profiles in ") {
		t.Errorf("after mending: %s", out)
	}
	s = startServe(t, data)
	for _, u := range f.All() { // those that were lost are taken again
		if err := s.push(u); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.profiles(t, allOfFleet); got["service-0 cpu"] != 2 || got["service-1 cpu"] != 2 {
		t.Errorf("profiles after all were sent again: %v", got)
	}
	s.stop(t)
}

// Folded stacks count samples, which is not the metric of CPU profiles: they leave a service readable.
func TestServeFolded(t *testing.T) {
	f := storetest.Small()
	f.Services, f.Instances, f.Rounds, f.Kinds = 1, 1, 1, []string{"cpu"}
	s := startServe(t, filepath.Join(t.TempDir(), "data"))
	t.Setenv("HONE_STORE", s.url)
	u := f.All()[0]
	if err := s.push(u); err != nil {
		t.Fatal(err)
	}
	const ref = "store:service-0@2026-08-01..2026-10-01"
	before := hone(t, "top", ref)
	text := *u
	text.Raw = []byte("a;b 3\n")
	if err := s.push(&text); err != nil {
		t.Fatal(err)
	}
	const note = "note: 1 profile of service-0 left out: the metrics are samples (count), and those of the other profiles samples (count), cpu (nanoseconds)\n"
	if after := hone(t, "top", ref); strings.Replace(after, note, "", 1) != before || after == before {
		t.Errorf("with folded stacks, the answer is\n%s\nwant a note after\n%s", after, before)
	}
	s.stop(t)
}

// A mistake in the configuration is named with its place and what is possible there, and limits in it hold for what comes in.
func TestServeConfig(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "hone.yml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for text, want := range map[string]string{
		"scrape_configs:\n  - job_name: shop\n    scrape_intervall: 10s\n": `hone.yml:3:5: unknown key "scrape_intervall"; did you mean scrape_interval?`,
		"rules:\n  - name: json\n    when: shar > 5%\n":                    `hone.yml:3:11: `,
		"limits:\n  - {serie: 7}\n":                                        `hone.yml:2:6: unknown key "serie"; did you mean series?`,
		"actions:\n  - on: [oomkill]\n    pin: {}\n":                       `hone.yml:2:10: `,
		"scrape_configs: [\n":                                              `hone.yml:`,
	} {
		write(text)
		code, said := honeFails(t, "serve", "--data", filepath.Join(dir, "none"), "--listen", "127.0.0.1:0", "--config", config)
		if code == 0 || !strings.Contains(said, want) {
			t.Errorf("%s ends with %d: %s\nwant %s", text, code, said, want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "none")); err == nil {
		t.Error("a configuration that is wrong made a store")
	}

	write("limits:\n  - {samples: 3}\n  - {tenant: other, samples: 1000}\n")
	s := startServe(t, filepath.Join(dir, "data"), "--config", config)
	f := storetest.Small()
	err := s.push(f.All()[0])
	if err == nil || !strings.Contains(err.Error(), "to raise it, set samples under limits") {
		t.Errorf("a profile with more samples: %v", err)
	}
	s.stop(t)
}

// What rules measure is there for Prometheus, by service and version.
func TestServeMeasures(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "hone.yml")
	const rules = "rules:\n  - {name: steps, service: service-0, function: '/step/', when: share > 100%, over: 1h}\n"
	if err := os.WriteFile(config, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	f := storetest.Small()
	f.Services, f.Instances, f.Rounds, f.Kinds, f.Start = 1, 1, 1, []string{"cpu"}, time.Now().Add(-5*time.Minute)
	data := filepath.Join(dir, "data")
	s := startServe(t, data, "--config", config)
	if err := s.push(f.All()[0]); err != nil {
		t.Fatal(err)
	}
	s.stop(t)
	s = startServe(t, data, "--config", config) // which looks at the rules at once
	want := regexp.MustCompile(`(?m)^hone_rule_value\{tenant="default",rule="steps",service="service-0",version="v0"\} (0\.\d+|1)$`)
	for tries := 0; ; tries++ {
		resp, err := http.Get(s.url + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || want.Match(text) {
			break
		}
		if tries == 1000 {
			t.Fatalf("metrics have no %s:\n%s", want, text)
		}
		time.Sleep(50 * time.Millisecond)
	}
	s.stop(t)
}

// A server that others reach needs tokens, and speaks TLS. A token answers only for its tenant, and no longer than it is there.
func TestServeTokens(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	if code, said := honeFails(t, "serve", "--data", data, "--listen", "0.0.0.0:0"); code == 0 || !strings.Contains(said, "hone serve token") {
		t.Errorf("without tokens, for all machines: %d %s", code, said)
	}
	secret := func(args ...string) string {
		t.Helper()
		m := regexp.MustCompile(`\bhone_[\w-]+`).FindString(hone(t, append([]string{"serve", "token", "--data", data}, args...)...))
		if m == "" {
			t.Fatalf("hone serve token %q prints no token", args)
		}
		return m
	}
	shop, other := secret("shop", "--scope", "read,write", "--tenant", "shop"), secret("other", "--scope", "read", "--tenant", "other")
	cert, key := certificate(t, dir)
	s := startServe(t, data, "--tls-cert", cert, "--tls-key", key)
	if !strings.HasPrefix(s.url, "https://127.0.0.1:") {
		t.Fatalf("it listens at %s", s.url)
	}
	t.Setenv("HONE_STORE", s.url)
	t.Setenv("HONE_TOKEN", shop)
	if code, said := honeFails(t, "services"); code != 1 || !strings.Contains(said, "certificate") {
		t.Errorf("a certificate that nobody knows: %d %s", code, said)
	}
	t.Setenv("SSL_CERT_FILE", cert)
	file := filepath.Join(dir, "cpu.pb.gz")
	if err := os.WriteFile(file, storetest.Small().All()[0].Raw, 0o600); err != nil {
		t.Fatal(err)
	}
	hone(t, "push", "--service", "api", "--kind", "cpu", file)
	if out := hone(t, "top", "store:api@2020-01-01"); !strings.Contains(out, ".step") {
		t.Errorf("top says %s", out)
	}
	for what, test := range map[string]struct{ token, want string }{
		"no token":              {"", "token"},
		"a token of nobody":     {"hone_" + strings.Repeat("x", 40), "token"},
		"one of another tenant": {other, "there is no service api"},
		"two lines":             {shop + "\n" + other, "HONE_TOKEN"},
	} {
		t.Setenv("HONE_TOKEN", test.token)
		if code, said := honeFails(t, "top", "store:api@2020-01-01"); code != 1 || !strings.Contains(said, test.want) {
			t.Errorf("%s: %d %s", what, code, said)
		}
	}
	t.Setenv("HONE_TOKEN", shop+"\n") // as read from a file
	hone(t, "services")
	t.Setenv("HONE_TOKEN", other)
	if code, said := honeFails(t, "push", "--service", "api", "--kind", "cpu", file); code != 1 || !strings.Contains(said, "write") {
		t.Errorf("pushing with a token for reading: %d %s", code, said)
	}
	s.stop(t)
}

// certificate makes one for this machine, which vouches for itself.
func certificate(t *testing.T, dir string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), cryptorand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	of := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	made, err := x509.CreateCertificate(cryptorand.Reader, of, of, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for name, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: made}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// A run that is recorded goes to a store at its end, under the name of its program.
func TestRecordPush(t *testing.T) {
	testrun.Live(t, "builds and runs a program")
	s := startServe(t, filepath.Join(t.TempDir(), "data"))
	t.Setenv("HONE_STORE", s.url)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":  "module example.com/spin\n\ngo 1.24\n",
		"main.go": "package main\n\nimport \"time\"\n\nvar n int\n\nfunc spin() { n++ }\n\nfunc main() {\n\tfor began := time.Now(); time.Since(began) < 2*time.Second; {\n\t\tfor range 1000 {\n\t\t\tspin()\n\t\t}\n\t}\n}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	honeAt(t, dir, "record", "-o", "spin.hone", "--push", s.url, ".")
	if out := hone(t, "top", "store:spin@-1h"); !strings.Contains(out, "main.main") {
		t.Errorf("top says %s", out)
	}
	if got, want := hone(t, "top", "--csv", "store:spin@-1h"), hone(t, "top", "--csv", filepath.Join(dir, "spin.hone")); got != want {
		t.Errorf("of the store:\n%s\nof the file:\n%s", got, want)
	}
	s.stop(t)
}
