package duel

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/secret"
)

// Settings are what a side is built and run with, where that is not what is in use now. With them, two sides may be of one source.
type Settings struct {
	Go    string   // a name for gocmd.Command.Using; "" is the go command in use
	Env   []string // NAME=value
	Flags []string // for building
}

// IsSet reports whether there are any.
func (s Settings) IsSet() bool { return s.Go != "" || len(s.Env) > 0 || len(s.Flags) > 0 }

// Kinds of settings.
const (
	GoSetting   = "go"
	EnvSetting  = "env"
	FlagSetting = "flags"
)

// A SettingError reports that a setting is not possible.
type SettingError struct {
	Side   int    // 0 is the old one
	Kind   string // of the setting; "" is all of them
	What   string // the setting, without what may be a secret; "" is what is in use now
	Why    error
	Next   string // step
	Misuse bool   // nobody could have it
}

func (e *SettingError) Error() string {
	if e.What == "" {
		return e.Why.Error()
	}
	return e.What + ": " + e.Why.Error()
}
func (e *SettingError) Unwrap() error { return e.Why }

// ErrAlike is that settings make no difference.
var ErrAlike = errors.New("both sides have the same settings: there is nothing to compare")

// Where environment variables count.
var (
	// runVars are those of the Go runtime, and building does not look at them. All that is not in any of these lists is of the program.
	runVars = []string{"GOGC", "GOMEMLIMIT", "GODEBUG", "GOMAXPROCS", "GOTRACEBACK", "GORACE", "GOCOVERDIR"}
	// buildVars are those of the go command, and programs do not look at them.
	buildVars = []string{
		"AR", "CC", "CXX", "FC", "GCCGO", "GCCGOTOOLDIR", "PKG_CONFIG",
		"CGO_ENABLED", "CGO_CFLAGS", "CGO_CFLAGS_ALLOW", "CGO_CFLAGS_DISALLOW", "CGO_CPPFLAGS", "CGO_CPPFLAGS_ALLOW", "CGO_CPPFLAGS_DISALLOW",
		"CGO_CXXFLAGS", "CGO_CXXFLAGS_ALLOW", "CGO_CXXFLAGS_DISALLOW", "CGO_FFLAGS", "CGO_FFLAGS_ALLOW", "CGO_FFLAGS_DISALLOW",
		"CGO_LDFLAGS", "CGO_LDFLAGS_ALLOW", "CGO_LDFLAGS_DISALLOW",
		"GO111MODULE", "GO386", "GOAMD64", "GOARCH", "GOARM", "GOARM64", "GOAUTH", "GOBIN", "GOCACHE", "GOCACHEPROG", "GOENV", "GOEXPERIMENT",
		"GOFIPS140", "GOFLAGS", "GOINSECURE", "GOMIPS", "GOMIPS64", "GOMODCACHE", "GONOPROXY", "GONOSUMDB", "GOOS", "GOPATH", "GOPPC64",
		"GOPRIVATE", "GOPROXY", "GORISCV64", "GOROOT", "GOSUMDB", "GOTMPDIR", "GOTOOLCHAIN", "GOVCS", "GOWASM", "GOWORK",
	}
	// bothVars are looked at by the compilers of C, and by the system when it starts a program.
	bothVars = []string{
		"PATH", "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "LD_LIBRARY_PATH", "PKG_CONFIG_PATH", "PKG_CONFIG_LIBDIR",
		"SDKROOT", "MACOSX_DEPLOYMENT_TARGET",
	}
)

