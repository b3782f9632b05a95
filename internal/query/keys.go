package query

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/hone-perf/hone/internal/hint"
)

// A Key is one setting of a query: how it is written and what it means. The prompt, URLs, flags, help and completion
// all follow from it.
type Key struct {
	Name    string
	Short   string   // one-letter flag, or ""
	Value   string   // name of the value in help; "" for a switch, which has no value
	Doc     string   // one line
	Choices []string // valid values; a name follows one that ends in a colon
	Example string   // an example of a value
	Pprof   string   // name in go tool pprof, if different
	Repeats bool     // further values are added; otherwise the last one counts
	Matches bool     // its value is a pattern for the names of functions

	kind
}

// Keys are all keys, in the order of help and of written queries.
var Keys = []Key{
	{
		Name: "ref", Value: "REF", Example: "cpu.pprof", Repeats: true,
		Doc:  "what to look at: a file, a URL, host:port",
		kind: list("what to look at", func(q *Query) *[]string { return &q.Refs }),
	},
	{
		Name: "base", Value: "REF", Example: "old.pprof", Repeats: true, Pprof: "diff_base",
		Doc:  "compare with this profile, recording or trace",
		kind: list("profile to compare with", func(q *Query) *[]string { return &q.Base }),
	},
	{
		Name: "base-tag", Value: "KEY=RX", Example: "endpoint=/cart", Repeats: true,
		Doc:  "compare with the samples whose label matches: those of the base, or without a base, of the same profile",
		kind: list("a label", func(q *Query) *[]string { return &q.BaseTags }),
	},
	{
		Name: "metric", Value: "TYPE", Example: "alloc_space", Pprof: "sample_index",
		Doc:  "sample type to show, by name or number",
		kind: text("a sample type", func(q *Query) *string { return &q.Metric }),
	},
	{
		Name: "at", Value: "FROM..TO", Example: "3s..9s",
		Doc:  "show only a part of the time, such as 3s..9s, or the profile or trace that covers a moment, such as 5s",
		kind: span(func(q *Query) *Span { return &q.At }),
	},
	{
		Name: "focus", Value: "RX", Example: "json", Repeats: true, Matches: true,
		Doc:  "keep samples with a matching frame",
		kind: step(Focus),
	},
	{
		Name: "ignore", Value: "RX", Example: "runtime", Repeats: true, Matches: true,
		Doc:  "drop samples with a matching frame",
		kind: step(Ignore),
	},
	{
		Name: "hide", Value: "RX", Example: "^runtime", Repeats: true, Matches: true,
		Doc:  "remove matching frames from stacks",
		kind: step(Hide),
	},
	{
		Name: "show", Value: "RX", Example: "^main", Repeats: true, Matches: true,
		Doc:  "remove all other frames from stacks",
		kind: step(Show),
	},
	{
		Name: "show-from", Value: "RX", Example: "ServeHTTP", Repeats: true, Matches: true, Pprof: "show_from",
		Doc:  "cut the callers of the outermost matching frame",
		kind: step(ShowFrom),
	},
	{
		Name: "prune-from", Value: "RX", Example: "mallocgc", Repeats: true, Matches: true, Pprof: "prune_from",
		Doc:  "cut the callees of the innermost matching frame",
		kind: step(PruneFrom),
	},
	{
		Name: "collapse-package", Value: "RX", Example: "^encoding/json$", Repeats: true,
		Doc:  "show the calls inside a matching package as one frame",
		kind: step(CollapsePackage),
	},
	{
		Name: "collapse-recursion", Value: "RX", Example: "^main.walk$", Repeats: true, Matches: true,
		Doc:  "show a matching function once where it calls itself, directly or through others",
		kind: step(CollapseRecursion),
	},
	{
		Name: "tag", Value: "KEY=RX", Example: "endpoint=/checkout", Repeats: true, Pprof: "tagfocus",
		Doc:  "keep samples with a matching label; for numbers, give a range: bytes=1kb: is 1kB or more",
		kind: step(TagFocus),
	},
	{
		Name: "tag-ignore", Value: "KEY=RX", Example: "endpoint=/healthz", Repeats: true, Pprof: "tagignore",
		Doc:  "drop samples with a matching label",
		kind: step(TagIgnore),
	},
	{
		Name: "tag-show", Value: "RX", Example: "^endpoint$", Repeats: true, Pprof: "tagshow",
		Doc:  "keep only labels with a matching key",
		kind: step(TagShow),
	},
	{
		Name: "tag-hide", Value: "RX", Example: "^user$", Repeats: true, Pprof: "taghide",
		Doc:  "drop labels with a matching key",
		kind: step(TagHide),
	},
	{
		Name: "tag-root", Value: "KEY,…", Example: "endpoint", Repeats: true, Pprof: "tagroot",
		Doc:  "add label values as outermost frames",
		kind: step(TagRoot),
	},
	{
		Name: "tag-leaf", Value: "KEY,…", Example: "bytes", Repeats: true, Pprof: "tagleaf",
		Doc:  "add label values as innermost frames",
		kind: step(TagLeaf),
	},
	{
		Name: "by", Value: "WHAT", Example: "line", Pprof: "granularity",
		Doc:     "group by function, line, file, package, module, address or label:KEY",
		Choices: shownGroupings,
		kind:    oneOf(groupings, func(q *Query) *string { return &q.By }),
	},
	{
		Name: "sort", Value: "ORDER", Example: "cum",
		Doc:     "rank by flat (the function itself) or cum (with its callees)",
		Choices: orders,
		kind:    oneOf(orders, func(q *Query) *string { return &q.Sort }),
	},
	{
		Name: "limit", Short: "n", Value: "N", Example: "20", Pprof: "nodecount",
		Doc:  "how many rows to show, or all",
		kind: limit(func(q *Query) *int { return &q.Limit }),
	},
	{
		Name: "min", Value: "SHARE", Example: "1%", Pprof: "nodefraction",
		Doc:  "leave out rows below this share of the total; 0 keeps all",
		kind: share(func(q *Query) *float64 { return &q.Min }),
	},
	{
		Name: "min-edge", Value: "SHARE", Example: "0.1%", Pprof: "edgefraction",
		Doc:  "leave out calls below this share of the total; 0 keeps all",
		kind: share(func(q *Query) *float64 { return &q.MinEdge }),
	},
	{
		Name: "process", Value: "N", Example: "2",
		Doc:  "if several processes wrote to the log, show only this one",
		kind: ordinal(func(q *Query) *int { return &q.Process }),
	},
	{
		Name: "privacy",
		Doc:  "list what the file reveals to others: sources, arguments, host, user names, environment, labels, URLs",
		kind: toggle(func(q *Query) *bool { return &q.Privacy }),
	},
	{
		Name: "noinlines",
		Doc:  "charge inlined calls to the function that they were inlined into",
		kind: toggle(func(q *Query) *bool { return &q.NoInlines }),
	},
	{
		Name: "columns", Pprof: "showcolumns",
		Doc:  "tell calls on the same line apart by their columns",
		kind: toggle(func(q *Query) *bool { return &q.Columns }),
	},
	{
		Name: "mean",
		Doc:  "show the mean: the value divided by the first sample type, such as delay per contention",
		kind: toggle(func(q *Query) *bool { return &q.Mean }),
	},
	{
		Name: "relative", Pprof: "relative_percentages",
		Doc:  "show percentages of the total that remains after filtering",
		kind: toggle(func(q *Query) *bool { return &q.Relative }),
	},
	{
		Name: "positive", Pprof: "drop_negative",
		Doc:  "when comparing, leave out what decreased",
		kind: toggle(func(q *Query) *bool { return &q.Positive }),
	},
	{
		Name: "call-tree", Pprof: "call_tree",
		Doc:  "draw a separate node for each call path",
		kind: toggle(func(q *Query) *bool { return &q.CallTree }),
	},
	{
		Name: "root", Value: "CALLS", Example: "main.main;main.work",
		Doc:  "start at this call: frames from the outermost, separated by semicolons",
		kind: text("frames with semicolons between", func(q *Query) *string { return &q.Root }),
	},
	{
		Name: "depth", Value: "N", Example: "3",
		Doc:  "how many levels of calls to show",
		kind: ordinal(func(q *Query) *int { return &q.Depth }),
	},
	{
		Name: "invert",
		Doc:  "invert the graph: innermost frames first, then their callers",
		kind: toggle(func(q *Query) *bool { return &q.Invert }),
	},
	{
		Name: "collapse",
		Doc:  "show a cycle of recursive calls once, such as f calling itself, or f and g calling each other",
		kind: toggle(func(q *Query) *bool { return &q.Collapse }),
	},
	{
		Name: "gone",
		Doc:  "when comparing, also draw functions that disappeared, with their old width",
		kind: toggle(func(q *Query) *bool { return &q.Gone }),
	},
	{
		Name: "normalize",
		Doc:  "when comparing, scale one side to the total of the other",
		kind: toggle(func(q *Query) *bool { return &q.Normalize }),
	},
	{
		Name: "per", Value: "WHAT", Example: "second",
		Doc:     "when comparing, divide each side by the time that was profiled: second compares cores, bytes/s, and live memory per process",
		Choices: scales,
		kind:    oneOf(scales, func(q *Query) *string { return &q.Per }),
	},
	{
		Name: "divide", Value: "N", Example: "60", Pprof: "divide_by",
		Doc:  "divide values by this number",
		kind: factor(func(q *Query) *float64 { return &q.Divide }),
	},
	{
		Name: "unit", Value: "UNIT", Example: "ms",
		Doc:  "show values in this unit",
		kind: text("a unit", func(q *Query) *string { return &q.Unit }),
	},
	{
		Name: "source-path", Value: "DIRS", Example: "src", Pprof: "source_path",
		Doc:  "directories to look for sources in",
		kind: text("directories", func(q *Query) *string { return &q.SourcePath }),
	},
	{
		Name: "trim-path", Value: "DIRS", Example: "/build", Pprof: "trim_path",
		Doc:  "prefixes to remove from recorded file names",
		kind: text("prefixes of file names", func(q *Query) *string { return &q.TrimPath }),
	},
}

