package cli

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/fleet"
	"github.com/hone-perf/hone/internal/fleet/token"
	"github.com/hone-perf/hone/internal/store"
	"github.com/hone-perf/hone/internal/store/disk"
	"github.com/hone-perf/hone/internal/store/storetest"
	"github.com/hone-perf/hone/internal/view"
	"github.com/hone-perf/hone/internal/views"
)

// A stocked store has a server, and the same profiles as files.
type stocked struct {
	t     *testing.T
	url   string
	dir   string
	start time.Time
	all   []*store.Upload
}

// serveStore serves a store with profiles of ten minutes within the last hour.
func serveStore(t *testing.T, tokens *token.File) *stocked {
	t.Helper()
	f := storetest.Small()
	f.Services, f.Kinds, f.Start = 2, []string{"cpu", "mutex", "goroutine"}, time.Now().Add(-40*time.Minute).Truncate(time.Minute).Add(3*time.Second).UTC()
	kept, err := disk.Open(filepath.Join(t.TempDir(), "data"), disk.Defaults)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kept.Close() })
	if tokens == nil {
		if tokens, err = token.Open(filepath.Join(t.TempDir(), "tokens.json")); err != nil {
			t.Fatal(err)
		}
	}
	s := fleet.New(fleet.Options{Store: kept, Tokens: tokens})
	out := &stocked{t: t, dir: t.TempDir(), start: f.Start, all: f.All()}
	if _, err := s.Add(t.Context(), token.DefaultTenant, out.all); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	out.url = server.URL
	t.Setenv("HONE_STORE", out.url)
	t.Setenv("HONE_TOKEN", "")
	return out
}

// hone runs a command and returns its exit code and all output.
func (s *stocked) hone(in string, args ...string) (int, string) {
	s.t.Helper()
	var out bytes.Buffer
	env := func(name string) string {
		if name == "GOGC" {
			return "100" // GOGC stays as it is, because all commands share this process
		}
		return ""
	}
	sys := System{In: strings.NewReader(in), Out: &out, Err: &out, Env: env, Dir: s.dir, Zone: time.UTC}
	code := Main(s.t.Context(), sys, args)
	return code, out.String()
}

// file merges the selected CPU profiles of a service, and returns the name of the file.
func (s *stocked) file(name, service string, want func(u *store.Upload) bool) string {
	s.t.Helper()
	args := []string{"merge", "-o", filepath.Join(s.dir, name+".pb.gz")}
	for i, u := range s.all {
		if u.Service == service && u.Kind == "cpu" && want(u) {
			raw := filepath.Join(s.dir, fmt.Sprint("raw", i))
			if err := os.WriteFile(raw, u.Raw, 0o600); err != nil {
				s.t.Fatal(err)
			}
			args = append(args, raw)
		}
	}
	if code, out := s.hone("", args...); code != 0 {
		s.t.Fatalf("hone merge: %d %s", code, out)
	}
	return args[2]
}

