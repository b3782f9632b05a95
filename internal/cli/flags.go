package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/view"
	"github.com/hone-perf/hone/internal/views"
)

// One thing has one name in all commands: --for is how long something runs, --budget how long it may take at most.
const (
	lengthFlag = "for"
	budgetFlag = "budget"
)

// lengthNames are other names for --for and --budget: earlier names in hone, and names in other tools.
var lengthNames = []string{lengthFlag, "duration", "seconds", "time", budgetFlag}

// nowCalled is the annotation of an old flag name. Its value is the new name.
const nowCalled = "now-called"

// formerly keeps an old name of a flag working. Help and completion do not show it.
func formerly(flags *pflag.FlagSet, name, before string) {
	f := *flags.Lookup(name)
	f.Name, f.Shorthand, f.Hidden = before, "", true
	f.Annotations = map[string][]string{nowCalled: {name}}
	flags.AddFlag(&f)
}

// flagError makes an error about flags name the flags to use instead. goFlags are the flags of the go command that cmd also takes.
func flagError(cmd *cobra.Command, err error, goFlags ...map[string]bool) error {
	hint := cmd.CommandPath() + " --help lists its flags"
	var unknown *pflag.NotExistError
	var value *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown):
		dashes, name := "--", unknown.GetSpecifiedName()
		if group := unknown.GetSpecifiedShortnames(); group != "" {
			dashes, name = "-", group
		}
		meant := nearestFlag(cmd, name, goFlags...)
		if name == "format" && cmd.Flags().Lookup("csv") != nil {
			return usagef("-o FILE.svg writes a picture; --json, --csv and --md print other formats", "unknown flag %s%s", dashes, name)
		}
		if meant == "" && !cmd.HasParent() {
			if of := nearestQuestion(name); of != "" {
				return usagef("put the command first, for example: "+of, "unknown flag %s%s", dashes, name)
			}
		}
		if meant != "" {
			meant = ": did you mean " + meant + "?"
		}
		return usagef(hint, "unknown flag %s%s%s", dashes, name, meant)
	case errors.As(err, &value):
		f := value.GetFlag()
		bad := &badValue{f.Name, " ", value.GetValue(), value.Unwrap()}
		if f.NoOptDefVal != "" {
			bad.sign = "=" // a value after a blank would be an argument
		}
		if want := wantOf[f.Value.Type()]; want != "" {
			bad.error = errors.New("want " + want)
		}
		return &usageError{bad, hint}
	}
	return &usageError{err, hint}
}

// A badValue is an error about the value of a flag.
type badValue struct {
	flag, sign, value string
	error
}

func (e *badValue) Error() string {
	return "--" + e.flag + e.sign + quoted(e.value) + ": " + e.error.Error()
}
func (e *badValue) Unwrap() error { return e.error }

// wrongValue returns an error about a flag value that has the right type but cannot be used.
func wrongValue(flag, value, format string, args ...any) error {
	return &usageError{err: &badValue{flag, " ", value, fmt.Errorf(format, args...)}}
}

// asTyped returns the name of a test binary's flag as users type it: -bench for -test.bench.
func asTyped(flag string) string { return strings.Replace(flag, "-test.", "-", 1) }

// spell is Error for front ends that do not spell settings as flags.
func (e *badValue) spell(by hint.Speller) string {
	return by.Option(hint.Option{Name: e.flag, Value: e.value}) + ": " + e.error.Error()
}

// wantOf describes values for flag types whose own errors come from strconv or time.
var wantOf = map[string]string{
	"int": "a whole number", "int64": "a whole number", "uint": "a whole number", "uint64": "a whole number", "float64": "a number",
	"duration": "a time such as 90s, 2m or 500ms", "bool": "true or false",
}

// meantFlags are flags by what people call them elsewhere.
var meantFlags = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"port": "listen", "p": "listen", "http": "listen", "addr": "listen", "address": "listen", "bind": "listen",
		"top": "limit", "nodecount": "limit", "n": "limit", "max": "limit", "sample_index": "metric", "type": "metric", "filter": "focus", "exclude": "ignore",
		"out": "output", "file": "output", "src": "source", "source_path": "source", "threshold": "min",
	}
})