var (
	groupings = []string{"function", "filefunction", "line", "file", "package", "module", "address", "label:"}
	orders    = []string{"flat", "cum"}
	scales    = []string{PerSecond}

	// pprof has filefunctions, for functions of one name in several files. It works in hone, and is not offered.
	shownGroupings = slices.DeleteFunc(slices.Clone(groupings), func(by string) bool { return by == "filefunction" })
)

// cum is short for sort=cum. Cum sorts by total cost; it is also a switch.
const Cum = "cum"

// PerSecond is the value of per.
const PerSecond = "second"

// Find returns the key called name, or nil.
func Find(name string) *Key {
	for i := range Keys {
		if Keys[i].Name == name {
			return &Keys[i]
		}
	}
	return nil
}

// Switch reports whether k needs no value.
func (k *Key) Switch() bool { return k.Value == "" }

// Set sets the key in q to the value that text spells.
func (k *Key) Set(q *Query, text string) error {
	if text == "" && !k.Switch() {
		return k.wrong(text)
	}
	return k.kind.set(k, q, text)
}

// Values returns the values of the key in q: none if it has its default. For a step, q has them in order with those of other steps.
func (k *Key) Values(q *Query) []string {
	if k.op != "" {
		return nil
	}
	return k.get(q)
}

// wrong is the error for an invalid value of k.
func (k *Key) wrong(text string) error {
	msg := "want " + k.want
	if near := Nearest(text, k.Choices); near != "" {
		msg += "; did you mean " + near + "?"
	}
	return errors.New(msg)
}

