package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/mod/modfile"
	"golang.org/x/tools/go/packages"

	"github.com/hone-perf/hone/internal/git"
	"github.com/hone-perf/hone/internal/testrun"
)

const modulePath = "github.com/hone-perf/hone"

// TestRooms holds the list of rooms in docs/architecture.md: imports point only towards its top.
func TestRooms(t *testing.T) {
	page, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	var rooms []string
	for _, m := range regexp.MustCompile(`(?m)^    (?:\w+ +| {12})(\w+) {2,}\S`).FindAllSubmatch(page, -1) {
		rooms = append(rooms, string(m[1]))
	}
	// roomOf returns the place of a package in the list, or -1 when it is in no room.
	roomOf := func(pkg string) int {
		rest, ok := strings.CutPrefix(pkg, modulePath+"/internal/")
		if !ok {
			return -1
		}
		name, _, _ := strings.Cut(rest, "/")
		i := slices.Index(rooms, name)
		if i < 0 {
			t.Fatalf("room %q is not in the list of docs/architecture.md, which has %v", name, rooms)
		}
		return i
	}
	out := goCommand(t, "list", "-json=ImportPath,Imports,TestImports,XTestImports", "./...")
	lived := make([]bool, len(rooms))
	for dec := json.NewDecoder(strings.NewReader(out)); ; {
		var pkg struct {
			ImportPath                         string
			Imports, TestImports, XTestImports []string
		}
		if err := dec.Decode(&pkg); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		from := roomOf(pkg.ImportPath)
		if from < 0 {
			continue
		}
		lived[from] = true
		for _, imp := range slices.Concat(pkg.Imports, pkg.TestImports, pkg.XTestImports) {
			if to := roomOf(imp); to > from {
				t.Errorf("%s imports %s, which is further down", pkg.ImportPath, imp)
			}
		}
	}
	for i, room := range rooms {
		if !lived[i] {
			t.Errorf("room %s of docs/architecture.md has no package", room)
		}
	}
}

// TestOneWayToRunGit holds that what git runs with is decided in one place.
func TestOneWayToRunGit(t *testing.T) {
	runs := regexp.MustCompile(`exec\.Command(Context)?\([^)]*"git"`)
	for _, name := range trackedFiles(t) {
		if filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "internal/git/") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if runs.Match(text) {
			t.Errorf("%s runs git; internal/git is for that", name)
		}
	}
}

// TestOneWayToLoad holds that packages are loaded in one way, which knows what flags and which Go users have.
func TestOneWayToLoad(t *testing.T) {
	for _, name := range trackedFiles(t) {
		if filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "internal/gotypes/") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text, []byte("packages.Load(")) {
			t.Errorf("%s loads packages; internal/gotypes is for that", name)
		}
	}
}

// TestOneWayToOpen holds that fronts get what users name from internal/open. What hone pprof fetches, and says meanwhile, is as in go tool pprof.
func TestOneWayToOpen(t *testing.T) {
	opens := regexp.MustCompile(`source\.(Recording|Bench)\(|\.(Gather|Fetch|Expand)\(ctx`)
	for _, name := range trackedFiles(t) {
		room, _, _ := strings.Cut(strings.TrimPrefix(name, "internal/"), "/")
		front := strings.HasPrefix(name, "internal/") && slices.Contains(append(fronts, "fleet"), room) && !strings.HasPrefix(name, "internal/compat/pprof/")
		if !front || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if m := opens.Find(text); m != nil {
			t.Errorf("%s has %s; internal/open is for that", name, m)
		}
	}
}

// TestViewsOpenNothing holds that views read no file, neither one of the system nor one in a recording.
func TestViewsOpenNothing(t *testing.T) {
	opens := regexp.MustCompile(`\bos\.(Open|ReadFile|Stat)|\.(Pick|OpenFile|File)\(|\.Open\([^)]`)
	for _, name := range trackedFiles(t) {
		if !strings.HasPrefix(name, "internal/view/") || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range opens.FindAllString(string(text), -1) {
			t.Errorf("%s has %s", name, m)
		}
	}
}

// TestNothingIsLeftOver holds that no recording is checked in, but for small ones of the guides, and no picture that no page shows.
func TestNothingIsLeftOver(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)|(?:src|srcset)="([^"\s]+)"`)
	shown := make(map[string]string) // pictures, and a page that shows each
	recordings := int64(0)
	files := trackedFiles(t)
	for _, name := range files {
		if filepath.Ext(name) != ".md" {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if to := m[1] + m[2]; isPicture(to) && !strings.Contains(to, "://") {
				shown[path.Join(path.Dir(name), to)] = name
			}
		}
	}
	for _, name := range files {
		switch {
		case filepath.Ext(name) == ".hone" && strings.HasPrefix(name, "testdata/docs/"):
			info, err := os.Stat(name)
			if err != nil {
				t.Fatal(err)
			}
			if recordings += info.Size(); info.Size() == 0 {
				t.Errorf("%s is empty: UPDATE=1 go test -tags nightly -run TestDocs . makes it", name)
			}
		case filepath.Ext(name) == ".hone":
			t.Errorf("%s is a recording, which is not to be checked in", name)
		case isPicture(name) && strings.HasPrefix(name, "docs/") && shown[name] == "":
			t.Errorf("%s is a picture that no page shows", name)
		}
	}
	for name, page := range shown {
		if !slices.Contains(files, name) {
			t.Errorf("%s shows %s, which is not checked in", page, name)
		}
	}
	if most := int64(1 << 20); recordings > most {
		t.Errorf("the recordings of the guides are %d bytes; want no more than %d", recordings, most)
	}
	ignored, err := os.ReadFile(".gitignore")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(strings.Fields(string(ignored)), "*.hone") {
		t.Error(".gitignore does not have *.hone")
	}
}

