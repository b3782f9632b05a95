package cli

import (
	"bytes"
	"flag"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/view"
	"github.com/hone-perf/hone/internal/views"
)

// addCompletion adds the command that prints completion scripts for shells.
func addCompletion(root *cobra.Command) {
	root.SetCompletionCommandGroupID(groupOther)
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() != "completion" {
			continue
		}
		c.Use = "completion SHELL"
		c.Short = "Generate a shell completion script"
		c.Long = ""
		c.Example = "  source <(hone completion bash)\n  hone completion fish > ~/.config/fish/completions/hone.fish"
		c.RunE = func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("for example: hone completion bash", "completion needs the name of a shell")
			}
			return usagef("", "unknown shell %q; the shells are bash, fish, powershell and zsh", args[0])
		}
		c.Args = cobra.ArbitraryArgs
		for _, shell := range c.Commands() {
			if generate := shell.RunE; shell.Name() == "bash" && generate != nil {
				shell.Long = strings.NewReplacer(bashPackage, "", bashFile, bashStart).Replace(shell.Long)
				shell.RunE = func(cmd *cobra.Command, args []string) error {
					if err := generate(cmd, args); err != nil {
						return err
					}
					_, err := io.WriteString(cmd.OutOrStdout(), bashWords+bashRefs)
					return err
				}
			}
			if shell.Name() == "zsh" {
				shell.RunE = func(cmd *cobra.Command, _ []string) error {
					generate := root.GenZshCompletion
					if bare, _ := cmd.Flags().GetBool("no-descriptions"); bare {
						generate = root.GenZshCompletionNoDesc
					}
					var script bytes.Buffer
					if err := generate(&script); err != nil {
						return err
					}
					_, err := io.WriteString(cmd.OutOrStdout(), strings.Replace(script.String(), zshColon, zshBackslash+zshColon, 1))
					return err
				}
			}
		}
	}
}

// Parts of cobra's help for bash: bashWords makes the first untrue, and only the package bash-completion reads the files that the second is about.
const (
	bashPackage = `This script depends on the 'bash-completion' package.
If it is not installed already, you can install it via your OS's package manager.

`
	bashFile  = "To load completions for every new session, execute once:\n"
	bashStart = "To load completions for every new session, write that line into ~/.bashrc.\n\nWith the package bash-completion, you can write a file instead:\n"
)

// zshColon is where cobra's script escapes colons for _describe of zsh. zshBackslash does so for backslashes, which _describe takes away as well: regexps
// have some.
const (
	zshColon     = "            comp=${comp//:/\\\\:}\n"
	zshBackslash = "            comp=${comp//\\\\/\\\\\\\\}\n"
)

// bashWords replaces a function of cobra's script where the package bash-completion is missing: it sets words, the command line without the cuts that bash
// makes at = and :, the word before the cursor, and the one before that.
const bashWords = `
declare -F _get_comp_words_by_ref >/dev/null || __hone_init_completion() {
	local line="$COMP_LINE" after="${COMP_LINE:$COMP_POINT}" i word rest
	COMPREPLY=() words=()
	for ((i = 0; i <= COMP_CWORD; i++)); do
		word="${COMP_WORDS[i]}"
		rest="${line#"${line%%[![:space:]]*}"}"
		if ((i > 1)) && [[ $rest == "$line" && ($word == [=:]* || ${COMP_WORDS[i-1]} == *[=:]) ]]; then
			words[${#words[@]}-1]+="$word"
		else
			words+=("$word")
		fi
		line="${rest#"$word"}"
	done
	cword=$((${#words[@]} - 1))
	((cword > 0)) || return
	after="${after%"$line"}"
	words[cword]="${words[cword]%"$after"}"
	cur="${words[cword]}"
	prev="${words[cword-1]}"
}
`

// bashRefs completes store refs in bash. Bash splits words at : = and @, and replaces only the part after the last of them.
const bashRefs = `
__hone_refs() {
	local typed="${COMP_LINE:0:$COMP_POINT}" word
	typed="${typed##*[[:space:]]}"
	if [[ $typed != *store:* || $typed == *[\'\"]* ]]; then
		__start_hone "$@"
		return
	fi
	COMPREPLY=()
	while IFS= read -r word; do
		[[ $word == :* ]] || COMPREPLY+=("$word")
	done < <("${COMP_WORDS[0]}" __complete top "$typed" 2>/dev/null)
	local kept="${typed%"${typed##*[$COMP_WORDBREAKS]}"}"
	COMPREPLY=("${COMPREPLY[@]#"$kept"}")
	compopt -o nospace 2>/dev/null
}
complete -o default -o nosort -F __hone_refs hone
`

