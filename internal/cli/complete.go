package cli

import (
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hone-perf/hone/internal/profile"
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

// completions tells shells the values that the flags of cmd take. Shells complete file names themselves.
func completions(cmd *cobra.Command) {
	v, isView := views.Find(cmd.Name())
	if _, _, none := readsNone(cmd.Name()); !none && !(isView && v.Part != view.Profile) && cmd.ValidArgsFunction == nil {
		cmd.ValidArgsFunction = completeRef
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		k := query.Find(f.Name)
		var complete cobra.CompletionFunc
		switch {
		case f.Name == "metric":
			complete = func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
				return metrics(args), cobra.ShellCompDirectiveNoFileComp
			}
		case f.Name == "symbolize":
			complete = choose(symbolizers)
		case k != nil && len(k.Choices) > 0:
			complete = choose(k.Choices)
		case f.Name == "base":
			complete = completeRef
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
	})
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

// argCompletion completes the refs of a view. It suggests nothing for the argument of the view, such as a function name.
func argCompletion(v *view.View) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if v.Arg != "" && len(args) == 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return completeRef(cmd, args, typed)
	}
}

// metrics returns the sample types of the first file that has any.
func metrics(files []string) []cobra.Completion {
	for _, name := range files {
		if st, err := os.Stat(name); err != nil || !st.Mode().IsRegular() {
			continue // completion must not wait for a pipe
		}
		f, err := os.Open(name)
		if err != nil {
			continue
		}
		p, err := profile.Parse(f)
		f.Close()
		if err != nil {
			continue
		}
		var out []cobra.Completion
		for _, t := range p.SampleTypes {
			out = append(out, cobra.CompletionWithDesc(t.Type, t.Unit))
		}
		return out
	}
	return nil
}