func isPicture(name string) bool {
	return slices.Contains([]string{".png", ".svg", ".jpg", ".jpeg", ".gif", ".webp"}, path.Ext(name))
}

// trackedFiles lists the files that are in git, with slashes.
func trackedFiles(t *testing.T) []string {
	t.Helper()
	list, err := git.Command{}.Run(t.Context(), "ls-files", "-z")
	if err != nil {
		testrun.Missing(t, "this is not a checkout of git: %v", err)
	}
	files := strings.Split(strings.TrimSuffix(string(list), "\x00"), "\x00")
	return slices.DeleteFunc(files, func(name string) bool {
		_, err := os.Stat(name)
		return errors.Is(err, fs.ErrNotExist) // removed, and not yet committed
	})
}

// TestMainIsSmall holds that whatever can be tested is not in main.go.
func TestMainIsSmall(t *testing.T) {
	b, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(b, []byte("\n")); n > 20 {
		t.Errorf("main.go has %d lines; want 20 at most", n)
	}
}

// TestFormat holds that all Go files are as gofmt writes them.
func TestFormat(t *testing.T) {
	files := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == ".git" {
			return fs.SkipDir
		}
		if d.IsDir() || filepath.Ext(path) != ".go" {
			return nil
		}
		files++
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		want, err := format.Source(src)
		if err != nil {
			t.Errorf("%s: %v", path, err)
		} else if !bytes.Equal(src, want) {
			t.Errorf("%s is not as gofmt writes it", path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files == 0 {
		t.Error("there are no Go files")
	}
}

// TestVet vets the packages with the tags of this run, for which they are compiled already. Vetting what they import takes most of the time, a
// quarter less where the processes, of which there is one for each package, collect less garbage.
func TestVet(t *testing.T) {
	t.Parallel()
	long(t)
	goCommandWith(t, append(os.Environ(), "GOGC=400"), "vet", "-tags="+testrun.Tag, "./...")
}

// TestTidy holds that go.mod and go.sum have what is needed and no more.
func TestTidy(t *testing.T) {
	goCommand(t, "mod", "tidy", "-diff")
}

// TestDependencies holds that every module hone asks for has its reason.
func TestDependencies(t *testing.T) {
	const reasons = "docs/decisions/0002-dependencies.md"
	page, err := os.ReadFile(reasons)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := modfile.Parse("go.mod", b, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range mod.Require {
		if !r.Indirect && !bytes.Contains(page, []byte(r.Mod.Path)) {
			t.Errorf("%s has no reason in %s", r.Mod.Path, reasons)
		}
	}
}

// ofTests are packages that tests may import, but not the program, with those below them: each would make the program larger and its start slower.
// encoding/gob registers its types at each start, for which the runtime lists all types of the program.
var ofTests = []string{
	"encoding/gob",
	"github.com/ClickHouse/clickhouse-go",
	"github.com/chromedp",
	"github.com/google/jsonschema-go",
	"github.com/google/pprof",
	"github.com/modelcontextprotocol/go-sdk",
	"github.com/owenrumney/go-sarif",
	"github.com/parquet-go/parquet-go",
	"github.com/santhosh-tekuri/jsonschema",
}

// TestDependenciesOfProgram holds that the program has none of these.
func TestDependenciesOfProgram(t *testing.T) {
	t.Parallel()
	for pkg := range strings.Lines(goCommand(t, "list", "-deps", ".")) {
		pkg = strings.TrimSpace(pkg)
		for _, no := range ofTests {
			if pkg == no || strings.HasPrefix(pkg, no+"/") {
				t.Errorf("hone links %s", pkg)
			}
		}
	}
}

// TestStaticcheck runs staticcheck. It has a go.mod of its own, so that those who use hone do not depend on it.
func TestStaticcheck(t *testing.T) {
	t.Parallel()
	testrun.Nightly(t, "takes more than a minute when the cache has nothing")
	goCommand(t, "tool", "-modfile=tools/lint/go.mod", "staticcheck", "./...")
}

// TestPlatforms holds that all of this repository, its tests and tools too, compiles without cgo for the first-class ports of Go and for
// Windows on arm64. A nightly run builds hone for the last of these, which differs much from where most people work, and vets everything for
// all of them, for which it compiles what they import once for each. Others check types alone, for one of them, which takes seconds and finds
// what does not compile. TestReleaseSize builds hone for Linux without a C compiler.
func TestPlatforms(t *testing.T) {
	t.Parallel()
	long(t)
	const far, other = "windows/arm64", "windows/386" // another system, and another size of int
	parsed := newParsed()
	for _, platform := range append(firstClass(t), far) {
		t.Run(platform, func(t *testing.T) {
			if !testrun.InNightly() && platform != other {
				testrun.Nightly(t, "compiles and vets all packages")
			}
			goos, goarch, _ := strings.Cut(platform, "/")
			env := append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch)
			if !testrun.InNightly() {
				testrun.Left(t, t.Name(), "compiles and vets all packages, of which others check the types")
				for _, dir := range modules(t) {
					parsed.check(t, dir, env)
				}
				return
			}
			if platform == far {
				goCommandWith(t, env, "build", "-o", filepath.Join(t.TempDir(), "hone"), ".")
			}
			for _, dir := range modules(t) {
				goCommandWith(t, env, "-C", dir, "vet", "./...")
			}
		})
	}
}

// parsed has the files that were parsed for one platform, for the next.
type parsed struct {
	set   *token.FileSet
	mu    sync.Mutex
	files map[string]func() (*ast.File, error)
}

func newParsed() *parsed {
	return &parsed{set: token.NewFileSet(), files: map[string]func() (*ast.File, error){}}
}

// check type-checks all packages of a module, and their tests.
func (p *parsed) check(t *testing.T, dir string, env []string) {
	here, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	pkgs, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps | packages.NeedTypes |
			packages.NeedSyntax | packages.NeedTypesSizes | packages.NeedModule,
		Dir: dir, Env: env, Tests: true, Fset: p.set, Context: t.Context(),
		ParseFile: func(set *token.FileSet, name string, src []byte) (*ast.File, error) {
			p.mu.Lock()
			parse := p.files[name]
			if parse == nil {
				parse = sync.OnceValues(func() (*ast.File, error) {
					f, err := parser.ParseFile(set, name, src, parser.SkipObjectResolution)
					if f != nil && path.Ext(name) == ".go" && !strings.HasPrefix(name, here+string(filepath.Separator)) { // not a main package of tests
						for _, d := range f.Decls { // what others wrote compiles
							if fn, ok := d.(*ast.FuncDecl); ok {
								fn.Body = nil
							}
						}
					}
					return f, err
				})
				p.files[name] = parse
			}
			p.mu.Unlock()
			return parse()
		},
	}, "./...")
	if err != nil {
		t.Fatal(err)
	}
	if len(pkgs) == 0 {
		t.Errorf("%s has no packages", dir)
	}
	packages.Visit(pkgs, nil, func(pkg *packages.Package) {
		if pkg.Module == nil || !pkg.Module.Main {
			return
		}
		for _, err := range pkg.Errors {
			t.Errorf("%s: %v", pkg.ID, err)
		}
	})
}