// apart returns the first difference between two answers.
func apart(got, want string) string {
	x, y := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return fmt.Sprintf("line %d is\n%s\nwant\n%s", i+1, x[i], y[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d:\n%s", len(x), len(y), got)
}

// storedElsewhere are commands that read profiles of a store and are tested elsewhere, by test.
var storedElsewhere = map[string]string{
	"advise":    "TestAdviseStore",
	"fix":       "TestFixStore",
	"web":       "TestWebStore",
	"why-alloc": "TestWhyAllocStore",
}

// Every command reads a store ref like a file with the same profiles, or says that it reads no store.
func TestStoreRefs(t *testing.T) {
	s := serveStore(t, nil)
	const of = "service-0"
	half := s.start.Add(4 * time.Minute)
	stamp := func(t time.Time) string { return t.Format("2006-01-02T15:04:05Z") }
	every := func(*store.Upload) bool { return true }
	v0 := func(u *store.Upload) bool { return u.Labels.Get("version") == "v0" }
	first := func(u *store.Upload) bool { return u.Start.Before(half) }
	at := slices.IndexFunc(s.all, func(u *store.Upload) bool { return u.Service == of && u.Kind == "cpu" })
	one := func(u *store.Upload) bool { return u == s.all[at] }
	base := s.file("base", "service-1", every)
	forms := []struct{ ref, file string }{
		{"store:" + of, s.file("all", of, every)},
		{"store:" + of + `{version="v0"}`, s.file("v0", of, v0)},
		{"store:" + of + `{version=v0, version!~"v[1-9]"}@-1h`, s.file("v0b", of, v0)},
		{"store:" + of + "@" + stamp(s.start) + ".." + stamp(half), s.file("half", of, first)},
		{s.url + "/store:" + of + `{version="v0"}@-1h..now`, s.file("v0c", of, v0)},
		{s.url + "/flame?ref=store:" + of + `%7Bversion%3D%22v0%22%7D@-1h&ui.sel=x`, s.file("v0d", of, v0)},
		{fmt.Sprintf("store:%s{profile_id=%q}", of, s.all[at].ID), s.file("one", of, one)},
	}
	build := regexp.MustCompile(` \(build id [^)]*\)|(?m)^ *"build_id": .*\n|(?m)^build id .*\n|(?m)^Build ID: .*\n`)
	numbers := regexp.MustCompile(`(?m)^ *"?(samples|stacks|locations|start|limit)"?:? +\d+,?\n|0x[0-9a-f]+-0x[0-9a-f]+`)
	spaces := regexp.MustCompile(` +`)
	valued := regexp.MustCompile(`(?m)^ *(calls|)(?:\S+ \d+ |\d+ +)(\d+)(?:: .*)?$`)
	// named returns an answer without the names of its inputs.
	named := func(answer string, refs ...string) string {
		for i, ref := range refs {
			as := fmt.Sprint("REF", i)
			answer = strings.ReplaceAll(answer, quoted(ref), as)
			answer = strings.ReplaceAll(answer, strings.ReplaceAll(ref, `"`, `\"`), as)
			answer = strings.ReplaceAll(answer, ref, as)
		}
		// A selection of several builds has no build ID, but merged files have the one of the first.
		return strings.ReplaceAll(build.ReplaceAllString(answer, ""), "note: the two profiles are of different builds: code that moved appears as two frames\n", "")
	}
	// The store drops addresses of functions with names, so for answers with addresses only sums are the same.
	sums := func(answer string) string {
		total := map[string]int64{}
		for _, m := range valued.FindAllStringSubmatch(answer, -1) {
			n, _ := strconv.ParseInt(m[2], 10, 64)
			total[m[1]] += n
		}
		return fmt.Sprint(total)
	}
	same := func(what, ref, file, in string, args ...string) {
		t.Helper()
		with := func(r string) []string {
			out := slices.Clone(args)
			for i := range out {
				out[i] = strings.ReplaceAll(out[i], "REF", r)
			}
			return out
		}
		code, got := s.hone(in, with(ref)...)
		wantCode, want := s.hone(in, with(file)...)
		got, want = named(got, ref), named(want, file)
		switch what {
		case "raw", "callgrind", "traces":
			got, want = sums(got), sums(want)
		case "info":
			got, want = spaces.ReplaceAllString(numbers.ReplaceAllString(got, ""), " "), spaces.ReplaceAllString(numbers.ReplaceAllString(want, ""), " ")
		case "disasm", "weblist":
			got, want = "", ""
		}
		if got != want || code != wantCode {
			t.Errorf("%s: hone %q, as of %s: %d, want %d; %s", what, with(ref), file, code, wantCode, apart(got, want))
		}
	}

	root := newRoot(&System{Env: os.Getenv})
	tried := 0
	for _, cmd := range root.Commands() {
		name := cmd.Name()
		v, isView := views.Find(name)
		_, _, none := readsNone(name)
		switch {
		case storedElsewhere[name] != "":
		case none:
			if slices.Contains([]string{"ab", "benchcmp", "benchstat", "help", "completion"}, name) {
				continue // commands of other tools
			}
			if code, out := s.hone("", name, forms[1].ref); code != exitUsage || !strings.Contains(out, name+" takes no profiles from a store") {
				t.Errorf("hone %s of a store: %d %s", name, code, out)
			}
		case isView && v.Part != view.Profile:
			args := []string{name, forms[1].ref}
			if v.Arg != "" {
				args = []string{name, "1", forms[1].ref}
			}
			if code, out := s.hone("", args...); code != exitFailed || !strings.Contains(out, "a store has profiles, but no ") || !strings.Contains(out, "hint: ") {
				t.Errorf("hone %q: %d %s", args, code, out)
			}
		case !isView && !slices.Contains([]string{"merge", "pgo", "pprof", "shell"}, name):
			t.Errorf("hone %s: does it read profiles? If not, it belongs into readsNone", name)
		default:
			tried++
			for i, f := range forms {
				thorough := i == 1 || i == len(forms)-1 // the other forms differ in how profiles are read, not in the answers
				if testing.Short() && i != 1 && !slices.Contains([]string{"top", "diff", "merge", "pprof", "shell"}, name) {
					continue
				}
				switch {
				case name == "shell":
					same(name, f.ref, f.file, "top limit=3\ntree limit=2 focus=step1\ndiff base="+base+" limit=2\nsettings\n", "shell", "REF")
				case name == "pprof":
					same(name, f.ref, f.file, "", "pprof", "-top", "REF")
					same(name, f.ref, f.file, "", "pprof", "-top", "-base", base, "REF")
				case name == "merge", name == "pgo":
					out := filepath.Join(s.dir, "made")
					for i, ref := range []string{f.ref, f.file} {
						if code, said := s.hone("", name, "-o", out+fmt.Sprint(i), ref); code != 0 {
							t.Errorf("hone %s %s: %d %s", name, ref, code, said)
						}
					}
					same(name, out+"0", out+"1", "", "folded", "--lines", "REF")
				case name == "goroutines", name == "holders":
					// goroutines are compared below, and a store has no profiles of who holds memory
				case v.NeedsBase:
					same(name, f.ref, f.file, "", name, base, "REF")
					same(name, f.ref, f.file, "", name, "REF", base)
				default:
					args := []string{name, "REF"}
					if v.Arg != "" {
						args = []string{name, "step1$", "REF"}
					}
					if mixed := f.ref == "store:"+of; mixed && name == "info" {
						break // it counts stacks by address
					} else if thorough {
						same(name, f.ref, f.file, "", append(args, "--json")...) // functions may have several start lines, so without them in the answer
					}
					same(name, f.ref, f.file, "", args...)
					if slices.Contains(keysOf(v), "base") && thorough {
						same(name, f.ref, f.file, "", append(args, "--base", base)...)
						// The base can be a store ref, too.
						code, got := s.hone("", append(slices.Clone(args[:len(args)-1]), f.file, "--base", "store:service-1")...)
						wantCode, want := s.hone("", append(slices.Clone(args[:len(args)-1]), f.file, "--base", base)...)
						if got, want := named(got, "store:service-1"), named(want, base); name != "raw" && name != "callgrind" && name != "info" && name != "traces" && got != want || code != wantCode {
							t.Errorf("hone %s with a base of a store: %d, want %d; %s", name, code, wantCode, apart(got, want))
						}
					}
				}
			}
		}
	}
	if tried < 15 {
		t.Errorf("only %d commands read profiles", tried)
	}

	// For gauges, such as the live heap, a store ref shows a mean over time, and a file its one value.
	at = slices.IndexFunc(s.all, func(u *store.Upload) bool { return u.Kind == "goroutine" })
	id, raw := fmt.Sprintf("store:%s{profile_id=%q}", s.all[at].Service, s.all[at].ID), filepath.Join(s.dir, "goroutine")
	if err := os.WriteFile(raw, s.all[at].Raw, 0o600); err != nil {
		t.Fatal(err)
	}
	same("goroutines", id, raw, "", "goroutines", "REF")
	same("goroutines", id, raw, "", "top", "--metric", "goroutine", "REF")

	// A selection is saved as a recording with all kinds of profiles.
	saved := filepath.Join(s.dir, "saved.hone")
	if code, out := s.hone("", "merge", "-o", saved, forms[1].ref); code != 0 || out != "" {
		t.Errorf("saving a selection: %d %s", code, out)
	}
	for _, metric := range []string{"cpu", "mutex", "goroutine"} {
		same("top", forms[1].ref, saved, "", "top", "--metric", metric, "REF")
	}
	if code, out := s.hone("", "merge", "-o", saved, forms[1].ref, base); code != exitUsage {
		t.Errorf("saving two: %d %s", code, out)
	}

	// Without a command, and with several refs that are merged.
	for _, f := range forms {
		if strings.Contains(f.ref, "profile_id") {
			continue // it is of one kind
		}
		if code, out := s.hone("", f.ref); code != 0 || !strings.Contains(out, "metrics       cpu, cpu:samples, goroutine, mutex") {
			t.Errorf("a first look at %s: %d %s", f.ref, code, out)
		}
	}
	same("sum", "store:service-0", forms[0].file, "", "top", "REF", base)

	if code, out := s.hone("", "top", "--at", "3s..9s", forms[0].ref); code != exitUsage || !strings.Contains(out, "the time is a part of the ref") {
		t.Errorf("with --at: %d %s", code, out)
	}
}

// The costs of lines come from the store, if the user names one.
func TestWhyAllocStore(t *testing.T) {
	s := serveStore(t, nil)
	code, out := s.hone("", "why-alloc", "nowhere.go:1", "store:service-0")
	fileCode, fileOut := s.hone("", "why-alloc", "nowhere.go:1", s.file("all", "service-0", func(*store.Upload) bool { return true }))
	if code != fileCode || out != fileOut {
		t.Errorf("%d %s, want %d %s", code, out, fileCode, fileOut)
	}
	for name, text := range map[string]string{"go.mod": "module example.com/a\n\ngo 1.24\n", "a.go": "package a\n\nvar A = new(int)\n"} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if code, out := s.hone("", "why-alloc", "a.go:3", "store:service-9"); code != exitFailed || !strings.Contains(out, "there is no service service-9") {
		t.Errorf("%d %s", code, out)
	}
}

// Profiles from other senders may count other things than Go's profiles of the same kind, or be of a kind that hone cannot show.
func TestForeignProfiles(t *testing.T) {
	s := serveStore(t, nil)
	folded := filepath.Join(s.dir, "a.folded")
	if err := os.WriteFile(folded, []byte("main;walk 2\nmain 3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"cpu", "heap", "goroutine", "wall"} {
		if code, out := s.hone("", "push", "--service", "other-"+kind, "--kind", kind, folded); code != 0 {
			t.Fatalf("%d %s", code, out)
		}
		code, out := s.hone("", "folded", "store:other-"+kind)
		if kind == "wall" {
			before, address, _ := strings.Cut(out, ": hone top ")
			if code == 0 || !strings.Contains(before, "hint: there are only profiles of the kinds wall, and refs select cpu, heap,") {
				t.Errorf("%s: %d %s", kind, code, out)
			}
			if code, out := s.hone("", "top", strings.Trim(strings.TrimSpace(address), "'")); code != 0 || !strings.Contains(out, "walk") {
				t.Errorf("the command of the hint: %d %s", code, out)
			}
			continue
		}
		if _, want := s.hone("", "folded", folded); code != 0 || out != want {
			t.Errorf("%s: %d %s\nwant %s", kind, code, out, want)
		}
		if code, out := s.hone("", "store:other-"+kind); code != 0 || !strings.Contains(out, "walk") {
			t.Errorf("a first look at %s: %d %s", kind, code, out)
		}
	}
	if code, out := s.hone("", "pgo", "-o", filepath.Join(s.dir, "x.pgo"), "store:other-heap"); code == 0 || !strings.Contains(out, "store:other-heap has no metric cpu; it has heap") {
		t.Errorf("pgo of no CPU profile: %d %s", code, out)
	}
}

// A wrong ref gives one error, with the next step.
func TestStoreRefErrors(t *testing.T) {
	s := serveStore(t, nil)
	stranger := httptest.NewServer(http.NotFoundHandler())
	defer stranger.Close()
	first, last := s.start.Format(time.DateOnly), s.start
	for _, u := range s.all {
		if u.End.After(last) {
			last = u.End // may be on the next day
		}
	}
	for _, c := range []struct {
		ref, store string
		args       []string
		want       string
	}{
		{ref: "store:servise-0", want: "hone: store:servise-0: there is no service servise-0\nhint: did you mean service-0? the store has service-0, service-1\n"},
		{ref: "store:x", want: "hone: store:x: there is no service x\nhint: the store has service-0, service-1\n"},
		{ref: "store:service-0{versoin=v0}", want: "no profile of service-0 has the label versoin\nhint: did you mean version? its labels are build_id, instance, version\n"},
		{ref: "store:service-0{version=v9}", want: "no profile of service-0 has version=\"v9\"\nhint: its values are v0, v1\n"},
		{ref: "store:service-0@2020-01-01 14:00..15:00", want: "there is no profile of service-0 from 2020-01-01 14:00:00 UTC to 2020-01-01 15:00:00 UTC\nhint: the first one is of " + first},
		{ref: "store:service-0@-5m", want: "hint: the last one before is of " + last.Format(time.DateOnly)},
		{ref: s.url + "/store:service-0@-5m", want: ": hone top " + s.url + "/store:service-0@"},
		{ref: "store:service-0", args: []string{"--metric", "contentoins"}, want: "store:service-0 has no metric contentoins; it has cpu, cpu:samples, goroutine, mutex"},
		{ref: "store:service-0", args: []string{"--metric", "heap"}, want: "store:service-0 has no metric heap; it has cpu, cpu:samples, goroutine, mutex"},
		{ref: "store:service-0@-1h..-2h", want: "store:service-0@-1h..-2h: the time ends before it begins: did you mean -2h..-1h?\n"},
		{ref: "store:service-0@2090-01-01", want: "2090-01-01 00:00:00 UTC is not before now, which is "},
		{ref: "store:service-0@lately", want: "lately is not a time; times look like -1h, "},
		{ref: "store:service-0{version", want: "it ends within a label; a selector looks like api{version=\"v2\""},
		{ref: "store:service-0{version=~v.*}", want: "the value of version is not in double quotes (a shell takes them away, unless all of it is in single quotes)"},
		{ref: "store:service-0{version=~\"(\"}", want: "the pattern ( of version: missing closing )"},
		{ref: "store:", want: "it names no service"},
		{ref: "store:service-0{profile_id=00000000000000000000000000000000}", want: "no profile of service-0 has the ID 00000000000000000000000000000000"},
		{ref: "store:service-0", store: "http://127.0.0.1:1", want: "no store answers at http://127.0.0.1:1\nhint: hone serve starts one; HONE_STORE names another\n"},
		{ref: "http://127.0.0.1:1/store:service-0", want: "no store answers at http://127.0.0.1:1\n"},
		{ref: "store:service-0", store: "127.0.0.1:4040", want: "\"127.0.0.1:4040\" is not the address of a store\nhint: an address looks like http://"},
		{ref: "store:service-0", store: stranger.URL, want: "the server at " + stranger.URL + " is not a hone store: it has no /api/v1/recording\nhint: is it hone serve"},
	} {
		t.Setenv("HONE_STORE", s.url)
		if c.store != "" {
			t.Setenv("HONE_STORE", c.store)
		}
		code, out := s.hone("", append([]string{"top", c.ref}, c.args...)...)
		if !strings.Contains(out, c.want) || code == 0 || !strings.HasPrefix(out, "hone: ") {
			t.Errorf("hone top %q %q: %d %s\nwant %s", c.ref, c.args, code, out, c.want)
		}
	}
}

// Without a valid token, a client sees nothing, not even names of services.
func TestStoreRefTokens(t *testing.T) {
	tokens, err := token.Open(filepath.Join(t.TempDir(), "tokens.json"))
	if err != nil {
		t.Fatal(err)
	}
	made := map[string]string{"wrong": "hone_" + strings.Repeat("a", 32), "": ""}
	for name, one := range map[string]token.Token{
		"read": {Scopes: []token.Scope{token.Read}}, "write": {Scopes: []token.Scope{token.Write}}, "other": {Scopes: []token.Scope{token.Read}, Tenant: "other"},
	} {
		one.Name = name
		if one.Tenant == "" {
			one.Tenant = token.DefaultTenant
		}
		if made[name], err = tokens.Make(one); err != nil {
			t.Fatal(err)
		}
	}
	s := serveStore(t, tokens)
	t.Setenv("HONE_TOKEN", made["read"])
	if code, out := s.hone("", "targets"); code != 0 || !strings.Contains(out, "this server fetches no profiles; it only takes those that are sent\nnote: hone serve --config FILE fetches profiles from the targets that are under scrape_configs in FILE") {
		t.Errorf("without a configuration, the targets are: %d %s", code, out)
	}
	folded := filepath.Join(s.dir, "a.folded")
	if err := os.WriteFile(folded, []byte("main 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"":      "a token is needed: send it as Authorization: Bearer TOKEN, or as the password of basic authentication\nhint: put a token into HONE_TOKEN; hone serve token makes one",
		"wrong": "this server does not know the token, or it was revoked\nhint: HONE_TOKEN has a different one; hone serve token --list lists those that are known",
		"write": "the token write does not have the scope read\nhint: hone serve token makes one that may",
		"other": "there is no service service-0\nhint: the store is empty",
		"read":  "step",
	} {
		t.Setenv("HONE_TOKEN", made[name])
		for _, ref := range []string{"store:service-0", s.url + "/store:service-0"} {
			code, out := s.hone("", "top", ref)
			if !strings.Contains(out, want) || (code == 0) != (name == "read") || name != "read" && strings.Contains(out, "service-1") {
				t.Errorf("with the token %q: %d %s\nwant %s", name, code, out, want)
			}
		}
		if code, out := s.hone("", "top", s.url+"/api/v1/profile?ref=service-0&kind=mutex"); (code == 0) != (name == "read") {
			t.Errorf("with the token %q, a profile of one kind is: %d %s", name, code, out)
		}
		if code, out := s.hone("", "push", "--service", "x", "--kind", "cpu", folded); (code == 0) != (name == "write") || strings.Contains(out, `{"error"`) {
			t.Errorf("with the token %q, pushing says: %d %s", name, code, out)
		}
		if _, out := s.hone("", "__complete", "top", "store:"); strings.Contains(out, "service-0") != (name == "read") {
			t.Errorf("with the token %q, what completes is %s", name, out)
		}
	}
	// A token is valid for one server.
	t.Setenv("HONE_STORE", "http://127.0.0.1:1")
	t.Setenv("HONE_TOKEN", made["read"])
	if code, out := s.hone("", "top", s.url+"/store:service-0"); code == 0 || !strings.Contains(out, "hint: the token in HONE_TOKEN is only sent to the address in HONE_STORE") {
		t.Errorf("at another address: %d %s", code, out)
	}
}

// Shells complete refs from the contents of the store, and go on without it when the server is down.
func TestStoreCompletion(t *testing.T) {
	s := serveStore(t, nil)
	for typed, want := range map[string]string{
		"top sto":                                   "store:",
		"top store:":                                "store:service-0 store:service-1",
		"store:service-1":                           "store:service-1 store:service-1@ store:service-1{",
		"diff store:service-0 store:s":              "store:service-0 store:service-1",
		"top --base store:s":                        "store:service-0 store:service-1",
		"list step1 store:s":                        "store:service-0 store:service-1",
		"advise store:s":                            "store:service-0 store:service-1",
		"top store:service-0{":                      "store:service-0{build_id= store:service-0{instance= store:service-0{version=",
		"top store:service-0{version=":              "store:service-0{version=v0} store:service-0{version=v1}",
		"top store:service-0{version!=v":            "store:service-0{version!=v0} store:service-0{version!=v1}",
		`top store:service-0{version="v`:            `store:service-0{version="v0"} store:service-0{version="v1"}`,
		"top store:service-0{version=v0,ver":        "store:service-0{version=v0,version=",
		"top store:service-0{version=~v":            "",
		"top store:service-0@-1":                    "store:service-0@-15m store:service-0@-1h store:service-0@-1d",
		"top store:service-0{version=v0}@y":         "store:service-0{version=v0}@yesterday..today",
		"top " + s.url + "/store:service-":          s.url + "/store:service-0 " + s.url + "/store:service-1",
		"compare store:s":                           "",
		"timeline store:s":                          "",
		"list store:s":                              "",
		"top store:" + strings.Repeat("x{a=\"", 99): "",
	} {
		_, out := s.hone("", append([]string{"__complete"}, strings.Fields(typed)...)...)
		lines, _, _ := strings.Cut(out, "\n:")
		if strings.HasPrefix(out, ":") {
			lines = ""
		}
		if got := strings.Join(strings.Fields(lines), " "); got != want {
			t.Errorf("%s: %s, want %s", typed, got, want)
		}
	}
	t.Setenv("HONE_STORE", "http://127.0.0.1:1")
	if _, out := s.hone("", "__complete", "top", "store:"); !strings.HasPrefix(out, ":") {
		t.Errorf("without a store: %s", out)
	}
	// Completion does not wait for a server that does not answer.
	stop := make(chan bool)
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-stop:
		case <-r.Context().Done():
		}
	}))
	defer slow.Close()
	defer close(stop)
	t.Setenv("HONE_STORE", slow.URL)
	if _, out := s.hone("", "__complete", "top", "store:"); !strings.HasPrefix(out, ":") {
		t.Errorf("with a store that does not answer: %s", out)
	}
}