// valuesOf are the values that variables may have which Go takes for another one, or does not look at, when they are wrong.
var valuesOf = sync.OnceValue(func() map[string]valueRule {
	return map[string]valueRule{
		"GOAMD64":     {`^v[1-4]$`, "v1, v2, v3 or v4"},
		"GOARM64":     {`^v(8\.\d|9\.[0-5])(,lse|,crypto)*$`, "v8.0 to v9.5, with ,lse or ,crypto behind it"},
		"GOARM":       {`^[567](,softfloat|,hardfloat)?$`, "5, 6 or 7"},
		"GO386":       {`^(sse2|softfloat)$`, "sse2 or softfloat"},
		"GORISCV64":   {`^rva\d+u64$`, "rva20u64, rva22u64 or rva23u64"},
		"GOPPC64":     {`^power(8|9|10)$`, "power8, power9 or power10"},
		"GOMIPS":      {`^(hard|soft)float$`, "hardfloat or softfloat"},
		"GOMIPS64":    {`^(hard|soft)float$`, "hardfloat or softfloat"},
		"CGO_ENABLED": {`^[01]$`, "0 or 1"},
		"GOGC":        {`^(off|\d{1,9})$`, "a percentage such as 200, or off"},
		"GOMAXPROCS":  {`^0*[1-9]\d{0,5}$`, "a whole number, 1 or more"},
		"GOMEMLIMIT":  {`^(off|\d+(B|[KMGT]iB)?)$`, "a size such as 512MiB or 2GiB, or off"},
		"GODEBUG":     {`^[^,=]+=[^,]*(,[^,=]+=[^,]*)*$`, "name=value, with a comma between several"},
	}
})

type valueRule struct {
	pattern string // of a regular expression
	want    string
}

// Check says what is wrong with settings, as far as they show it.
func (s Settings) Check(side int) error {
	for _, e := range s.Env {
		name, value, ok := strings.Cut(e, "=")
		wrong := func(what, why, next string) error {
			return &SettingError{Side: side, Kind: EnvSetting, What: what, Why: errors.New(why), Next: next, Misuse: true}
		}
		rule, known := valuesOf()[name]
		switch {
		case !ok:
			return wrong(name, "want NAME=value", "for example: GOGC=200")
		case name == "" || strings.ContainsAny(e, "\x00") || strings.ContainsAny(name, " \t\n"):
			return wrong(strconv.Quote(name), "is not the name of an environment variable", "for example: GOGC=200")
		case name == "GOTOOLCHAIN" && s.Go != "":
			return wrong("GOTOOLCHAIN", "the Go version is already set", "name it once")
		case known && value != "" && (!regexp.MustCompile(rule.pattern).MatchString(value) || name == "GOMEMLIMIT" && !fits(value)):
			return wrong(shownVar(name, value), "want "+rule.want, "")
		}
	}
	for _, f := range s.Flags {
		name := flagName(f)
		wrong := func(why, next string) error {
			return &SettingError{Side: side, Kind: FlagSetting, What: shownFlag(f), Why: errors.New(why), Next: next, Misuse: true}
		}
		switch {
		case !strings.HasPrefix(f, "-") || name == "":
			return wrong("want go build flags, each in one word with its value", "for example: -pgo=off, or '-tags=a,b -race'")
		case slices.Contains([]string{"o", "C", "n", "x", "v", "json", "work", "i"}, name):
			return wrong("changes how go build runs, not the program that it builds", "flags such as -pgo, -gcflags, -tags and -race change the program")
		}
	}
	return nil
}

// fits reports whether the runtime can read a size.
func fits(size string) bool {
	if size == "off" {
		return true
	}
	digits := strings.TrimRight(size, "BKMGTi")
	n, err := strconv.ParseInt(digits, 10, 64)
	shift := 10 * (1 + strings.IndexByte("KMGT", (size[len(digits):] + " ")[0]))
	return err == nil && n <= math.MaxInt64>>shift
}

// flagName returns the name of a flag without dashes and value.
func flagName(f string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(f, "-"), "-"), "=")
	return name
}

// in returns the variables that count somewhere.
func (s Settings) in(counts func(name string) bool) (out []string) {
	for _, e := range s.Env {
		if name, _, _ := strings.Cut(e, "="); counts(name) {
			out = append(out, e)
		}
	}
	return out
}

func inBuilding(name string) bool {
	return slices.Contains(buildVars, name) || slices.Contains(bothVars, name)
}
func inRunning(name string) bool { return !slices.Contains(buildVars, name) }

