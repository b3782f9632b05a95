package report

// A Chart is series over one axis: how amounts change with time, or from one event to the next.
type Chart struct {
	Title  string
	X      *Measure
	Count  string   // what X counts, when it is no amount, such as cycle
	Marks  []Mark   // names of places on the axis, where amounts would say nothing
	From   int64    // where the axis begins…
	To     int64    // …and ends, when that is not where the points do
	Y      *Measure // nil when the amounts are shares
	Whole  int64    // what they are shares of
	Series []Series // those that come later are drawn over those before
}

// A Series is points in the order of X.
type Series struct {
	Name   string
	Draw   Drawing
	Points []Point
}

// A Mark is a name for a place on an axis.
type Mark struct {
	At   int64
	Text string
}

// A Point is an amount at a place of the axis.
type Point struct{ X, Y int64 }

// A Drawing says how a series is to be drawn.
type Drawing int

// An Area goes from the axis up to the line through the points; a Line is that line; Bars stand at each point by
// themselves.
const (
	Area Drawing = iota
	Line
	Bars
)

func (Chart) block() {}

// A Tabular is a report with other tables for programs than for people: all columns, all rows, nothing else.
type Tabular interface {
	Tables() []Table
}
