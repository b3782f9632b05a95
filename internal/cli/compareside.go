package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hone-perf/hone/internal/duel"
	"github.com/hone-perf/hone/internal/git"
	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/open"
	"github.com/hone-perf/hone/internal/source"
)

// sidesOf determines the two sides of a comparison and their settings. The caller must call done, also after an error.
func sidesOf(cmd *cobra.Command, sys *System, opt *duel.Options, args []string, settings [2]duel.Settings) (done func(), err error) {
	set := settings[0].IsSet() || settings[1].IsSet()
	named, done, err := commandsOf(cmd.Context(), sys, opt, args, set)
	if err != nil || !set {
		return done, err
	}
	return done, opt.Set(cmd.Context(), settings[0], settings[1], named)
}

// commandsOf is sourcesOf for hone compare --cmd. If the commands have {program}, sides are the sources that it is built from; otherwise they are the
// commands alone.
func commandsOf(ctx context.Context, sys *System, opt *duel.Options, args []string, set bool) (named bool, done func(), err error) {
	if opt.Commands == nil {
		return sourcesOf(ctx, sys, opt, args, set)
	}
	lines := *opt.Commands
	two := lines[0] != lines[1]
	if !duel.NamesProgram(lines[0] + lines[1]) {
		if len(args) > 0 || len(opt.Flags) > 0 {
			return two, func() {}, usagef("{program} in a command stands for a package that hone builds", "--cmd compares commands and takes no arguments; got %s", strings.Join(append(opt.Flags, args...), " "))
		}
		opt.Old.Dir, opt.New.Dir = sys.Dir, sys.Dir
		opt.Old.Name, opt.New.Name = lines[0], lines[1]
		return two, func() {}, nil
	}
	if named, done, err = sourcesOf(ctx, sys, opt, args, set || two); err != nil {
		return named, done, err
	}
	if len(opt.Packages) != 1 || opt.Old.File != "" {
		return named, done, usagef("for example: hone compare --cmd '{program} -n 100' main..HEAD ./cmd/app", "{program} stands for one package, given last; got %d", len(opt.Packages))
	}
	opt.Program = opt.Packages[0]
	if two {
		for i, s := range []*duel.Side{&opt.Old, &opt.New} {
			if named {
				s.Name += ": "
			}
			s.Name += lines[i]
		}
	}
	return named || two, done, nil
}

// sourcesOf determines which sources, or programs, to compare. If set, the sides may have the same source with different settings; named is false
// then, because the sources do not tell the sides apart.
func sourcesOf(ctx context.Context, sys *System, opt *duel.Options, args []string, set bool) (named bool, done func(), err error) {
	done = func() {}
	kind := func(i int) string {
		if i >= len(args) {
			return ""
		}
		st, err := os.Stat(args[i])
		switch {
		case err != nil:
			return ""
		case st.IsDir():
			return "folder"
		case st.Mode().IsRegular():
			f, err := os.Open(args[i])
			if err != nil {
				return ""
			}
			defer f.Close()
			if open.IsProgram(f) {
				return "program"
			}
			return "file"
		}
		return ""
	}
	switch {
	case kind(0) == "folder" && kind(1) == "folder" && (!set || isModule(args[0]) && isModule(args[1])):
		for i, s := range []*duel.Side{&opt.Old, &opt.New} {
			s.Name = filepath.ToSlash(filepath.Clean(args[i]))
			if s.Dir, err = filepath.Abs(args[i]); err != nil {
				return true, done, err
			}
		}
		opt.Packages = args[2:]
		return true, done, nil
	case kind(0) == "program" && (kind(1) == "program" || set && len(args) == 1):
		if len(args) > 2 {
			return true, done, usagef("", "two test programs take no packages; got %s", strings.Join(args[2:], " "))
		}
		if len(opt.Flags) > 0 {
			return true, done, usagef("name revisions or folders instead, which hone builds", "%s is a build flag", opt.Flags[0])
		}
		for i, s := range []*duel.Side{&opt.Old, &opt.New} {
			s.Name = args[min(i, len(args)-1)]
			s.Dir = sys.Dir
			if s.File, err = filepath.Abs(s.Name); err != nil {
				return true, done, err
			}
		}
		return len(args) == 2, done, nil
	case !set && kind(0) != "" && len(args) > 1 && isMissing(ctx, sys, args[1]):
		return true, done, compareHint(ctx, args, fmt.Errorf("comparing %s with %s: %[2]s is neither a file, a folder nor a revision", args[0], args[1]))
	case kind(0) == "file" && kind(1) == "file":
		return true, done, compareHint(ctx, args, fmt.Errorf("comparing %s with %s: %[1]s is neither a test program nor output of go test -bench", args[0], args[1]))
	case kind(0) == "file" && len(args) == 1 && (isProfile(ctx, args[0]) || source.IsTrace(args[0])):
		return true, done, &usageError{err: compareHint(ctx, args, fmt.Errorf("%s is neither a revision nor a folder", args[0]))}
	case kind(0) == "program" || kind(0) == "file":
		return true, done, usagef("for example: hone compare old.test new.test, or hone compare main..HEAD", "%s is neither a revision nor a folder; compare needs two of the same kind", args[0])
	}
	spec, isRev, isOdd, all := "", false, false, args
	if len(args) > 0 {
		isRev = isRevision(ctx, sys, args[0])
		isOdd = !isRev && isNeither(ctx, sys, args[0]) // such as a branch that was not fetched
	}
	if isRev = isRev || isOdd; isRev {
		spec, args = args[0], args[1:]
	}
	if isRev && !strings.Contains(spec, "..") && len(args) > 0 && isRevision(ctx, sys, args[0]) && isNeither(ctx, sys, args[0]) {
		return true, done, &usageError{err: withHint(fmt.Errorf("%s is a revision, and only packages come after %s", args[0], spec), hint.Ask("compare", spec+".."+args[0]), " compares two revisions")}
	}
	opt.Packages = args
	if set && !isRev {
		dir, packages := gocmd.Home(sys.Dir, args)
		opt.Old.Dir, opt.New.Dir, opt.Packages = dir, dir, packages
		return false, done, nil
	}
	opt.Old, opt.New, done, err = duel.Revisions(ctx, sys.Dir, spec)
	if i := slices.IndexFunc(all, func(a string) bool { return isMissing(ctx, sys, a) }); i >= 0 && errors.Is(err, duel.ErrNoRepository) {
		err = fmt.Errorf("%s does not exist, and %w", all[i], err)
	}
	if isOdd && errors.As(err, new(*duel.NoCommitError)) {
		err = fmt.Errorf("%w, and is no package", err)
	}
	return true, done, revisionError("compare", err)
}