// Set gives settings to the sides, and names to settings where names does not say that sides are named as versions are. The go commands
// that they name are fetched.
func (o *Options) Set(ctx context.Context, old, new Settings, named bool) error {
	sides, settings := [2]*Side{&o.Old, &o.New}, [2]Settings{old, new}
	builds := o.Commands == nil || o.Program != ""
	if o.How == recording.Duet && o.Commands == nil {
		for i, s := range settings {
			if env := s.in(func(name string) bool { return name == "GOMAXPROCS" }); len(env) > 0 {
				return &SettingError{Side: i, Kind: EnvSetting, What: env[0], Why: errors.New("does not apply to a duet, in which both sides share one core"), Next: "leave the choice to hone: they then take turns", Misuse: true}
			}
		}
	}
	var vars [2]map[string]string
	for i, s := range sides {
		set := settings[i]
		if err := set.Check(i); err != nil {
			return err
		}
		if err := set.built(i, s.File, builds); err != nil {
			return err
		}
		s.Env = set.in(inRunning)
		if !builds {
			s.Env = set.Env // which is for the go command, too, where it runs one
		}
		s.Flags = set.Flags
		for _, e := range set.Env {
			name, value, _ := strings.Cut(e, "=")
			s.DuelSide.Env = append(s.DuelSide.Env, shownVar(name, value))
		}
		for _, f := range set.Flags {
			s.DuelSide.Flags = append(s.DuelSide.Flags, shownFlag(f))
		}
		if s.File != "" || !builds {
			continue
		}
		var err error
		if vars[i], err = s.settle(ctx, i, set, o.Flags); err != nil {
			return err
		}
		s.Go = vars[i]["GOVERSION"]
		o.Notes = append(o.Notes, unknownDebug(vars[i], set.Env)...)
	}
	o.Notes = slices.Compact(o.Notes)
	words := wordsOf(settings, vars, o.Flags, named)
	for i, s := range sides {
		switch text := strings.Join(words[i], ", "); {
		case named && text != "":
			s.Name += " with " + text
		case named:
		default:
			s.Name = text
		}
	}
	if !named && o.Old.Name == o.New.Name && !slices.ContainsFunc(words[0], isHidden) {
		return ErrAlike
	}
	return nil
}

// built refuses settings of the build for what is built already.
func (s Settings) built(side int, file string, builds bool) error {
	what, next := file, "name packages, which hone then builds, or set something that matters at run time, such as GOGC"
	switch {
	case !builds:
		what = "a command"
		next = "write {program} in the command in place of the program, and name its package last; the variables GOTOOLCHAIN and GOFLAGS are for commands that run go"
	case file == "":
		return nil
	default:
		what = filepath.Base(file)
	}
	wrong := func(kind, setting string) error {
		return &SettingError{Side: side, Kind: kind, What: setting, Why: fmt.Errorf("is a build setting, but hone does not build %s", what), Next: next, Misuse: true}
	}
	if s.Go != "" {
		return wrong(GoSetting, s.Go)
	}
	if len(s.Flags) > 0 {
		return wrong(FlagSetting, shownFlag(s.Flags[0]))
	}
	if env := s.in(func(name string) bool { return slices.Contains(buildVars, name) }); builds && len(env) > 0 {
		name, value, _ := strings.Cut(env[0], "=")
		return wrong(EnvSetting, shownVar(name, value))
	}
	return nil
}