// nearestFlag returns the spelling of the flag of cmd that is most like name, or "". For an old name it returns both names.
func nearestFlag(cmd *cobra.Command, name string, goFlags ...map[string]bool) string {
	spelled := make(map[string]string)
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		switch now := f.Annotations[nowCalled]; {
		case len(now) > 0:
			spelled[f.Name] = "--" + f.Name + "/--" + now[0]
		case !f.Hidden:
			spelled[f.Name] = "--" + f.Name
		}
	})
	for _, flags := range goFlags {
		for f := range flags {
			if len(f) > 1 && spelled[f] == "" {
				spelled[f] = "-" + f
			}
		}
	}
	// pflag parses the letters of -outptu as one-letter flags. The value follows the =.
	name, _, _ = strings.Cut(name, "=")
	if spelled[name] != "" {
		return spelled[name]
	}
	var names []string
	for n := range spelled {
		names = append(names, n)
	}
	slices.Sort(names)
	if near := query.Nearest(name, names); near != "" {
		return spelled[near]
	}
	if near := query.Nearest(name, lengthNames); near != "" {
		// It is the name in another command, or an old one.
		for _, n := range []string{lengthFlag, budgetFlag} {
			if spelled[n] != "" {
				return spelled[n]
			}
		}
	}
	if as := meantFlags()[name]; spelled[as] != "" {
		return spelled[as]
	}
	const few = 3 // letters are enough to abbreviate a name
	for _, n := range names {
		if len(name) >= few && strings.HasPrefix(n, name) {
			return spelled[n]
		}
	}
	return ""
}

// nearestQuestion returns the start of a command line with the view whose flag is most like name, or "".
func nearestQuestion(name string) string {
	of := map[string]string{"cum": "top"} // views
	names := slices.Concat(sourceNames, []string{"cum"})
	for v := range views.All() {
		if v.Part == view.Profile {
			for _, k := range keysOf(v) {
				if of[k] == "" {
					of[k] = v.Name
					names = append(names, k)
				}
			}
		}
	}
	if i := slices.IndexFunc(query.Keys, func(k query.Key) bool { return k.Short != "" && k.Short == name }); i >= 0 {
		name = query.Keys[i].Name
	}
	near := name
	if !slices.Contains(names, name) {
		near = query.Nearest(name, names)
	}
	if near == "" && query.Nearest(name, lengthNames) != "" {
		near = lengthFlag
	}
	if near == "" {
		return ""
	}
	return "hone " + cmp.Or(of[near], "top") + " --" + near
}

// The flags of the go command that hone accepts; true means that the flag has a value.
var (
	buildFlags = sync.OnceValue(func() map[string]bool {
		return map[string]bool{
			"race": false, "msan": false, "asan": false, "cover": false, "trimpath": false, "modcacherw": false, "a": false,
			"tags": true, "ldflags": true, "gcflags": true, "asmflags": true, "mod": true, "modfile": true, "overlay": true,
			"pgo": true, "p": true, "coverpkg": true, "covermode": true, "buildvcs": true,
		}
	})
	testFlags = sync.OnceValue(func() map[string]bool {
		return map[string]bool{
			"v": false, "short": false, "failfast": false, "benchmem": false, "fullpath": false,
			"run": true, "bench": true, "benchtime": true, "count": true, "cpu": true, "skip": true, "timeout": true, "shuffle": true,
			"parallel": true, "list": true, "fuzz": true, "fuzztime": true, "outputdir": true,
			"cpuprofile": true, "memprofile": true, "memprofilerate": true, "blockprofile": true, "blockprofilerate": true,
			"mutexprofile": true, "mutexprofilefraction": true, "trace": true, "coverprofile": true,
		}
	})
)

// withGoFlags returns the RunE of a command that also takes flags of go build and go test: it parses them, then calls run.
func withGoFlags(run func(cmd *cobra.Command, build, test, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		args, _ = fromGo(cmd, args)
		own, build, test, err := splitGoFlags(cmd, args)
		if err != nil {
			return err
		}
		cmd.DisableFlagParsing = false
		if err := cmd.ParseFlags(own); err != nil {
			return flagError(cmd, err, buildFlags(), testFlags())
		}
		if help, _ := cmd.Flags().GetBool("help"); help {
			return cmd.Help()
		}
		return run(cmd, build, test, cmd.Flags().Args())
	}
}

// withArguments is like withGoFlags for commands that pass the arguments after -- to a program; behind is nil if there is no --.
func withArguments(run func(cmd *cobra.Command, build, test, args, behind []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		args, _ = fromGo(cmd, args) // before what is for the program is cut off
		var behind []string
		if dash := dashOf(args); dash < len(args) {
			args, behind = args[:dash], append([]string{}, args[dash+1:]...)
		}
		return withGoFlags(func(cmd *cobra.Command, build, test, args []string) error {
			return run(cmd, build, test, args, behind)
		})(cmd, args)
	}
}

// noTestFlag refuses a flag of go test.
func noTestFlag(command, why, takes, flag string) error {
	name, _, _ := strings.Cut(strings.TrimPrefix(flag, "-test."), "=")
	return usagef("it takes "+takes, "%s %s; it does not take -%s", command, why, name)
}