// completions tells shells what the arguments and flags of commands are. line is the command that is typed. Only a request of a shell needs it.
func completions(root *cobra.Command, sys *System, line string) {
	completeFlags(root)
	for _, cmd := range root.Commands() {
		completeFlags(cmd)
		for _, sub := range cmd.Commands() {
			completeFlags(sub)
		}
		v, isView := views.Find(cmd.Name())
		_, _, none := readsNone(cmd.Name())
		switch name := cmd.Name(); {
		case cmd.ValidArgsFunction != nil || len(cmd.ValidArgs) > 0:
		case tools[name] != nil:
			cmd.ValidArgsFunction = completeTool(tools[name])
			if name == line {
				root.PersistentFlags().VisitAll(func(f *pflag.Flag) { f.Hidden = true }) // tools have their own
			}
			continue
		case name == "compare" || name == "prove":
			cmd.ValidArgsFunction = completeVersion(sys)
		case isView && v.Arg != "" && v.Part == view.Profile:
			cmd.ValidArgsFunction = completeMatch(sys)
		case isView && v.Arg != "":
			cmd.ValidArgsFunction = afterFirst
		case isView && slices.Contains([]view.Part{view.Trace, view.GCLog, view.Metrics}, v.Part): // a store has none
		case !none:
			cmd.ValidArgsFunction = completeRef
		}
		if cmd.DisableFlagParsing {
			cmd.ValidArgsFunction = withFlagValues(cmd.ValidArgsFunction)
		}
	}
}

// completeFlags tells shells the values of the flags that cmd itself has. Shells complete file names themselves.
func completeFlags(cmd *cobra.Command) {
	register := func(f *pflag.Flag) {
		_, f.Usage = pflag.UnquoteUsage(f) // which shells show as it is; a request of a shell prints no help
		k := query.Find(f.Name)
		words, isChoice := f.Value.(chooser)
		var complete cobra.CompletionFunc
		switch {
		case f.Name == "metric":
			complete = func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
				return metrics(args, typed), cobra.ShellCompDirectiveNoFileComp
			}
		case isChoice && len(words.choices()) > 0:
			complete = choose(words.choices())
		case f.Name == "base":
			complete = completeRef
		case k != nil && k.Matches:
			complete = func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
				return functions(cmd, args, typed), cobra.ShellCompDirectiveNoFileComp
			}
		case k != nil && (k.Value == "DIRS" || k.Switch()):
			return
		case k != nil, f.Name == lengthFlag, f.Name == "timeout":
			complete = cobra.NoFileCompletions // a regexp or a number
		default:
			return
		}
		// It only fails for flags that do not exist and for those that are completed already.
		if err := cmd.RegisterFlagCompletionFunc(f.Name, complete); err != nil {
			panic(err)
		}
	}
	cmd.LocalFlags().VisitAll(register)
}

// withFlagValues also completes values of flags. cobra leaves them to commands that take flags of the go command, too.
func withFlagValues(arguments cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if dashOf(args) < len(args) {
			return nil, cobra.ShellCompDirectiveDefault // the arguments of a program
		}
		name, value, whole := strings.Cut(typed, "=")
		isFlag := strings.HasPrefix(typed, "-")
		if !isFlag && len(args) > 0 {
			name, value = args[len(args)-1], typed
		}
		if f := cmd.Flag(strings.TrimPrefix(name, "--")); strings.HasPrefix(name, "--") && f != nil && isFlag == whole && (whole || f.NoOptDefVal == "") {
			if complete, ok := cmd.GetFlagCompletionFunc(f.Name); ok {
				return complete(cmd, args, value)
			}
			return nil, cobra.ShellCompDirectiveDefault
		}
		switch {
		case isFlag:
			return nil, cobra.ShellCompDirectiveNoFileComp
		case arguments == nil:
			return nil, cobra.ShellCompDirectiveDefault
		}
		return arguments(cmd, args, typed)
	}
}

// choose completes one of words. After a word that ends in a colon, the shell adds no space.
func choose(words []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		directive := cobra.ShellCompDirectiveNoFileComp
		var out []string
		for _, w := range words {
			if strings.HasPrefix(w, typed) {
				out = append(out, w)
			}
		}
		if len(out) == 1 && strings.HasSuffix(out[0], ":") {
			directive |= cobra.ShellCompDirectiveNoSpace
		}
		return out, directive
	}
}

// afterFirst suggests nothing for the first argument, such as the number of a goroutine, and leaves the others to the shell.
func afterFirst(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveDefault
}

// completeTool completes the flags of another tool, and leaves the rest to the shell.
func completeTool(flags func() *flag.FlagSet) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if !strings.HasPrefix(typed, "-") || strings.Contains(typed, "=") {
			return nil, cobra.ShellCompDirectiveDefault
		}
		dashes := typed[:len(typed)-len(strings.TrimLeft(typed, "-"))]
		var out []cobra.Completion
		flags().VisitAll(func(f *flag.Flag) {
			if name := dashes + f.Name; strings.HasPrefix(name, typed) {
				_, about := flag.UnquoteUsage(f)
				about, _, _ = strings.Cut(about, "\n")
				out = append(out, cobra.CompletionWithDesc(name, strings.TrimSuffix(about, ":")))
			}
		})
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}