// TestSilentStore holds that commands which wait for a store end when they are interrupted.
func TestSilentStore(t *testing.T) {
	asked := make(chan bool)
	stop := make(chan bool)
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case asked <- true:
		case <-stop:
		}
		<-stop
	}))
	defer silent.Close()
	defer close(stop)
	t.Setenv("HONE_STORE", silent.URL)
	dir := t.TempDir()
	file := filepath.Join(dir, "p.folded")
	if err := os.WriteFile(file, []byte("main;work 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const link = "/shelf/rjq2vmvkzcqbetwk3l5a"
	for _, args := range [][]string{
		{"top", "store:api@-1h"}, {"advise", "store:api@-1h"}, {"trace", silent.URL + link}, {"gc", silent.URL + link},
		{silent.URL + link}, {"web", "--no-browser", silent.URL + link}, {"merge", "-o", filepath.Join(dir, "new.hone"), "store:api@-1h"}, {"shelf"},
		{"shelf", "rm", silent.URL + link}, {"push", "--service", "api", file}, {"services"}, {"events"},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan int, 1)
		var out bytes.Buffer
		sys := System{In: strings.NewReader(""), Out: &out, Err: &out, Env: func(string) string { return "" }, Dir: dir, Zone: time.UTC}
		go func() { done <- Main(ctx, sys, args) }()
		select {
		case <-asked:
			cancel()
		case code := <-done:
			t.Errorf("hone %q asks nobody: %d; %s", args, code, out.String())
			cancel()
			continue
		}
		if code := <-done; code != exitInterrupted {
			t.Errorf("hone %q: %d when it is interrupted; %s", args, code, out.String())
		}
	}
}