// isNeither reports whether a word names no file or folder here and no package.
func isNeither(ctx context.Context, sys *System, s string) bool {
	if s == "" || strings.Contains(s, "...") || strings.HasPrefix(s, ".") || filepath.IsAbs(s) {
		return false // it is meant as a folder
	}
	if _, err := os.Stat(filepath.Join(sys.Dir, s)); err == nil {
		return false
	}
	dir, err := gocmd.Command{Dir: sys.Dir}.Run(ctx, "list", "-e", "-f={{.Dir}}", "--", s)
	return err == nil && len(bytes.TrimSpace(dir)) == 0
}

// compareHint adds what compare takes to an error about two files or folders, or the command that compares profiles.
func compareHint(ctx context.Context, args []string, err error) error {
	last := args[min(1, len(args)-1)]
	near := open.NoFile(last).Near
	switch _, missing := os.Stat(last); {
	case errors.Is(missing, fs.ErrNotExist) && near != "" && near != filepath.Clean(args[0]):
		return withHint(err, "did you mean "+near+"?")
	case isProfile(ctx, args[0]) || source.IsTrace(args[0]):
		return withHint(err, hint.Ask("diff", "OLD", "NEW"), " compares profiles or execution traces")
	}
	return withHint(err, hint.Ask("compare", "OLD", "NEW"), " takes two folders, test programs, or files of go test -bench output; ", hint.Ask("compare", "main..HEAD"), " takes revisions")
}

// revisionError adds the next step to an error about revisions.
func revisionError(command string, err error) error {
	var missing *duel.NoCommitError
	switch folders := hint.Ask(command, "OLD", "NEW"); {
	case errors.Is(err, duel.ErrNoRepository):
		return withHint(err, folders, " compares two folders")
	case errors.Is(err, git.ErrNotInstalled):
		return withHint(err, folders, " compares two folders without git")
	case errors.As(err, new(*duel.ShallowError)):
		return withHint(err, "this clone is shallow, so older commits are missing: git fetch --unshallow gets them; in GitHub Actions, set fetch-depth: 0 for actions/checkout")
	case errors.As(err, &missing) && missing.Remote != "":
		return withHint(err, fmt.Sprintf("if the remote has that branch, git fetch %s %s:refs/remotes/%[1]s/%[2]s gets it; git branch -r lists those that are here", missing.Remote, missing.Branch))
	case missing != nil:
		return withHint(err, "git log --oneline and git branch list revisions; ", folders, " compares two folders")
	}
	return err
}

// isMissing reports whether a word can only name a file or folder, which does not exist.
func isMissing(ctx context.Context, sys *System, s string) bool {
	if strings.Contains(s, "...") || isRevision(ctx, sys, s) {
		return false
	}
	_, err := os.Stat(s)
	return errors.Is(err, fs.ErrNotExist)
}

// isRevision reports whether a word names revisions rather than packages.
func isRevision(ctx context.Context, sys *System, s string) bool {
	if strings.HasPrefix(s, ".") && !strings.HasPrefix(s, "..") || strings.HasSuffix(s, "/...") || strings.HasPrefix(s, "/") {
		return false
	}
	if _, _, ok := strings.Cut(s, ".."); ok {
		return true
	}
	is := func(s string) bool {
		_, err := git.Command{Dir: sys.Dir}.Run(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", s+"^{commit}")
		return err == nil
	}
	start, _, relative := strings.Cut(s, "~")
	return is(s) || relative && is(start) // HEAD~9 is meant as one even if there are fewer
}
