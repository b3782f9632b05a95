package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/hone-perf/hone/internal/duel"
	"github.com/hone-perf/hone/internal/gocmd"
)

// sideNames begin the flags of one side of a comparison.
var sideNames = [2]string{"old", "new"}

// settingFlags are the flags that set how to build and run each side of a comparison.
type settingFlags [2]struct {
	goName     string
	env, flags []string
}

func (f *settingFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f[0].goName, "old-go", "", "build the old side with this `GO`: 1.26.5, 1.27, latest, local, or the path of a go command")
	flags.StringVar(&f[1].goName, "new-go", "", "build the new side with this `GO`")
	flags.StringArrayVar(&f[0].env, "old-env", nil, "build and run the old side with the environment variable `NAME=VALUE`; may be repeated")
	flags.StringArrayVar(&f[1].env, "new-env", nil, "build and run the new side with the environment variable `NAME=VALUE`; may be repeated")
	flags.StringArrayVar(&f[0].flags, "old-flags", nil, "build the old side with extra go build `FLAGS`, written as in GOFLAGS; may be repeated")
	flags.StringArrayVar(&f[1].flags, "new-flags", nil, "build the new side with extra go build `FLAGS`, written as in GOFLAGS; may be repeated")
}

// settings returns the settings of the old and the new side.
func (f *settingFlags) settings() (out [2]duel.Settings) {
	for i, s := range f {
		out[i] = duel.Settings{Go: s.goName, Env: s.env}
		for _, flags := range s.flags {
			out[i].Flags = append(out[i].Flags, gocmd.Fields(flags)...)
		}
	}
	return out
}

// given returns the first of these flags on the command line, or "".
func (f *settingFlags) given() string {
	for i, s := range f.settings() {
		switch {
		case s.Go != "":
			return "--" + sideNames[i] + "-go"
		case len(s.Env) > 0:
			return "--" + sideNames[i] + "-env"
		case len(s.Flags) > 0:
			return "--" + sideNames[i] + "-flags"
		}
	}
	return ""
}

// settingError names the wrong flag in an error about settings.
func settingError(err error) error {
	if errors.Is(err, duel.ErrAlike) {
		return &usageError{err, "for example: --old-go 1.26.5 --new-go 1.27.3, --new-env GOGC=200, or --new-flags -pgo=off"}
	}
	var wrong *duel.SettingError
	if !errors.As(err, &wrong) {
		return err
	}
	what := "the settings of the " + sideNames[wrong.Side] + " side"
	if wrong.Kind != "" {
		what = "--" + sideNames[wrong.Side] + "-" + wrong.Kind
	}
	if wrong.What != "" {
		err = fmt.Errorf("%s %w", what, err)
	}
	if wrong.Misuse {
		return &usageError{err, wrong.Next}
	}
	return withHint(err, wrong.Next)
}

// passable returns args with values of settings that look like secrets replaced.
func passable(args []string) []string {
	out := slices.Clone(args)
	for i, arg := range out {
		name, value, is := strings.Cut(arg, "=")
		kind := ""
		switch name {
		case "--old-env", "--new-env":
			kind = duel.EnvSetting
		case "--old-flags", "--new-flags":
			kind = duel.FlagSetting
		}
		switch {
		case kind == "":
		case is:
			out[i] = name + "=" + duel.Shown(kind, value)
		case i+1 < len(out):
			out[i+1] = duel.Shown(kind, out[i+1])
		}
	}
	return out
}

// isModule reports whether a folder has a go.mod of its own.
func isModule(dir string) bool {
	st, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil && st.Mode().IsRegular()
}
