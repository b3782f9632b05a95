package gosrc

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// resolve fills in what is not set, as the go command would, but without running it.
func (o Options) resolve() Options {
	o.Dir = absolute(cmp.Or(o.Dir, "."))
	if o.Within = cmp.Or(o.Within, os.Getenv(WithinVariable)); o.Within != "" {
		o.Within = absolute(o.Within)
	}
	set := goEnv()
	home, _ := os.UserHomeDir()
	if o.GOROOT == "" {
		o.GOROOT = cmp.Or(set["GOROOT"], goCommandRoot())
	}
	if o.GOMODCACHE == "" {
		gopath := cmp.Or(set["GOPATH"], inHome(home, "go"))
		if first := filepath.SplitList(gopath); len(first) > 0 {
			gopath = filepath.Join(first[0], "pkg", "mod")
		}
		o.GOMODCACHE = cmp.Or(set["GOMODCACHE"], gopath)
	}
	if o.SDK == "" {
		o.SDK = inHome(home, "sdk")
	}
	for _, dir := range []*string{&o.GOROOT, &o.GOMODCACHE, &o.SDK} {
		if *dir != "" {
			*dir = absolute(*dir)
		}
	}
	return o
}

func absolute(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		return abs
	}
	return filepath.Clean(dir)
}

func inHome(home, name string) string {
	if home == "" {
		return ""
	}
	return filepath.Join(home, name)
}

// goEnv returns the variables that say where Go keeps things: from the environment, or else from what go env -w wrote.
func goEnv() map[string]string {
	set := map[string]string{}
	file := os.Getenv("GOENV")
	if dir, err := os.UserConfigDir(); file == "" && err == nil {
		file = filepath.Join(dir, "go", "env")
	}
	if text, err := readFile(file); err == nil && file != "off" {
		for line := range strings.Lines(text) {
			if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
				set[key] = value
			}
		}
	}
	for _, key := range []string{"GOROOT", "GOPATH", "GOMODCACHE"} {
		if value := os.Getenv(key); value != "" {
			set[key] = value
		}
	}
	return set
}

// goCommandRoot returns the installation of the go command, or "".
func goCommandRoot() string {
	name, err := exec.LookPath("go")
	if err != nil {
		return ""
	}
	if name, err = filepath.EvalSymlinks(name); err != nil {
		return ""
	}
	root := filepath.Dir(filepath.Dir(name))
	if _, err := os.Stat(filepath.Join(root, "src", "runtime")); err != nil || filepath.Base(name) != "go"+exeSuffix() {
		return ""
	}
	return root
}

func exeSuffix() string {
	if runtime.GOOS == "windows" {
		return ".exe"
	}
	return ""
}
