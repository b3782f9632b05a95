package gosrc

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/hone-perf/hone/internal/filename"
)

// standard finds files of the standard library and of the go command, in a Go installation of the version that built
// the program. In one of another version lines have moved, so there the function decides.
func (s *search) standard() bool {
	const how = "GOROOT"
	rel, sure := s.standardFile()
	if rel == "" {
		return false
	}
	want := s.goVersion()
	roots := s.roots(want)
	for _, root := range roots {
		have := rootVersion(root)
		if have == "" {
			continue
		}
		file := filepath.Join(root, "src", filepath.FromSlash(rel))
		c := candidate{path: file, how: how, exact: have == want && sure, guess: have != want || !sure}
		switch {
		case want == "":
			c.notes = []string{"the profile does not name the Go version of the program; this file is from " + have}
		case have != want:
			c.notes = []string{"the program was built with " + want + "; this file is of " + have + ", so lines may differ"}
		}
		if s.try(c) {
			return true
		}
	}
	if plainVersion().MatchString(want) {
		s.next = "GOTOOLCHAIN=" + want + " go version brings its files"
	}
	if len(roots) == 0 {
		s.failed(how, "no Go installation is known")
	}
	return false
}

// goFolder is the folder above src of a Go installation: go, go1.22.3, go-1.22, toolchain@v0.0.1-go1.22.3.linux-amd64,
// and goroot where hone record links to one of these.
var goFolder = pattern(`^(go|golang|goroot)([-_]?[0-9].*)?$|^toolchain@v0\.0\.1-go`)

// standardFile returns the place below GOROOT/src of the recorded file, or "" if it is none of there. Unless it is sure, that
// the folder is called src is all that speaks for it.
func (s *search) standardFile() (rel string, sure bool) {
	std := func(rel string) bool {
		first, _, found := strings.Cut(rel, "/")
		return found && !strings.Contains(first, ".") && filepath.IsLocal(rel)
	}
	if !filename.IsAbs(s.name) {
		if std(s.name) {
			return s.name, true
		}
		return "", false
	}
	// Wherever Go was installed, the package tells: crypto/tls in …/src/crypto/tls.
	pkg := strings.TrimSuffix(s.sym.pkg, "_test")
	if pkg != "" && std(pkg+"/") && strings.HasSuffix(path.Dir(s.name), "/src/"+pkg) {
		return pkg + "/" + baseName(s.name), true
	}
	elems := strings.Split(s.name, "/")
	for i := 1; i+2 < len(elems); i++ {
		if elems[i] != "src" {
			continue
		}
		below := strings.Join(elems[i+1:], "/")
		if !std(below) {
			continue
		}
		if goFolder().MatchString(elems[i-1]) {
			return below, true
		}
		if s.sym.pkg == noPackage && rel == "" {
			rel = below
		}
	}
	return rel, false
}

// inName finds a version in a recorded name: sdk/go1.22.3/src, golang.org/toolchain@v0.0.1-go1.22.3.linux-amd64/src.
var inName = pattern(versioned + `/src/`)

const versioned = `/(?:toolchain@v0\.0\.1-)?` +
	`(go[0-9]+\.[0-9]+(?:\.[0-9]+)?(?:(?:rc|beta)[0-9]+)?)(?:\.[a-z0-9]+-[a-z0-9]+)?`

// ofTool is inName for the programs that are part of Go: sdk/go1.22.3/bin/gofmt, …/pkg/tool/linux_amd64/compile.
var ofTool = pattern(versioned + `/(?:bin|pkg/tool/[a-z0-9]+_[a-z0-9]+)/[^/]+$`)

// VersionOfTool returns the version of Go that a program is part of, by its path with slashes, or "".
func VersionOfTool(program string) string {
	if m := ofTool().FindStringSubmatch(program); m != nil {
		return m[1]
	}
	return ""
}

// goVersion returns the version of Go that built the program, in the form go1.22.3, or "".
func (s *search) goVersion() string {
	if fields := strings.Fields(s.opt.GoVersion); len(fields) > 0 && fields[0] != "devel" {
		return fields[0] // experiments follow: go1.22.3 X:rangefunc
	}
	if m := inName().FindStringSubmatch(s.name); m != nil {
		return m[1]
	}
	return ""
}

// plainVersion is one that may be part of a folder's name.
var plainVersion = pattern(`^go[0-9][0-9a-zA-Z.-]*$`)

// roots returns the Go installations to look into, those of the wanted version first.
func (s *search) roots(want string) []string {
	var all []string
	if plainVersion().MatchString(want) {
		if s.opt.SDK != "" {
			all = append(all, filepath.Join(s.opt.SDK, want))
		}
		// Toolchains that the go command fetched: one for each platform, with the same source.
		if dirs, err := filepath.Glob(filepath.Join(globQuote(s.opt.GOMODCACHE), "golang.org", "toolchain@v0.0.1-"+want+".*")); err == nil {
			all = append(all, dirs...)
		}
	}
	var right, other []string
	if s.opt.GOROOT != "" {
		if rootVersion(s.opt.GOROOT) == want {
			right = append(right, s.opt.GOROOT)
		} else {
			other = append(other, s.opt.GOROOT)
		}
	}
	for _, root := range all {
		if rootVersion(root) == want {
			right = append(right, root)
		}
	}
	return append(right, other...)
}

// globQuote makes a pattern that matches only dir.
func globQuote(dir string) string {
	if filepath.Separator == '\\' {
		return dir // there the backslash quotes nothing, and brackets are seldom in names
	}
	return globChars().ReplaceAllString(dir, `\$0`)
}

var globChars = pattern(`[\\*?\[]`)

// rootVersion returns the version of a Go installation, or "" if it is none.
func rootVersion(root string) string {
	text, err := readFile(filepath.Join(root, "VERSION"))
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(text, "\n")
	if line = strings.TrimSpace(line); strings.HasPrefix(line, "go") || strings.HasPrefix(line, "devel") {
		return line
	}
	return ""
}

// rootOf returns the Go installation that a file on disk is in, and its version, or "".
func rootOf(name string) (root, version string) {
	for dir := filepath.Dir(name); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if filepath.Base(dir) == "src" {
			if v := rootVersion(filepath.Dir(dir)); v != "" {
				return filepath.Dir(dir), v
			}
		}
	}
	return "", ""
}