// A kind is how values of a key are parsed and written.
type kind struct {
	want string // description of valid values
	op   Op     // operation of the step that a value adds; get is nil then
	set  func(k *Key, q *Query, text string) error
	get  func(q *Query) []string // nil for the default
}

func text(want string, field func(*Query) *string) kind {
	return kind{
		want: want,
		set:  func(_ *Key, q *Query, text string) error { *field(q) = text; return nil },
		get:  func(q *Query) []string { return unless(*field(q) == "", *field(q)) },
	}
}

func list(want string, field func(*Query) *[]string) kind {
	return kind{
		want: want,
		set:  func(_ *Key, q *Query, text string) error { *field(q) = append(*field(q), text); return nil },
		get:  func(q *Query) []string { return *field(q) },
	}
}

func oneOf(choices []string, field func(*Query) *string) kind {
	k := text(enumerate(choices), field)
	set := k.set
	k.set = func(k *Key, q *Query, text string) error {
		if !slices.ContainsFunc(choices, func(c string) bool {
			if strings.HasSuffix(c, ":") {
				return strings.HasPrefix(text, c) && len(text) > len(c)
			}
			return text == c
		}) {
			return k.wrong(text)
		}
		return set(k, q, text)
	}
	return k
}

// enumerate lists choices for a sentence.
func enumerate(choices []string) string {
	if len(choices) == 1 {
		return choices[0]
	}
	out := strings.Join(choices[:len(choices)-1], ", ") + " or " + choices[len(choices)-1]
	if strings.HasSuffix(out, ":") {
		out += "KEY"
	}
	return out
}

