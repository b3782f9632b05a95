// Package query holds a question about recordings as one flat value.
//
// A Query has the same spelling in flags, at the prompt, in a URL and in saved links: the table of keys in keys.go
// says how each field is written and read, and everything else follows from it.
package query

// A Query is a question. The zero value of each field means the usual.
type Query struct {
	View string   // top, tree, list, …
	Arg  string   // what the view is about: the functions of list and peek, the labels of tags; a regexp
	Refs []string // what is asked about
	Base []string // what it is compared with

	BaseTags []string // labels that samples of the base have, key=regexp, in place of those that Steps keep

	Metric string // sample type by name or number; "" is the profile's default
	Steps  []Step // filters, applied in order
	By     string // function, filefunction, line, file, package, module, address or label:KEY; "" is the view's default
	Sort   string // flat or cum; "" is flat
	Limit  int    // rows; 0 is the view's default, -1 is all

	// Rows below Min and calls below MinEdge are left out; both are shares of the total. 0 is the view's default and
	// -1 is nothing left out.
	Min     float64
	MinEdge float64

	At      Span // only what happened then
	Privacy bool // what is there for others to see
	Process int  // one of the processes that share a log, from 1 on; 0 is the one that says most

	NoInlines bool    // charge inlined calls to the function that they were inlined into
	Columns   bool    // keep columns of a line apart
	Mean      bool    // divide by the first sample type
	Relative  bool    // percentages are of what is left after the filters
	Positive  bool    // leave out rows whose value is negative, in differences
	CallTree  bool    // draw a separate node for each call path
	Root      string  // the call that a flame graph begins with: frames from the outermost, with semicolons between
	Depth     int     // levels of calls to show below that; 0 is all
	Invert    bool    // callees above their callers
	Collapse  bool    // a function that calls itself is one
	Gone      bool    // in a difference, draw what is gone at its old width
	Normalize bool    // scale to the total of the base
	Divide    float64 // divide values by this number; 0 is 1
	Unit      string  // show values in this unit; "" chooses one

	// PProf is set by hone pprof and has no spelling: sums that overflow, and the magnitude of −2⁶³, are what they are in pprof, and
	// names of files are taken apart by the rules of the system that reads them, not of the one that made them.
	PProf bool

	SourcePath string // directories to look for sources in
	TrimPath   string // prefixes to remove from recorded file names
}

// A Step is one filter.
type Step struct {
	Op  Op
	Arg string // a regexp, or for tags key=regexp or a range such as bytes=1kb:
}

// An Op says what a Step does.
type Op string

// The steps there are.
const (
	Focus             Op = "focus"              // keep samples with a matching frame
	Ignore            Op = "ignore"             // drop samples with a matching frame
	Hide              Op = "hide"               // remove matching frames from stacks
	Show              Op = "show"               // remove all other frames from stacks
	ShowFrom          Op = "show-from"          // cut the callers of the outermost matching frame
	PruneFrom         Op = "prune-from"         // cut the callees of the innermost matching frame
	CollapsePackage   Op = "collapse-package"   // one frame for each run of frames of a package that matches
	CollapseRecursion Op = "collapse-recursion" // one call of a matching function in each stack, without what got it back to itself
	TagFocus          Op = "tag"                // keep samples with a matching label
	TagIgnore         Op = "tag-ignore"         // drop samples with a matching label
	TagShow           Op = "tag-show"           // keep only labels with a matching key
	TagHide           Op = "tag-hide"           // drop labels with a matching key
	TagRoot           Op = "tag-root"           // label values as outermost frames; a list of keys
	TagLeaf           Op = "tag-leaf"           // label values as innermost frames; a list of keys
)