// settle finds the go command of a side, and tries what it thinks of the settings. It returns what that says about itself.
func (s *Side) settle(ctx context.Context, i int, set Settings, flags []string) (vars map[string]string, err error) {
	cmd := gocmd.Command{Dir: s.Dir}
	if set.Go != "" {
		if cmd, _, err = cmd.Using(ctx, set.Go); err != nil {
			var wrong *gocmd.ToolchainError
			if errors.As(err, &wrong) {
				next := "want a version such as go1.26.5 or 1.27, latest, local, or the path of a go command"
				if wrong.Release {
					next = "go list -m -versions go lists the releases; the path of a go command does as well"
				}
				return nil, &SettingError{Side: i, Kind: GoSetting, What: set.Go, Why: errors.New(wrong.Why), Next: next, Misuse: !wrong.Release}
			}
			return nil, err
		}
	}
	building := set.in(inBuilding)
	if len(building) > 0 {
		cmd.Env = append(cmd.Environ(), building...)
	}
	s.Tool, s.BuildEnv = cmd.Tool, cmd.Env
	for k, f := range set.Flags {
		if file := strings.TrimPrefix(gocmd.FromFolder(f, s.Dir), "-pgo="); flagName(f) == "pgo" && filepath.IsAbs(file) {
			if _, err := os.Stat(file); err != nil {
				return nil, &SettingError{Side: i, Kind: FlagSetting, What: s.DuelSide.Flags[k], Why: errors.New("no such file"), Next: "want a CPU profile, off or auto", Misuse: true}
			}
		}
	}
	if vars, err = cmd.Vars(ctx); err == nil {
		err = cmd.Try(ctx, slices.Concat(flags, set.Flags))
	}
	if err == nil || ctx.Err() != nil {
		return vars, err
	}
	why := gocmd.Refused(err, vars["GOVERSION"])
	out := &SettingError{Side: i, Why: why, Misuse: true}
	var old *gocmd.TooOldError
	var words []string
	for _, e := range building {
		name, value, _ := strings.Cut(e, "=")
		words = append(words, shownVar(name, value))
	}
	switch kinds := len(building) + len(set.Flags); {
	case errors.As(why, &old):
		out.Kind, out.What = GoSetting, set.Go
		out.Next = fmt.Sprintf("name Go %s or a later one for the %s side, or lower the go line where the code does not need it", old.Want, []string{"old", "new"}[i])
	case kinds == 0:
		return vars, fmt.Errorf("%s: %w", set.Go, why)
	case len(set.Flags) == 0:
		out.Kind, out.What, out.Next = EnvSetting, strings.Join(words, " "), "go help environment lists the values"
	case len(building) == 0:
		out.Kind, out.What, out.Next = FlagSetting, strings.Join(s.DuelSide.Flags, " "), "go help build lists the flags"
	default:
		out.What = strings.Join(append(words, s.DuelSide.Flags...), " ")
	}
	return vars, out
}

// wordsOf names settings: those of either side, and where sides have no other name, those that differ.
func wordsOf(settings [2]Settings, vars [2]map[string]string, flags []string, all bool) (words [2][]string) {
	add := func(old, new string, differ bool) {
		if all || differ {
			words[0], words[1] = append(words[0], old), append(words[1], new)
		}
	}
	if settings[0].Go != "" || settings[1].Go != "" {
		v := [2]string{vars[0]["GOVERSION"], vars[1]["GOVERSION"]}
		differ := v[0] != v[1]
		if !differ && (strings.ContainsAny(settings[0].Go+settings[1].Go, `/\`) || strings.HasPrefix(v[0], "devel")) && vars[0]["GOROOT"] != vars[1]["GOROOT"] {
			differ = true
			for i := range v {
				v[i] += " in " + vars[i]["GOROOT"]
			}
		}
		add(v[0], v[1], differ)
	}
	var names []string
	for _, s := range settings {
		for _, e := range s.Env {
			name, _, _ := strings.Cut(e, "=")
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	for _, name := range names {
		var w, values [2]string
		for i := range settings {
			var is bool
			values[i], is = valueOf(name, settings[i].Env, vars[i])
			if w[i] = name + " not set"; is {
				w[i] = shownVar(name, values[i])
			}
		}
		add(w[0], w[1], values[0] != values[1] || w[0] != w[1])
	}
	names = nil
	for _, s := range settings {
		for _, f := range s.Flags {
			if name := flagName(f); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	for _, name := range names {
		var w, last [2]string
		for i, s := range settings {
			w[i] = "no -" + name
			for _, f := range slices.Concat(gocmd.Fields(vars[i]["GOFLAGS"]), flags, s.Flags) {
				if flagName(f) == name {
					last[i], w[i] = f, shownFlag(f)
				}
			}
		}
		add(w[0], w[1], last[0] != last[1])
	}
	return words
}

// valueOf returns the value of a variable that counts on a side.
func valueOf(name string, env []string, vars map[string]string) (value string, set bool) {
	for _, e := range env {
		if n, v, _ := strings.Cut(e, "="); n == name {
			value, set = v, true
		}
	}
	if !set {
		if value, set = os.LookupEnv(name); !set || slices.Contains(buildVars, name) {
			if v := vars[name]; v != "" {
				value, set = v, true // what the go command takes it for
			}
		}
	}
	if value == "" && (slices.Contains(buildVars, name) || slices.Contains(runVars, name)) {
		set = false // Go does not tell that from nothing
	}
	return value, set
}

func isHidden(word string) bool { return strings.Contains(word, secret.Mask) }

var linkedIn = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(-X[ =]'[^'=]+=)[^']*|(-X[ =]"[^"=]+=)[^"]*|(-X[ =][^\s'"=]+=)\S*`)
})

// shownVar returns a variable with its value, unless that looks like a secret. It goes into reports and files, which are passed on.
func shownVar(name, value string) string {
	switch {
	case name == "GOFLAGS":
		value = withoutLinked(value)
	case name == "GOAUTH" && value != "":
		value = secret.Mask
	default:
		value = new(secret.Hider).Pair(name, value)
	}
	return name + "=" + value
}

// shownFlag returns a flag without the values that it has the linker write into the program.
func shownFlag(f string) string { return withoutLinked(f) }

func withoutLinked(flags string) string {
	return linkedIn().ReplaceAllString(flags, "${1}${2}${3}"+secret.Mask)
}

// Shown returns what can be passed on of settings that a user gave: a variable with its value, or flags.
func Shown(kind, text string) string {
	switch name, value, is := strings.Cut(text, "="); {
	case kind == EnvSetting && is:
		return shownVar(name, value)
	case kind == FlagSetting:
		return shownFlag(text)
	}
	return text
}

var debugName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[{\s][nN]ame:\s*"([^"]+)"`) })