func toggle(field func(*Query) *bool) kind {
	return kind{
		want: "true or false",
		set: func(k *Key, q *Query, text string) error {
			on, err := strconv.ParseBool(text)
			if text != "" && err != nil {
				return k.wrong(text)
			}
			*field(q) = on || text == ""
			return nil
		},
		get: func(q *Query) []string { return unless(!*field(q), "true") },
	}
}

func limit(field func(*Query) *int) kind {
	return kind{
		want: "a number of rows, or all",
		set: func(k *Key, q *Query, text string) error {
			n, err := strconv.Atoi(text)
			switch {
			case text == "all":
				n = 0
			case err != nil || n < -1:
				return k.wrong(text)
			}
			if n == 0 {
				n = -1 // zero rows make no sense, and zero in a Query is the view's default
			}
			*field(q) = n
			return nil
		},
		get: func(q *Query) []string {
			if *field(q) < 0 {
				return []string{"all"}
			}
			return unless(*field(q) == 0, strconv.Itoa(*field(q)))
		},
	}
}

func share(field func(*Query) *float64) kind {
	return kind{
		want: "a share of the total such as 0.5% or 0.005",
		set: func(k *Key, q *Query, text string) error {
			number, percent := strings.CutSuffix(text, "%")
			v, err := strconv.ParseFloat(number, 64)
			if percent {
				v /= 100
			}
			if err != nil || !(v >= 0 && v <= 1) {
				return k.wrong(text)
			}
			if v == 0 {
				v = -1 // zero in a Query is the view's default
			}
			*field(q) = v
			return nil
		},
		get: func(q *Query) []string {
			v := *field(q)
			return unless(v == 0, strconv.FormatFloat(max(v, 0), 'g', -1, 64))
		},
	}
}

func factor(field func(*Query) *float64) kind {
	return kind{
		want: "a number above 0",
		set: func(k *Key, q *Query, text string) error {
			v, err := strconv.ParseFloat(text, 64)
			if err != nil || !(v > 0) || math.IsInf(v, 0) {
				return k.wrong(text)
			}
			*field(q) = v
			return nil
		},
		get: func(q *Query) []string {
			return unless(*field(q) == 0, strconv.FormatFloat(*field(q), 'g', -1, 64))
		},
	}
}

