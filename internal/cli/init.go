package cli

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hone-perf/hone/internal/git"
	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/query"
)

//go:embed ci.yml
var ciWorkflow string

const initHelp = `Write a GitHub Actions workflow that compares the benchmarks of each pull request with
those of its base branch. It adds the report to the pull request, and fails when something
is slower, or when that is undecided. You can edit the file.

It is for the module of the current folder. In a folder of no module, such as the top of a
repository with several, it compares each module below that has benchmarks, in a job of its own.`

func initCommand(sys *System) *cobra.Command {
	cmd := &cobra.Command{
		Use:       "init ci",
		Short:     "Write a CI workflow that compares every pull request",
		Long:      initHelp,
		Example:   "  hone init ci\n  hone init ci -o .github/workflows/perf.yml",
		GroupID:   groupProve,
		ValidArgs: []string{"ci"},
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 || args[0] != "ci" {
			if len(args) == 1 && query.Nearest(args[0], cmd.ValidArgs) != "" {
				return usagef("did you mean ci?", "init does not know %s", quoted(args[0]))
			}
			return usagef("for example: hone init ci", "init can write only one thing: ci")
		}
		file, _ := cmd.Flags().GetString("output")
		place, err := whereCI(cmd.Context(), sys.Dir)
		if err != nil {
			return err
		}
		if file == "" {
			file = filepath.Join(place.top, ".github", "workflows", "hone.yml")
			if !place.inGit {
				note(sys, "this folder is in no git repository; GitHub reads workflows only from .github/workflows at the top of one")
			}
		}
		if !filepath.IsAbs(file) {
			file = filepath.Join(sys.Dir, file)
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, fs.ErrExist) {
			return withHint(fmt.Errorf("%s: file already exists", file), "choose another name with -o, or remove the file")
		}
		if err != nil {
			return err
		}
		_, err = f.WriteString(place.workflow())
		if err := errors.Join(err, f.Close()); err != nil {
			os.Remove(file)
			return err
		}
		fmt.Fprintf(sys.Out, "wrote %s: commit it, and every pull request is compared\n", file)
		return nil
	}
	return cmd
}

// A ciPlace is what a workflow compares, and where it belongs. Paths are in the repository, with slashes.
type ciPlace struct {
	top     string   // of the repository; where there is none, the module or the current folder
	inGit   bool     // there is a repository
	modules []string // "." is the top
	work    string   // go.work; "" is none
}

// whereCI looks up from dir for the top of the repository, as GitHub reads workflows only there, and for the module. In a folder of no module, these
// are the modules below it. git is not asked: it may not be installed, or refuse a repository of another user.
func whereCI(ctx context.Context, dir string) (p ciPlace, err error) {
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return p, err
	}
	p.top, p.inGit = topOf(dir, ".git")
	module, inModule := topOf(dir, "go.mod")
	if !p.inGit {
		p.top = cmp.Or(module, dir)
	}
	if work, ok := topOf(dir, "go.work"); ok {
		if rel, err := filepath.Rel(p.top, filepath.Join(work, "go.work")); err == nil && filepath.IsLocal(rel) && !isIgnored(ctx, p.top, rel) {
			p.work = filepath.ToSlash(rel)
		}
	}
	if rel, err := filepath.Rel(p.top, module); inModule && err == nil && filepath.IsLocal(rel) {
		p.modules = []string{filepath.ToSlash(rel)}
		return p, nil
	}
	var measured []string
	for _, below := range gocmd.ModulesBelow(dir) {
		at := filepath.Join(dir, filepath.FromSlash(below))
		rel, err := filepath.Rel(p.top, at)
		if err != nil {
			return p, err
		}
		p.modules = append(p.modules, filepath.ToSlash(rel))
		if has, err := hasBenchmarks(at); err != nil {
			return p, err
		} else if has {
			measured = append(measured, filepath.ToSlash(rel))
		}
	}
	if len(p.modules) == 0 {
		return p, gocmd.NoModule(dir)
	}
	if len(measured) > 0 { // hone compare fails where there is nothing to run
		p.modules = measured
	}
	return p, nil
}

// topOf returns the nearest folder with a file or folder of a name, from dir upward.
func topOf(dir, name string) (string, bool) {
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return dir, true
		}
		if dir == filepath.Dir(dir) {
			return "", false
		}
	}
}

// isIgnored reports whether git ignores a file, as many do with their go.work: then CI has none.
func isIgnored(ctx context.Context, top, name string) bool {
	_, err := git.Command{Dir: top}.Run(ctx, "check-ignore", "--quiet", "--", name)
	return err == nil
}

// hasBenchmarks reports whether a file in a module declares a benchmark.
func hasBenchmarks(module string) (has bool, err error) {
	err = filepath.WalkDir(module, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			_, err := os.Stat(filepath.Join(path, "go.mod"))
			if name := d.Name(); path != module && (err == nil || name[0] == '.' || name[0] == '_' || name == "testdata" || name == "vendor") {
				return fs.SkipDir
			}
			return nil
		case !strings.HasSuffix(path, "_test.go") || !d.Type().IsRegular():
			return nil
		}
		text, err := os.ReadFile(path)
		if has = bytes.Contains(text, []byte("\nfunc Benchmark")); has {
			return fs.SkipAll
		}
		return err
	})
	return has, err
}

// workflow returns the CI workflow. Several modules are compared in a job each.
func (p ciPlace) workflow() string {
	text := strings.Replace(ciWorkflow, "VERSION", moduleVersion(), 1)
	before := func(mark, more string) { text = strings.Replace(text, mark, more+mark, 1) }
	const steps = "    steps:\n"
	module, version := p.modules[0], path.Join(p.modules[0], "go.mod")
	if len(p.modules) > 1 {
		var list []string
		for _, m := range p.modules {
			list = append(list, "          - "+strconv.Quote(m)+"\n")
		}
		before(steps, "    strategy:\n      fail-fast: false\n      matrix:\n        module:\n"+strings.Join(list, ""))
		module, version = "${{ matrix.module }}", "${{ matrix.module }}/go.mod"
	}
	if module != "." {
		before(steps, "    defaults:\n      run:\n        working-directory: "+strconv.Quote(module)+"\n")
	}
	if version = cmp.Or(p.work, version); version != "go.mod" {
		text = strings.Replace(text, "go-version-file: go.mod", "go-version-file: "+strconv.Quote(version), 1)
	}
	return text
}
