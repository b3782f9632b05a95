package report

// A Chart is series over one axis: how amounts change with time, or from one event to the next.
type Chart struct {
	Title  string
	X      *Measure
	Count  string   // what X counts, such as cycle, if it is not an amount
	Marks  []Mark   // labels for places on the axis, instead of amounts
	From   int64    // start of the axis
	To     int64    // end of the axis, if not that of the points
	Y      *Measure // nil for shares
	Whole  int64    // total of the shares
	Series []Series // later series are drawn over earlier ones
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

// A Drawing is how to draw a series.
type Drawing int

// An Area fills from the axis to the line, a Line is the line alone, and Bars are separate bars.
const (
	Area Drawing = iota
	Line
	Bars
)

func (Chart) block() {}

// A Tabular is a report whose tables for programs differ from those for people: they have all columns and rows, and nothing else.
type Tabular interface {
	Tables() []Table
}
