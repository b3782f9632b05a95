package cli

import (
	"context"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/hone-perf/hone/internal/source"
	"github.com/hone-perf/hone/internal/store"
)

// readsNone reports whether a command reads no profiles, and therefore no store. about is the reason; instead is what to do with a store ref, or "".
func readsNone(command string) (about, instead string, is bool) {
	switch command {
	case "ab":
		return "it sends requests to a server", "", true
	case "bench":
		return "it runs or reads benchmarks", "hone top REF shows what costs most, hone diff OLD NEW what changed", true
	case "benchcmp", "benchstat":
		return "it compares benchmark results", "", true
	case "compare", "prove":
		return "it runs two versions of code", "hone diff OLD NEW compares profiles", true
	case "completion":
		return "it prints a completion script", "", true
	case "events":
		return "it takes the name of a service, without store:", "", true
	case "help":
		return "it describes commands", "", true
	case "init":
		return "it writes a file for CI", "", true
	case "load":
		return "it sends requests to a server, or shows a load run", "hone top REF shows what costs most", true
	case "mcp":
		return "its tools read them: hone mcp --store URL names the store", "", true
	case "push":
		return "it sends files, not refs", "hone merge -o FILE.hone REF writes a file with its profiles", true
	case "race":
		return "it runs tests and programs", "", true
	case "record":
		return "it runs a program or asks a server", "hone merge -o FILE.hone REF writes a file with its profiles", true
	case "serve":
		return "it is the store", "", true
	case "services":
		return "it shows all services", "hone top REF shows what costs most in one", true
	case "shelf":
		return "it lists recordings that were shared", "hone merge -o FILE.hone REF writes a file that hone push can share", true
	case "targets":
		return "it shows which targets of the store fail", "", true
	case "time":
		return "it runs a program", "", true
	case "tour":
		return "it runs a practice program", "", true
	case "version":
		return "it prints the version of hone", "", true
	}
	return "", "", false
}

// refuseStored returns an error if args of a command that reads no profiles have a store ref.
func refuseStored(cmd *cobra.Command, args []string) error {
	top := cmd
	for top.HasParent() && top.Parent().HasParent() {
		top = top.Parent()
	}
	about, instead, is := readsNone(top.Name())
	if !is {
		return nil
	}
	for _, a := range args {
		if a == "--" {
			return nil // the arguments after it are for a program
		}
		if source.IsStored(a) {
			return usagef(strings.ReplaceAll(instead, "REF", quoted(a)), "%s takes no profiles from a store, such as %s: %s", top.Name(), quoted(a), about)
		}
	}
	return nil
}

// completionPatience is how long completion waits for the store.
const completionPatience = 700 * time.Millisecond

// toComplete matches an incomplete store ref. Its groups are the address of the store, the service, the matchers before the last, and the last
// matcher.
var toComplete = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^((?:https?://[^?#{}"]+?/)?store:)([^{}@"]*)(?:\{((?:[^{}"]|"(?:[^"\\]|\\.)*")*(?:"[^"]*)?))?$`)
})

// completeRef completes file names, and refs that begin with store: from the contents of the store.
func completeRef(cmd *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	const files = cobra.ShellCompDirectiveDefault
	if len(typed) >= 2 && len(typed) < len(source.StorePrefix) && strings.HasPrefix(source.StorePrefix, typed) {
		return []cobra.Completion{source.StorePrefix}, files | cobra.ShellCompDirectiveNoSpace
	}
	before, times, ok := cutTimes(typed)
	if ok {
		var out []cobra.Completion
		for _, t := range []string{"-15m", "-1h", "-6h", "-1d", "-7d", "today", "yesterday..today", "-2h..-1h"} {
			if strings.HasPrefix(t, times) {
				out = append(out, before+"@"+t)
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
	m := toComplete().FindStringSubmatch(typed)
	if m == nil {
		return nil, files
	}
	ctx, stop := context.WithTimeout(cmd.Context(), completionPatience)
	defer stop()
	address := strings.TrimSuffix(strings.TrimSuffix(m[1], source.StorePrefix), "/")
	if braces := strings.IndexByte(typed, '{'); braces >= 0 {
		return completeMatcher(ctx, address, m[2], typed[:braces+1], m[3])
	}
	var out []cobra.Completion
	for _, name := range source.Names(ctx, address, "", store.ServiceLabel, m[2]) {
		if plainName().MatchString(name) {
			out = append(out, m[1]+name)
		}
	}
	if len(out) == 1 && out[0] == typed {
		out = []cobra.Completion{typed, typed + "@", typed + "{"}
	}
	return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// completeFirst completes the first word, usually a command.
func completeFirst(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if strings.Contains(typed, source.StorePrefix) {
		return completeRef(cmd, args, typed)
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// cutTimes splits the time off an incomplete store ref.
func cutTimes(typed string) (before, times string, ok bool) {
	before, times = store.SplitRef(typed)
	if !strings.HasPrefix(before, source.StorePrefix) && !strings.Contains(before, "/"+source.StorePrefix) {
		return "", "", false
	}
	return before, times, len(before) < len(typed)
}

// plainName matches names that need no quotes in shells and refs.
var plainName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_.:/+-]+$`) })

// completeMatcher completes the last matcher in braces.
func completeMatcher(ctx context.Context, address, service, before, matchers string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if i := strings.LastIndexByte(matchers, ','); i >= 0 {
		before += matchers[:i+1]
		matchers = matchers[i+1:]
	}
	const more = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	var out []cobra.Completion
	label, value, set := strings.Cut(matchers, "=")
	label, not := strings.CutSuffix(label, "!")
	op := "="
	if not {
		op = "!="
	}
	if !set {
		for _, name := range source.Names(ctx, address, service, "", label) {
			if name != store.ServiceLabel && plainName().MatchString(name) {
				out = append(out, before+name+"=")
			}
		}
		return out, more
	}
	quote := ""
	if word, ok := strings.CutPrefix(value, `"`); ok {
		quote, value = `"`, word
	}
	if strings.ContainsAny(value, `"~`) {
		return nil, more
	}
	for _, v := range source.Names(ctx, address, service, label, value) {
		if plainName().MatchString(v) {
			out = append(out, before+label+op+quote+v+quote+"}")
		}
	}
	return out, more
}