// The next steps that commands print can be pasted into a shell, and work.
func TestStoreNextSteps(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no sh")
	}
	s := serveStore(t, nil)
	steps := regexp.MustCompile(`(?m)(?:^  |: )(hone (?:top|peek|list|flame|tags|diff|web) .*?)(?:  #.*)?$`)
	tried := 0
	for _, args := range [][]string{
		{`store:service-0{version=~"v0|v$1", instance!="a b"}@-1h`}, {`store:service-0{version=~"v."}@-5m`}, {s.url + `/store:service-0{version="v0"}@-5m`}, {"services"},
		{"list", "nothing", `store:service-0{version="v0"}`},
	} {
		_, out := s.hone("", args...)
		if strings.Contains(out, "@-5m: there is no profile") {
			_, out, _ = strings.Cut(out, "hint: ")
		}
		found := steps.FindAllStringSubmatch(out, -1)
		if strings.Contains(out, "hint: hone top ") {
			found = [][]string{{"", strings.TrimSuffix(out[strings.Index(out, "hint: ")+6:], " lists functions\n")}}
		}
		if len(found) == 0 {
			t.Errorf("hone %q has no next step: %s", args, out)
		}
		for _, step := range found {
			words, err := exec.Command("sh", "-c", `set -- `+step[1]+`; for w in "$@"; do printf '%s\0' "$w"; done`).Output()
			if err != nil {
				t.Errorf("%s: %v", step[1], err)
				continue
			}
			line := strings.Split(strings.TrimSuffix(string(words), "\x00"), "\x00")[1:]
			if line[0] == "web" {
				line[0] = "top"
			}
			tried++
			if code, said := s.hone("", line...); code != 0 {
				t.Errorf("%s: %d %s", step[1], code, said)
			}
		}
	}
	if tried < 8 {
		t.Errorf("only %d next steps", tried)
	}
}

