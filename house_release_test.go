package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/testrun"
)

// mostBytes is what the released program for linux/amd64 may take: 35.1 MB with Go 1.27, and what a new release of Go may add before somebody looks. About
// half a megabyte of that reads and shows execution traces, three receive, store and ask for profiles of a fleet, its demo among them, and 1.1 read the machine
// code of all architectures of Go. It was 32.9 MB until 2026-11-30. What grew since are features, most of all advise, prove and the reading of
// heaps, and text/template, with which advise parses templates as programs do; docs/decisions/0021-size-and-start.md has how much, and what was cut.
const mostBytes = 35_400_000

// A release is what .goreleaser.yaml says of programs.
type release struct {
	platforms []string // as linux/amd64
	flags     []string // of go build
	env       []string
}

func readRelease(t *testing.T) release {
	t.Helper()
	text, err := os.ReadFile(".goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(text, []byte("goos: [")); n != 1 || bytes.Contains(text, []byte("ignore:")) {
		t.Fatalf(".goreleaser.yaml has %d builds, or leaves platforms out, which this test does not read", n)
	}
	list := func(key string) []string {
		m := regexp.MustCompile(`(?m)^ +` + key + `: \[(.*)\]$`).FindSubmatch(text)
		if m == nil {
			t.Fatalf(".goreleaser.yaml has no %s", key)
		}
		return strings.Split(string(m[1]), ", ")
	}
	flags := slices.DeleteFunc(list("flags"), func(f string) bool { return f == "-buildvcs=true" }) // this need not be a checkout
	r := release{flags: append(flags, "-ldflags="+strings.Join(list("ldflags"), " ")), env: list("env")}
	for _, goos := range list("goos") {
		for _, goarch := range list("goarch") {
			r.platforms = append(r.platforms, goos+"/"+goarch)
		}
	}
	slices.Sort(r.platforms)
	return r
}

// TestReleasePlatforms holds that programs are released for the systems that docs/systems.md names, and that these are tried before.
func TestReleasePlatforms(t *testing.T) {
	released := readRelease(t).platforms
	page, err := os.ReadFile("docs/systems.md")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`have programs for ([^;]+);`).FindSubmatch(page)
	if m == nil {
		t.Fatal("docs/systems.md does not say what releases have programs for")
	}
	named := regexp.MustCompile(`\w+/\w+`).FindAllString(string(m[1]), -1)
	slices.Sort(named)
	if !slices.Equal(named, released) {
		t.Errorf("docs/systems.md names %v, .goreleaser.yaml builds %v", named, released)
	}
	tried := append(firstClass(t), "windows/arm64")
	for _, p := range released {
		if !slices.Contains(tried, p) {
			t.Errorf(".goreleaser.yaml builds %s, which TestPlatforms does not: it has %v", p, tried)
		}
	}
	if !slices.Contains(readRelease(t).env, "CGO_ENABLED=0") {
		t.Error(".goreleaser.yaml builds with cgo")
	}
}

// TestReleaseSize builds hone for linux/amd64 as it is released. What makes it large is mostly code that is linked and never called:
// text/template, whose use keeps every exported method; and sorts of lists of structs, see package order. What a package brings is shown by
// go build -ldflags=-dumpdep and go tool nm -size -sort size.
func TestReleaseSize(t *testing.T) {
	t.Parallel()
	testrun.Nightly(t, "compiles all that hone imports, without cgo and paths")
	r := readRelease(t)
	file := filepath.Join(t.TempDir(), "hone")
	env := slices.Concat(os.Environ(), r.env, []string{"GOOS=linux", "GOARCH=amd64"})
	goCommandWith(t, env, slices.Concat([]string{"build", "-o", file}, r.flags, []string{"."})...)
	info, err := os.Stat(file)
	if err != nil {
		if t.Failed() {
			return
		}
		t.Fatal(err)
	}
	t.Logf("%d bytes", info.Size())
	if info.Size() > mostBytes {
		t.Errorf("the released program takes %d bytes, want %d at most", info.Size(), mostBytes)
	}
	if text, err := os.ReadFile(file); err != nil || bytes.Contains(text, []byte("text/template.(*state).evalField")) {
		t.Errorf("a template is executed, which keeps every exported method: %v", err)
	}
}

// TestWorkflows holds that all tests run each night with the Go versions that build hone, and releases are built with the last of them.
func TestWorkflows(t *testing.T) {
	first := slices.Index(toolchains, builder)
	if first < 0 {
		t.Fatalf("%s is not in %v", builder, toolchains)
	}
	builds := toolchains[first:]
	// The nightly run needs what .ci/run installs: where CI is set, a test fails if its program is missing.
	gate, err := os.ReadFile(filepath.Join(".ci", "run"))
	if err != nil {
		t.Fatal(err)
	}
	nightly := []string{"go: [" + strings.Join(builds, ", ") + "]\n", "run: go test -tags nightly "}
	for _, m := range regexp.MustCompile(`need\+=\(([^)]+)\)`).FindAllStringSubmatch(string(gate), -1) {
		for _, name := range strings.Fields(m[1]) {
			if name == "npm" {
				name = "actions/setup-node@"
			}
			nightly = append(nightly, " "+name)
		}
	}
	for file, wants := range map[string][]string{
		"nightly.yml": nightly,
		"release.yml": {"go-version: " + strings.TrimPrefix(builds[len(builds)-1], "go") + "\n"},
		"ci.yml":      {"run: .ci/run\n"},
	} {
		text, err := os.ReadFile(filepath.Join(".github", "workflows", file))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range wants {
			if !bytes.Contains(text, []byte(want)) {
				t.Errorf("%s has no %q", file, want)
			}
		}
		for _, m := range regexp.MustCompile(`(?m)uses: (\S+)`).FindAllSubmatch(text, -1) {
			if !regexp.MustCompile(`@v\d+\.\d+\.\d+$`).Match(m[1]) {
				t.Errorf("%s uses %s, without its full version", file, m[1])
			}
		}
	}
}
