package cli

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hone-perf/hone/internal/git"
	"github.com/hone-perf/hone/internal/query"
)

//go:embed ci.yml
var ciWorkflow string

const initHelp = `Write a GitHub Actions workflow that compares the benchmarks of each pull request with
those of its base branch. It adds the report to the pull request, and fails when something
is slower, or when that is undecided. You can edit the file.`

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
		top, module := whereCI(cmd.Context(), sys.Dir)
		if file == "" { // GitHub reads workflows from here
			file = filepath.Join(top, ".github", "workflows", "hone.yml")
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
		_, err = f.WriteString(workflow(module))
		if err := errors.Join(err, f.Close()); err != nil {
			os.Remove(file)
			return err
		}
		fmt.Fprintf(sys.Out, "wrote %s: commit it, and every pull request is compared\n", file)
		return nil
	}
	return cmd
}

// whereCI returns the top folder of the repository that has dir, or dir if there is none, and the path of dir's module below it. The path is "." for
// the top folder.
func whereCI(ctx context.Context, dir string) (top, module string) {
	line, err := git.Command{Dir: dir}.Line(ctx, "rev-parse", "--show-toplevel")
	if err != nil {
		return dir, "."
	}
	top = filepath.FromSlash(line)
	in, err := filepath.EvalSymlinks(dir) // git resolves links, too
	if err != nil {
		return top, "."
	}
	for ; ; in = filepath.Dir(in) {
		rel, err := filepath.Rel(top, in)
		if err != nil || rel == "." || !filepath.IsLocal(rel) {
			return top, "."
		}
		if _, err := os.Stat(filepath.Join(in, "go.mod")); err == nil {
			return top, filepath.ToSlash(rel)
		}
	}
}

// workflow returns the CI workflow for a module in a folder of its repository.
func workflow(module string) string {
	text := strings.Replace(ciWorkflow, "VERSION", moduleVersion(), 1)
	if module == "." {
		return text
	}
	text = strings.Replace(text, "    steps:\n", "    defaults:\n      run:\n        working-directory: "+strconv.Quote(module)+"\n    steps:\n", 1)
	return strings.Replace(text, "go-version-file: go.mod", "go-version-file: "+strconv.Quote(module+"/go.mod"), 1)
}