func step(op Op) kind {
	k := kind{op: op, want: "a regexp"}
	check := CheckRegexp
	switch op {
	case TagFocus, TagIgnore:
		k.want = "KEY=REGEXP, a regexp for KEY:VALUE, or a range such as bytes=1kb:2mb"
		check = checkTag
	case TagRoot, TagLeaf:
		k.want = "label keys with commas between them"
		check = nil
	}
	k.set = func(_ *Key, q *Query, text string) error {
		switch op {
		case TagFocus, TagIgnore, TagRoot, TagLeaf, TagShow, TagHide: // about labels
		default:
			text = Pattern(text)
		}
		if check != nil {
			if err := check(text); err != nil {
				return err
			}
		}
		q.Steps = append(q.Steps, Step{op, text})
		return nil
	}
	return k
}

func unless(absent bool, text string) []string {
	if absent {
		return nil
	}
	return []string{text}
}

// rangeRx matches the arguments of tag steps that are ranges of numbers.
var rangeRx = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^:?[+-]?[0-9]+[[:alpha:]]*(:([+-]?[0-9]+[[:alpha:]]*)?)?$`)
})

// checkTag checks the argument of a tag step.
func checkTag(arg string) error {
	at := strings.IndexByte(arg, '=') + 1
	if rangeRx().MatchString(arg[at:]) {
		return nil
	}
	for part := range strings.SplitSeq(arg[at:], ",") {
		if err := checkRegexpAt(part, utf8.RuneCountInString(arg[:at])); err != nil {
			return err
		}
		at += len(part) + len(",")
	}
	return nil
}

// CheckRegexp returns an error that shows the place of a mistake in a regexp, or nil.
func CheckRegexp(arg string) error { return checkRegexpAt(arg, 0) }

// checkRegexpAt is CheckRegexp for a regexp after some number of characters.
func checkRegexpAt(arg string, before int) error {
	_, err := regexp.Compile(arg)
	if err == nil {
		return nil
	}
	const longest = 500 // do not search in longer ones, because the time is quadratic
	var mistake *syntax.Error
	if !errors.As(err, &mistake) || mistake.Code == syntax.ErrLarge || mistake.Code == syntax.ErrNestingDepth ||
		len(arg) > longest {
		return err // the error concerns the whole regexp
	}
	// The error of the parser has the invalid piece but not its place. The mistake is after the longest prefix that is a valid regexp.
	at := len(arg) - 1
	for ; at > 0; at-- {
		if _, err := syntax.Parse(arg[:at], syntax.Perl); err == nil {
			break
		}
	}
	if mistake.Expr != "" && mistake.Expr != arg {
		from := max(0, at-len(mistake.Expr)+1)
		if i := strings.Index(arg[from:], mistake.Expr); i >= 0 {
			at = from + i
		}
	}
	for at > 0 && !utf8.RuneStart(arg[at]) {
		at--
	}
	const says = "%s at character %d, %s"
	place, rest := before+utf8.RuneCountInString(arg[:at])+1, shown(arg[at:])
	if strings.Contains(arg, "(*") { // the name of a method, as answers show it
		return hint.Errorf(hint.Text{"patterns are regular expressions; to match this name, write '" + quoteName(arg) + "'"}, says, mistake.Code, place, rest)
	}
	return fmt.Errorf(says, mistake.Code, place, rest)
}

// shown quotes text for a message. It escapes backslashes only if necessary, because regexps are full of them.
func shown(text string) string {
	if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(text)
	}
	return `"` + text + `"`
}

// Nearest returns the name that is most like name, or "" if none is similar.
func Nearest(name string, names []string) string {
	best, least := "", 1+len(name)/5 // two typos in four letters make another word, such as fast and test
	for _, n := range names {
		if d := slips(name, n); d <= min(least, 2) && (best == "" || d < least) {
			best, least = n, d
		}
	}
	return best
}

// slips returns the number of letters to insert, delete, replace or swap with a neighbor to turn a into b.
func slips(a, b string) int {
	x, y := []rune(a), []rune(b)
	if d := len(x) - len(y); d > 2 || d < -2 {
		return 3 // too different to be a typo
	}
	// Rows of the dynamic programming table of distances.
	before, last, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range y {
			replace := last[j]
			if x[i] != y[j] {
				replace++
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, replace)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(y)]
}
