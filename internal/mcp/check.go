package mcp

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/hone-perf/hone/internal/git"
	"github.com/hone-perf/hone/internal/query"
)

// Callers are programs that read what strangers wrote: a text in a source file may ask them to do something. So what they name is in the folder,
// or on this machine, and no value becomes a flag.

// maxValue is how long one value may be.
const maxValue = 4096

// plain refuses what cannot be meant.
func plain(text string) error {
	switch {
	case len(text) > maxValue:
		return fmt.Errorf("it has %d bytes; the limit is %d", len(text), maxValue)
	case !utf8.ValidString(text):
		return errors.New("it is not UTF-8")
	case strings.ContainsAny(text, "\x00\n\r"):
		return errors.New("it has control characters")
	}
	return nil
}

// word refuses what could be taken for a flag where it is an argument.
func word(text string) error {
	if err := plain(text); err != nil {
		return err
	}
	if text == "" {
		return errors.New("it is empty")
	}
	if strings.HasPrefix(text, "-") {
		return fmt.Errorf("%q: want something that does not begin with -", clip(text))
	}
	return nil
}

// clip shortens what goes into an error.
func clip(text string) string {
	if r := []rune(text); len(r) > 80 {
		return string(r[:80]) + "…"
	}
	return text
}

// inside returns the name of a file in the folder, as it is seen from there. The file need not be there yet, but its folder has to.
func (s *server) inside(name string) (string, error) {
	if err := word(name); err != nil {
		return "", err
	}
	root, err := filepath.EvalSymlinks(s.Folder)
	if err != nil {
		return "", err
	}
	whole := name
	if !filepath.IsAbs(whole) {
		whole = filepath.Join(root, whole)
	}
	real, err := filepath.EvalSymlinks(whole)
	if errors.Is(err, os.ErrNotExist) {
		var dir string
		if dir, err = filepath.EvalSymlinks(filepath.Dir(whole)); err == nil {
			real = filepath.Join(dir, filepath.Base(whole))
			if _, link := os.Lstat(real); link == nil {
				return "", fmt.Errorf("%s leads nowhere", clip(name)) // a link to what is not there yet
			}
		}
	}
	if errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("there is no %s in the folder %s", clip(name), s.Folder)
	}
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(root, real)
	if err != nil || rel != "." && !filepath.IsLocal(rel) {
		return "", fmt.Errorf("%s is outside the folder %s, in which hone mcp was started", clip(name), s.Folder)
	}
	return filepath.ToSlash(rel), nil
}

// there reports whether there is a file in the folder.
func (s *server) there(name string) bool {
	_, err := os.Stat(filepath.Join(s.Folder, filepath.FromSlash(name)))
	return err == nil
}