// A flagWord is an argument that looks like a flag.
type flagWord struct {
	name, value     string
	hasValue        bool
	mine            *pflag.Flag // of the command, or nil
	isBuild, isTest bool        // of go build and go test, with the name as that has it
	takes           bool        // a value, which is the next argument if it is not in this one
}

// readFlag reads an argument of cmd. Flags of the go command have one dash, or two, as in the go command. With two dashes, a flag of cmd takes
// precedence: --cpu of hone race is its own flag.
func readFlag(cmd *cobra.Command, word string) (w flagWord, dashed bool) {
	name, dashed := strings.CutPrefix(word, "-")
	name, two := strings.CutPrefix(name, "-")
	w.name, w.value, w.hasValue = strings.Cut(name, "=")
	switch {
	case two:
		w.mine = cmd.Flag(w.name)
	case len(w.name) == 1:
		if w.mine = cmd.Flags().ShorthandLookup(w.name); w.mine == nil {
			w.mine = cmd.InheritedFlags().ShorthandLookup(w.name)
		}
	}
	if !dashed {
		return w, false
	}
	bare := strings.TrimPrefix(w.name, "test.")
	takes, isBuild := buildFlags()[w.name]
	ofTest, isTest := testFlags()[bare]
	switch {
	case w.mine != nil:
		w.takes = w.mine.NoOptDefVal == ""
	case isTest:
		w.isTest, w.takes, w.name = true, ofTest, "test."+bare
	case isBuild:
		w.isBuild, w.takes = true, takes
	}
	return w, true
}

// splitGoFlags separates the flags of go build and go test from those of cmd. The error is about one without its value.
func splitGoFlags(cmd *cobra.Command, args []string) (own, build, test []string, err error) {
	for i := 0; i < len(args); i++ {
		w, _ := readFlag(cmd, args[i])
		next := w.takes && !w.hasValue && i+1 < len(args)
		if !w.isBuild && !w.isTest {
			own = append(own, args[i])
			if next {
				i++ // the value may look like a flag
				own = append(own, args[i])
			}
			continue
		}
		if w.takes && !w.hasValue {
			if !next {
				return own, build, test, noValue(args[i], w.isTest) // it is the last of args
			}
			i++
			w.value, w.hasValue = args[i], true
		}
		flag := "-" + w.name
		if w.hasValue {
			flag += "=" + w.value
		}
		if w.isTest {
			test = append(test, flag)
		} else {
			build = append(build, flag)
		}
	}
	return own, build, test, nil
}

// noValue returns an error about a flag of the go command at the end of the arguments, where its value is missing.
func noValue(flag string, ofTest bool) error {
	page := "build"
	if ofTest {
		page = "testflag"
	}
	return usagef("go help "+page+" says which value it takes", "flag needs an argument: %s", flag)
}

// fromGo returns arguments that are written as for the go command, such as go test -bench . ./pkg, in the form of cmd: without these two words, and
// with what is for the program of go run after --. verb is the second of the words, or "" if args are in that form already.
func fromGo(cmd *cobra.Command, args []string) (out []string, verb string) {
	at := firstWord(cmd, args)
	if at+1 >= len(args) || args[at] != "go" || args[at+1] != "run" && args[at+1] != "test" {
		return args, ""
	}
	own, verb, rest := args[:at], args[at+1], args[at+2:]
	end := firstWord(cmd, rest)
	if verb == "test" {
		if i := slices.IndexFunc(rest, beginsArgs); end == len(rest) || rest[end] == "--" || 0 <= i && i < end {
			own = append(slices.Clone(own), ".") // the default of go test
		}
		return slices.Concat(own, rest), verb
	}
	if end == len(rest) {
		return slices.Concat(own, rest), verb
	}
	for end++; end < len(rest) && strings.HasSuffix(rest[end-1], ".go") && strings.HasSuffix(rest[end], ".go"); end++ {
	}
	behind := rest[end:]
	if len(behind) == 0 || behind[0] != "--" {
		behind = slices.Insert(slices.Clone(behind), 0, "--")
	}
	return slices.Concat(own, rest[:end], behind), verb
}

// firstWord returns the index of the first argument that is neither a flag nor its value, or len(args).
func firstWord(cmd *cobra.Command, args []string) int {
	for i := 0; i < len(args); i++ {
		w, dashed := readFlag(cmd, args[i])
		if !dashed || args[i] == "--" {
			return i
		}
		if w.takes && !w.hasValue {
			i++
		}
	}
	return len(args)
}