// Stores drop addresses, so they have no machine code.
func TestStoreHasNoCode(t *testing.T) {
	s := serveStore(t, nil)
	t.Setenv("HONE_STORE", s.url)
	_, top := s.hone("", "top", "store:service-0", "--csv", "--limit", "1")
	name := regexp.MustCompile(`step\d+`).FindString(top)
	if code, out := s.hone("", "disasm", name, "store:service-0", "--binary", os.Args[0]); code != 1 || !strings.Contains(out, "the profile has no addresses, by which machine code is found\nhint: hone list "+name+" store:service-0 shows") {
		t.Errorf("hone disasm %s: %d %s", name, code, out)
	}
}

// hone services says what is unknown, and what to do when there are no services.
func TestServicesWithoutData(t *testing.T) {
	s := serveStore(t, nil)
	if code, out := s.hone("", "services", "--csv"); code != 0 || !regexp.MustCompile(`(?m)^\d+\.\d+,[^,]*,,,\d+,\d+,\d+,`).MatchString(out) {
		t.Errorf("without heap profiles, there are no bytes: %d %s", code, out)
	}
	if code, out := s.hone("", "services", "--last", "1m"); code != 0 || !strings.Contains(out, "note: there are only profiles of other times; --last 7d shows the last week") {
		t.Errorf("of a minute without profiles: %d %s", code, out)
	}
	folded := filepath.Join(s.dir, "a.folded")
	if err := os.WriteFile(folded, []byte("main 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.hone("", "push", "--service", "timeless", "--kind", "cpu", folded)
	if _, out := s.hone("", "services", "--csv"); !regexp.MustCompile(`(?m)^,,,,,1,1,.*,timeless$`).MatchString(out) {
		t.Errorf("a profile of counts is of a process, and does not say how many cores that took: %s", out)
	}
	tokens, err := token.Open(filepath.Join(t.TempDir(), "tokens.json"))
	if err != nil {
		t.Fatal(err)
	}
	answering := fleet.New(fleet.Options{Store: storetest.NewMemory(), Tokens: tokens})
	empty := httptest.NewServer(answering)
	defer empty.Close()
	t.Setenv("HONE_STORE", empty.URL)
	if code, out := s.hone("", "services"); code != 0 || !strings.Contains(out, "note: the store is empty; hone push and hone serve --config FILE put profiles into it") {
		t.Errorf("of an empty store: %d %s", code, out)
	}
	answering.Fill(true)
	for range 2 { // without profiles, and with one of long ago
		for _, args := range [][]string{{"services"}, {"top", "store:shop"}, {"events", "shop"}} {
			if _, out := s.hone("", args...); !regexp.MustCompile(`(?m)^(note|hint): the demo is still making its profiles; ask again in a minute$`).MatchString(out) {
				t.Errorf("%s of a demo that begins: %s", args[0], out)
			}
		}
		old := storetest.Small()
		old.Start = time.Now().Add(-48 * time.Hour).UTC()
		if _, err := answering.Add(t.Context(), token.DefaultTenant, old.All()); err != nil {
			t.Fatal(err)
		}
	}
}
