package report

import (
	"iter"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/profile"
)

// A Block is one of the few shapes that renderers know. Reports are cut into blocks; a new report needs no new
// code in any renderer.
//
// Items are what cells, facts and phrases are made of: string, Name, Qualified, ID, Dimension, int, Value, Share, Change, Growth, Measured,
// Delta, Relative, Interval, Judgment, Trend, Indented, time.Time, time.Duration, heapgraph.Note, Phrase, hint.Option, hint.Command, hint.Text, and nil for nothing.
type Block interface{ block() }

// A Heading says in a line or two what an answer is about.
type Heading struct{ Lines []Phrase }

// A Title is the answer itself, in a few words.
type Title struct{ Text string }

// Details are blocks that one reader in ten wants to see: where there is a way to fold them, they are.
type Details struct {
	Title  string
	Blocks []Block
}

// A Note is a caveat or a remark.
type Note struct{ Text Phrase }

// A Phrase is items that read as one text.
type Phrase []any

// A Sep stands between parts of a Phrase that have nothing to do with each other.
type Sep struct{}

// Facts are names and values, such as what a profile says about itself.
type Facts struct{ Items []Fact }

// A Fact is one name and its value.
type Fact struct {
	Name  string
	Value any // an item
}

// A Table has columns with a heading and rows of items.
type Table struct {
	Group   string // what Title names, when tables with the same columns follow each other: key
	Title   string
	Summary Phrase // what the title stands for
	Columns []Column
	Rows    [][]any
}

// Strips are blocks in which tables have strips: pictures of one line of text, whose places stand for times. A renderer chooses how many places wide
// all of them are: StripPlaces, or fewer where lines are shorter. Strips are in columns with Whole.
type Strips struct {
	Draw func(places int) []Block
}

// StripPlaces is how wide strips are where there is room.
const StripPlaces = 72

// A Column of a Table.
type Column struct {
	Name   string
	Unit   string // of its Values and Changes, when they all have the same
	Shared bool   // the Shares of its Values are in the next column
	Bar    bool   // a bar may be drawn beside its Shares
	Path   bool   // its text may be cut on the left when there is no room
	Whole  bool   // its text stays on one line
	Wraps  bool   // its text takes several lines where there is no room, as that of the last column does
	Ends   bool   // it holds Intervals, which are two numbers to a program
}

// A Calls is frames between those that call them and those that they call.
type Calls struct {
	Measure *Measure
	Nodes   []CallNode
}

// A CallNode is a frame with its neighbors, each heaviest first.
type CallNode struct {
	Name             Name
	Flat, Cum        int64
	Callers, Callees []Call
}

// A Call is a neighbor of a frame and what the calls between the two cost.
type Call struct {
	Name Name
	V    int64
}

// A Listing is source text with costs beside its lines.
type Listing struct {
	Title   string // function
	File    string // "" when it is not known
	Found   string // where the file was found, when that is elsewhere
	Measure *Measure
	Flat    int64
	Cum     int64
	Before  *Cost2 // what it cost before, when two sides are compared
	Lines   []SourceLine
	Notes   []string
	Error   string // why there is no text
}

// A FlameBlock is a tree of frames and what they cost.
type FlameBlock struct {
	Measure *Measure
	Root    *FlameNode
	Below   int64 // what costs less is too small to be told apart; 0 is nothing
	Callers bool  // below a frame is what calls it: what a caller costs by itself is not told
	Table   bool  // it is to be read, not drawn
}

// Commands are what can be asked next.
type Commands struct {
	Title string
	Items []hint.Command
}

// Stacks are stacks and what each costs. There may be millions, so they are made one at a time.
type Stacks struct {
	Measure *Measure
	Each    iter.Seq[*Stack] // the Stack is only valid until the next one
}

// A Stack is frames, leaf first.
type Stack struct {
	V      int64
	Labels []Fact
	Frames []Name
}

// A Dump is a profile entry by entry.
type Dump struct{ Profile *profile.Profile }

// Plain is lines of text in a format of their own.
type Plain struct{ Text string }

// Lines is the same for as many lines as there may be, without their ends. They are made one at a time.
type Lines struct{ Each iter.Seq[string] }

// A Measure is what values that belong together have in common. Renderers show all of them in one unit, so that they
// can be compared at a glance.
type Measure struct {
	Unit  string // of the values
	Show  Show   // how the asker wants them
	Total int64  // the whole that they are part of
	Mean  bool   // see Head
	Least int64  // the smallest magnitude among them that is not zero; 0 when there is none
}

// A Value is an amount.
type Value struct {
	V       int64
	Measure *Measure
}

// A Share is a part of a whole.
type Share struct{ Part, Whole int64 }

// A Change is the difference between two amounts.
type Change struct {
	From, To int64
	Measure  *Measure
}

// A Growth is the difference between two amounts as a share of the first.
type Growth struct{ From, To int64 }

// A Measured is what a benchmark measures, in a unit without a prefix: 2.5e-09 sec/op.
type Measured struct {
	V    float64
	Unit string
}

// A Delta is the difference between two Measured.
type Delta struct {
	V    float64
	Unit string
}

// A Relative is a change as a factor: 1.05 is 5 % more.
type Relative float64

// An Interval is where a change lies, as factors.
type Interval struct{ Lo, Hi float64 }

// A Judgment is a verdict in a word or two.
type Judgment struct {
	Text string
	Good int // 1 is good news, -1 is bad news
}

// A Name is the name of a function or of another place in a program.
type Name struct {
	Text   string
	Inline Inlining
}

// A Qualified is a text in which types and functions have the paths of their packages: map[string]*example.com/shop/cart.Item. Where there is little
// room, the paths are left out.
type Qualified string

// Signs are text without names, with characters that some terminals lack: █▒· of strips, which stay as long as they are, and →, × and … between parts.
type Signs string

// An ID is a long text that identifies something by its first few letters already.
type ID string

func (Heading) block()    {}
func (Title) block()      {}
func (Details) block()    {}
func (Note) block()       {}
func (Facts) block()      {}
func (Table) block()      {}
func (Calls) block()      {}
func (Listing) block()    {}
func (FlameBlock) block() {}
func (Strips) block()     {}
func (Commands) block()   {}
func (Stacks) block()     {}
func (Dump) block()       {}
func (Plain) block()      {}
func (Lines) block()      {}