// firstClass returns the ports that Go says are first class: linux/amd64 and the like.
func firstClass(t *testing.T) (ports []string) {
	var list []struct {
		GOOS, GOARCH string
		FirstClass   bool
	}
	if err := json.Unmarshal([]byte(goCommand(t, "tool", "dist", "list", "-json")), &list); err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		if p.FirstClass {
			ports = append(ports, p.GOOS+"/"+p.GOARCH)
		}
	}
	if len(ports) < 6 {
		t.Fatalf("only %q are first class", ports)
	}
	return ports
}

// modules returns the folders of the modules of this repository that have Go files.
func modules(t *testing.T) (dirs []string) {
	files := trackedFiles(t)
	for _, name := range files {
		dir := path.Dir(name)
		if path.Base(name) == "go.mod" && !strings.Contains(name, "testdata") && !strings.HasPrefix(name, "examples/") &&
			slices.ContainsFunc(files, func(f string) bool { return path.Dir(f) == dir && path.Ext(f) == ".go" }) {
			dirs = append(dirs, dir)
		}
	}
	if !slices.Contains(dirs, ".") || !slices.Contains(dirs, "tools/web") {
		t.Fatalf("the modules are %q", dirs)
	}
	return dirs
}

// long leaves a test out of a short run.
func long(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a while")
	}
}

// goCommand runs the go command, which has to succeed, and returns what it prints.
//
// A test is skipped where the go command or a module is not to be had: without a network not everything can be checked.
// In CI there is one.
func goCommand(t *testing.T, args ...string) string {
	t.Helper()
	return goCommandWith(t, nil, args...)
}

func goCommandWith(t *testing.T, env []string, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Env = env
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	switch {
	case errors.Is(err, exec.ErrNotFound):
		testrun.Missing(t, "there is no go command")
	case err != nil && noNetwork.Match(stderr.Bytes()):
		testrun.Missing(t, "go %s: a module is missing, and there is no network:\n%s", strings.Join(args, " "), &stderr)
	case err != nil:
		t.Errorf("go %s: %v\n%s%s", strings.Join(args, " "), err, &stdout, &stderr)
	}
	return stdout.String()
}

// noNetwork matches what the go command says when it cannot download.
var noNetwork = regexp.MustCompile(`dial tcp|no such host|module lookup disabled by GOPROXY=off`)
