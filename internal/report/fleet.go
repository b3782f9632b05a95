package report

// The answers of the fleet pages of the workbench. Times are milliseconds since 1970, and points are pairs of a time and a value.

// A Selection is what a ref to a store selects.
type Selection struct {
	Ref      string    `json:"ref"`
	Service  string    `json:"service,omitempty"` // when it is of one
	Selector string    `json:"selector"`          // the ref without its time, and without what it begins with
	Time     string    `json:"time"`              // as it was asked for; "" is the last hour
	From     int64     `json:"from_ms"`
	To       int64     `json:"to_ms"`
	Matchers []Matcher `json:"matchers"` // beside that of the service
	Profile  string    `json:"profile,omitempty"`
}

// A Matcher is a condition for a label.
type Matcher struct {
	Name    string `json:"name"`
	Op      string `json:"op"`
	Value   string `json:"value"`
	Without string `json:"without"` // the selector without it
}

// FleetTime is a time that was named.
type FleetTime struct {
	From int64 `json:"from_ms"`
	To   int64 `json:"to_ms"`
}

// FleetServices says what services cost over time.
type FleetServices struct {
	From     int64          `json:"from_ms"`
	To       int64          `json:"to_ms"`
	Services []FleetService `json:"services"`
	Cores    float64        `json:"cores"`
	Any      bool           `json:"any"`               // there are profiles, if not of this time
	Filling  bool           `json:"filling,omitempty"` // the server is still making its first profiles
}

// A FleetService is a service on average, and over time.
type FleetService struct {
	ServiceRow
	Selector string   `json:"selector"`
	Lines    []Spark  `json:"lines"`
	Deploys  []Deploy `json:"deploys,omitempty"`
}

// A Spark is one measure of a service over time.
type Spark struct {
	Of     string      `json:"of"` // the name of a Measure
	Points [][]float64 `json:"points"`
}

// A Deploy is a version or build that was not there before.
type Deploy struct {
	At      int64  `json:"at_ms"`
	Version string `json:"version"` // or the beginning of the build, where there are no versions
	Before  string `json:"before"`

	Selector string `json:"selector"` // of its profiles
	Base     string `json:"base"`     // of those of the version before
}

// A FleetMeasure is something that services cost.
type FleetMeasure struct {
	Name string `json:"name"`
	Doc  string `json:"doc"`
	Unit string `json:"unit"` // cores, bytes/s, 1/s, bytes or count

	Metric string `json:"metric,omitempty"` // of the profile views that show where it comes from
}

// A FleetGraph is a measure of a service over time.
type FleetGraph struct {
	Selection Selection      `json:"selection"`
	Measures  []FleetMeasure `json:"measures"` // that there is something of
	Of        string         `json:"of"`
	Unit      string         `json:"unit"`
	By        string         `json:"by,omitempty"` // label
	Labels    []string       `json:"labels"`       // that it can be grouped by
	Step      int64          `json:"step_ms"`
	Lines     []GraphLine    `json:"lines"` // the highest mean first
	Rest      int            `json:"rest,omitempty"`
	Deploys   []Deploy       `json:"deploys,omitempty"`
	Profiles  int            `json:"profiles"`
	Any       bool           `json:"any"` // there are profiles, if not of this
}

// A GraphLine is a line of a graph: of all, of a value of a label, or of those values that have no line of their own.
type GraphLine struct {
	Name     string      `json:"name"`
	Selector string      `json:"selector,omitempty"` // of what it is of
	Points   [][]float64 `json:"points"`
	Mean     float64     `json:"mean"`
	Max      float64     `json:"max"`
	Share    float64     `json:"share"` // of all
}

// FleetLabels are the labels of a selection.
type FleetLabels struct {
	Selection Selection    `json:"selection"`
	Of        string       `json:"of"` // what shares are of
	Labels    []LabelShare `json:"labels"`
	More      bool         `json:"more,omitempty"` // there are more labels
}

// A LabelShare is the values of a label.
type LabelShare struct {
	Name   string       `json:"name"`
	Values []ValueShare `json:"values"`
	Rest   int          `json:"rest,omitempty"` // values that are not listed
}

// A ValueShare is a value of a label and what it has of all.
type ValueShare struct {
	Value  string  `json:"value"`
	Share  float64 `json:"share"`
	Only   string  `json:"only"`   // the selector with it
	Except string  `json:"except"` // the selector without it
}

// A FleetHeat is single profiles over time.
type FleetHeat struct {
	Selection Selection      `json:"selection"`
	Measures  []FleetMeasure `json:"measures"`
	Of        string         `json:"of"`
	Unit      string         `json:"unit"`
	By        string         `json:"by"` // label of the rows, or "" when they are ranges of the value
	Labels    []string       `json:"labels"`
	Step      int64          `json:"step_ms"`
	Columns   int            `json:"columns"`
	Rows      []HeatRow      `json:"rows"`
	Rest      int            `json:"rest,omitempty"` // rows that are not listed
	Max       float64        `json:"max"`            // of the cells
	Profiles  int            `json:"profiles"`
	More      bool           `json:"more,omitempty"` // there are older ones that are not here
	Highest   []HeatProfile  `json:"highest"`
}

// A HeatRow is a row of a heat map.
type HeatRow struct {
	Name  string     `json:"name"`
	Low   float64    `json:"low,omitempty"` // of ranges
	High  float64    `json:"high,omitempty"`
	Cells []HeatCell `json:"cells"`
}

// A HeatCell is the profiles of a row in a step of time.
type HeatCell struct {
	Column  int         `json:"column"`
	Heat    float64     `json:"heat"` // the highest value, or how many there are when rows are ranges
	N       int         `json:"n"`
	Highest HeatProfile `json:"highest"`
}

// A HeatProfile is one profile.
type HeatProfile struct {
	Ref    string  `json:"ref"`
	At     int64   `json:"at_ms"`
	Value  float64 `json:"value"`
	Labels string  `json:"labels"`
}

// FleetBases are what a selection can be compared with.
type FleetBases struct {
	Selection Selection   `json:"selection"`
	Bases     []FleetBase `json:"bases"`
}

// A FleetBase is a comparison.
type FleetBase struct {
	Title string `json:"title"`
	Ref   string `json:"ref"` // what is compared
	Base  string `json:"base"`
}