// moment is a part of the time of a recording behind its name.
var moment = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(.+\.hone)(@[0-9a-zµ.]+)$`) })

// ref checks what to look at: a file in the folder, a server of this machine, or a store.
func (s *server) ref(text string) (string, error) {
	if err := word(text); err != nil {
		return "", err
	}
	if strings.HasPrefix(text, "store:") {
		return text, nil // the user has said which store this is when the server was started
	}
	if s.leads(text) {
		return s.file(text)
	}
	if scheme, _, ok := strings.Cut(text, "://"); ok {
		u, err := url.Parse(text)
		if err != nil || u.Host == "" || scheme != "http" && scheme != "https" {
			return "", fmt.Errorf("%q is no URL that hone reads", clip(text))
		}
		if own, err := url.Parse(s.Store); err == nil && own.Host != "" && u.Scheme == own.Scheme && u.Host == own.Host && u.User == nil {
			return text, nil // a link to its shelf
		}
		return text, s.host(u.Hostname())
	}
	if host, _, err := net.SplitHostPort(first(text, "/")); err == nil {
		return text, s.host(host)
	}
	return s.file(text)
}

// leads reports whether a text leads into the folder. hone opens a file where there is one, so a folder called localhost:1 makes a path of
// what looks like an address, and localhost:1/../../x is a file somewhere else.
func (s *server) leads(text string) bool {
	_, err := os.Lstat(filepath.Join(s.Folder, filepath.FromSlash(first(text, "/"))))
	return err == nil || s.there(text)
}

// file checks the name of a recording or profile, and of a part of its time.
func (s *server) file(text string) (string, error) {
	name, when := text, ""
	if m := moment().FindStringSubmatch(text); m != nil && !s.there(text) {
		name, when = m[1], m[2]
	}
	if s.kept(name) {
		return name + when, nil
	}
	file, err := s.inside(name)
	if err == nil && !s.there(file) {
		err = fmt.Errorf("there is no %s in the folder %s%s", clip(name), s.Folder, s.instead(name))
	}
	return file + when, err
}

// keep remembers a recording that a call made, and reports whether it is one of those that hone keeps.
func (s *server) keep(file string) bool {
	real, err := filepath.EvalSymlinks(file)
	if err != nil || file == "" || filepath.Ext(real) != ".hone" {
		return false
	}
	runs, err := filepath.EvalSymlinks(s.Runs)
	if err != nil || filepath.Dir(real) != runs {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made[file] = true
	return true
}

// kept reports whether a call of this server made a recording. Others that hone keeps may be of other folders.
func (s *server) kept(file string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.made[file]
}

// mostNames is how many recordings an error names.
const mostNames = 5

// instead says what may have been meant by the name of a file that is not there.
func (s *server) instead(name string) string {
	if _, err := netip.ParseAddr(name); err == nil || name == "localhost" {
		return "; the address of a server has its port, such as " + name + ":6060"
	}
	files, err := filepath.Glob(filepath.Join(s.Folder, "*.hone"))
	if err != nil || len(files) == 0 {
		return "; the tool record makes a recording"
	}
	written := func(file string) time.Time {
		st, err := os.Stat(file)
		if err != nil {
			return time.Time{} // it has gone meanwhile
		}
		return st.ModTime()
	}
	slices.SortStableFunc(files, func(a, b string) int { return written(b).Compare(written(a)) })
	for i, f := range files {
		files[i] = filepath.Base(f)
	}
	if near := query.Nearest(name, files); near != "" {
		return "; did you mean " + near + "?"
	}
	return "; its newest recordings are " + strings.Join(files[:min(mostNames, len(files))], ", ")
}

func first(text, sep string) string {
	before, _, _ := strings.Cut(text, sep)
	return before
}

// host refuses to ask other machines.
func (s *server) host(name string) error {
	if s.Network || name == "" || name == "localhost" {
		return nil
	}
	if ip, err := netip.ParseAddr(name); err == nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("%s is another machine; hone mcp --network lets tools ask other machines", clip(name))
}

// pattern checks packages: those of the module in the folder, by their folders.
func (s *server) pattern(text string) (string, error) {
	if err := word(text); err != nil {
		return "", err
	}
	dir, all := strings.CutSuffix(text, "/...")
	if dir != "." && !strings.HasPrefix(dir, "./") {
		return "", fmt.Errorf("%q: want packages of this folder, such as ./... or ./cmd/app", clip(text))
	}
	name, err := s.inside(dir)
	if err != nil {
		return "", err
	}
	if !s.there(name) {
		return "", fmt.Errorf("there is no %s in the folder %s", clip(dir), s.Folder)
	}
	if name != "." {
		name = "./" + name
	}
	if all {
		name += "/..."
	}
	return name, nil
}

// A revision of git, or two; hone looks for a file or folder of that name as well.
var revision = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_./~^@{}+-]*$`) })

// version checks what a change is compared with: a revision, two of them, or a patch or folder in this folder.
func (s *server) version(text string) (string, error) {
	if err := word(text); err != nil {
		return "", err
	}
	if name, err := s.inside(text); err == nil && s.there(name) {
		return name, nil
	}
	if !revision().MatchString(text) || strings.Contains(text, "../") || strings.HasSuffix(text, "/..") {
		return "", fmt.Errorf("%q: want a revision of git, two of them as A..B, or what is in this folder", clip(text))
	}
	return text, nil
}

// names checks that a revision to measure names a commit. hone compare would take what names none for a package.
func (s *server) names(base string) error {
	in := git.Command{Dir: s.Folder}
	if _, err := in.Line(s.life, "rev-parse", "--git-dir"); err != nil || strings.Contains(base, "..") || s.there(base) {
		return nil // the command says what is wrong
	}
	if _, err := in.Line(s.life, "rev-parse", "--verify", "--quiet", "--end-of-options", base+"^{commit}"); err != nil {
		return fmt.Errorf("%s names no commit; git log --oneline and git branch list revisions", clip(base))
	}
	return nil
}

// place checks a line or a function: FILE:LINE or a name.
func (s *server) place(text string) (string, error) {
	if err := word(text); err != nil {
		return "", err
	}
	// The command takes what is behind the last colon for the line, and all before it for the file.
	if at := strings.LastIndexByte(text, ':'); at >= 0 {
		name, err := s.inside(text[:at])
		return name + text[at:], err
	}
	return text, nil
}