// unknownDebug says which settings in GODEBUG a Go does not have, as far as its sources say that: nothing looks at them.
func unknownDebug(vars map[string]string, env []string) (notes []string) {
	for _, e := range env {
		value, ok := strings.CutPrefix(e, "GODEBUG=")
		if !ok || value == "" {
			continue
		}
		known := map[string]bool{"memprofilerate": true}
		for _, file := range []string{"runtime/runtime1.go", "internal/godebugs/table.go"} {
			text, err := os.ReadFile(filepath.Join(vars["GOROOT"], "src", filepath.FromSlash(file)))
			if err != nil {
				return nil
			}
			for _, m := range debugName().FindAllSubmatch(text, -1) {
				known[string(m[1])] = true
			}
		}
		for s := range strings.SplitSeq(value, ",") {
			if name, _, _ := strings.Cut(s, "="); !known[name] && !strings.HasPrefix(name, "cpu.") {
				notes = append(notes, fmt.Sprintf("%s has no GODEBUG setting %s, so it changes nothing", vars["GOVERSION"], name))
			}
		}
	}
	return notes
}

// sets reports whether a side sets a variable of the run.
func (s *Side) sets(name string) bool {
	return slices.ContainsFunc(s.Env, func(e string) bool { return strings.HasPrefix(e, name+"=") })
}

// command returns the go command of a side.
func (s *Side) command() gocmd.Command {
	return gocmd.Command{Dir: s.Dir, Env: s.BuildEnv, Tool: s.Tool}
}

// flags returns all flags for building a side.
func (s *Side) flags(common []string) []string { return slices.Concat(common, s.Flags) }

// BuiltAs reports whether two sides are the same program, since they are one source that is built in one way.
func (s *Side) BuiltAs(other *Side) bool {
	return s.Dir == other.Dir && s.File == other.File && s.Tool == other.Tool && slices.Equal(s.BuildEnv, other.BuildEnv) && slices.Equal(s.Flags, other.Flags)
}

// runsHere says why a side cannot run, when it is built for another system.
func runsHere(about gocmd.About) error {
	if about.GOOS != "" && about.GOOS != runtime.GOOS {
		return fmt.Errorf("it is built for %s/%s, which does not run on %s/%s", about.GOOS, about.GOARCH, runtime.GOOS, runtime.GOARCH)
	}
	return nil
}
