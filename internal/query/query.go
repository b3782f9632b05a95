// Package query holds a question about recordings as one flat value.
//
// A Query has the same spelling in flags, at the prompt, in a URL and in saved links: the table of keys in keys.go
// says how each field is written and read, and everything else follows from it.
package query

// A Query is a question. The zero value of each field is the default.
type Query struct {
	View string   // top, tree, list, …
	Arg  string   // argument of the view, such as a regexp for the functions of list and peek or the labels of tags
	Refs []string // what to analyze
	Base []string // what to compare with

	BaseTags []string // labels that select the samples of the base, key=regexp, instead of those in Steps

	Metric string // sample type by name or number; "" is the profile's default
	Steps  []Step // filters, applied in order
	By     string // function, filefunction, line, file, package, module, address or label:KEY; "" is the view's default
	Sort   string // flat or cum; "" is flat
	Limit  int    // rows; 0 is the view's default, -1 is all

	// Rows below Min and calls below MinEdge are omitted; both are shares of the total. 0 is the view's default, and -1 omits nothing.
	Min     float64
	MinEdge float64

	At      Span // time range
	Privacy bool // list what others could learn from a shared recording
	Process int  // number of a process in a log with several, from 1; 0 means the one with most lines

	NoInlines bool    // charge inlined calls to the function that they were inlined into
	Columns   bool    // distinguish columns of a line
	Mean      bool    // divide by the first sample type
	Relative  bool    // percentages of the total after the filters
	Positive  bool    // omit negative rows of a difference
	CallTree  bool    // a separate node for each call path
	Root      string  // first call of a flame graph: frames from the outermost, separated by semicolons
	Depth     int     // levels of calls below Root; 0 means all
	Invert    bool    // callees above their callers
	Collapse  bool    // show a cycle of calls once
	Gone      bool    // in a difference, draw removed calls with their old width
	Normalize bool    // scale to the total of the base
	Per       string  // second: compare what one process costs per second; "" compares sums
	Divide    float64 // 0 means 1
	Unit      string  // show values in this unit; "" chooses one

	// PProf is set by hone pprof and has no spelling. Overflowing sums and the magnitude of −2⁶³ are then as in pprof, and file names follow the
	// rules of this system, instead of the system that wrote the profile.
	PProf bool

	SourcePath string // folders with sources
	TrimPath   string // prefixes to remove from recorded file names
}

// A Step is a filter.
type Step struct {
	Op  Op
	Arg string // a regexp, or for tags key=regexp or a range such as bytes=1kb:
}

// An Op is the operation of a Step.
type Op string

// The operations.
const (
	Focus             Op = "focus"              // keep samples with a matching frame
	Ignore            Op = "ignore"             // drop samples with a matching frame
	Hide              Op = "hide"               // remove matching frames from stacks
	Show              Op = "show"               // remove all other frames from stacks
	ShowFrom          Op = "show-from"          // cut the callers of the outermost matching frame
	PruneFrom         Op = "prune-from"         // cut the callees of the innermost matching frame
	CollapsePackage   Op = "collapse-package"   // merge consecutive frames of a matching package
	CollapseRecursion Op = "collapse-recursion" // merge recursive calls of a matching function, with the calls between them
	TagFocus          Op = "tag"                // keep samples with a matching label
	TagIgnore         Op = "tag-ignore"         // drop samples with a matching label
	TagShow           Op = "tag-show"           // keep only labels with a matching key
	TagHide           Op = "tag-hide"           // drop labels with a matching key
	TagRoot           Op = "tag-root"           // label values as outermost frames; a list of keys
	TagLeaf           Op = "tag-leaf"           // label values as innermost frames; a list of keys
)
