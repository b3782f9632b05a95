package querier

// What follows are the messages of querier.v1 and types.v1 of Pyroscope, with the fields that are used here.

type profileTypesRequest struct {
	Start int64 `pb:"1" json:"start"` // milliseconds since 1970, as all times here
	End   int64 `pb:"2" json:"end"`
}

type profileTypesResponse struct {
	ProfileTypes []profileType `pb:"1" json:"profileTypes"`
}

type profileType struct {
	ID         string `pb:"1" json:"ID"`
	Name       string `pb:"2" json:"name"`
	SampleType string `pb:"4" json:"sampleType"`
	SampleUnit string `pb:"5" json:"sampleUnit"`
	PeriodType string `pb:"6" json:"periodType"`
	PeriodUnit string `pb:"7" json:"periodUnit"`
}

type labelValuesRequest struct {
	Name     string   `pb:"1" json:"name"`
	Matchers []string `pb:"2" json:"matchers"`
	Start    int64    `pb:"3" json:"start"`
	End      int64    `pb:"4" json:"end"`
}

type labelNamesRequest struct {
	Matchers []string `pb:"1" json:"matchers"`
	Start    int64    `pb:"2" json:"start"`
	End      int64    `pb:"3" json:"end"`
}

// namesResponse is LabelNamesResponse and LabelValuesResponse.
type namesResponse struct {
	Names []string `pb:"1" json:"names"`
}

type seriesRequest struct {
	Matchers   []string `pb:"1" json:"matchers"`
	LabelNames []string `pb:"2" json:"labelNames"`
	Start      int64    `pb:"3" json:"start"`
	End        int64    `pb:"4" json:"end"`
}

type seriesResponse struct {
	LabelsSet []labelSet `pb:"2" json:"labelsSet"`
}

type labelSet struct {
	Labels []labelPair `pb:"1" json:"labels"`
}

type labelPair struct {
	Name  string `pb:"1" json:"name"`
	Value string `pb:"2" json:"value"`
}

type selectSeriesRequest struct {
	ProfileTypeID string         `pb:"1" json:"profileTypeID"`
	LabelSelector string         `pb:"2" json:"labelSelector"`
	Start         int64          `pb:"3" json:"start"`
	End           int64          `pb:"4" json:"end"`
	GroupBy       []string       `pb:"5" json:"groupBy"`
	Step          float64        `pb:"6" json:"step"` // seconds
	Aggregation   *int32         `pb:"7" json:"aggregation" enum:"TIME_SERIES_AGGREGATION_TYPE_SUM TIME_SERIES_AGGREGATION_TYPE_AVERAGE"`
	Stacks        *stackSelector `pb:"8" json:"stackTraceSelector"`
	Limit         *int64         `pb:"9" json:"limit"`
}

type selectSeriesResponse struct {
	Series []timeSeries `pb:"1" json:"series"`
}

type timeSeries struct {
	Labels []labelPair `pb:"1" json:"labels"`
	Points []point     `pb:"2" json:"points"`
}

type point struct {
	Value     float64 `pb:"1" json:"value"`
	Timestamp int64   `pb:"2" json:"timestamp"`
}

// formatTree asks for a profile as a tree.
const formatTree = 2

type stacktracesRequest struct {
	ProfileTypeID string         `pb:"1" json:"profileTypeID"`
	LabelSelector string         `pb:"2" json:"labelSelector"`
	Start         int64          `pb:"3" json:"start"`
	End           int64          `pb:"4" json:"end"`
	MaxNodes      *int64         `pb:"5" json:"maxNodes"`
	Format        int32          `pb:"6" json:"format" enum:"PROFILE_FORMAT_UNSPECIFIED PROFILE_FORMAT_FLAMEGRAPH PROFILE_FORMAT_TREE"`
	Stacks        *stackSelector `pb:"7" json:"stackTraceSelector"`
	IDs           []string       `pb:"8" json:"profileIdSelector"`
}

// stacktracesResponse is also SelectMergeSpanProfileResponse.
type stacktracesResponse struct {
	Flamegraph *flameGraph `pb:"1" json:"flamegraph"`
	Tree       []byte      `pb:"2" json:"tree"`
}

type spanProfileRequest struct {
	ProfileTypeID string   `pb:"1" json:"profileTypeID"`
	LabelSelector string   `pb:"2" json:"labelSelector"`
	Spans         []string `pb:"3" json:"spanSelector"`
	Start         int64    `pb:"4" json:"start"`
	End           int64    `pb:"5" json:"end"`
	MaxNodes      *int64   `pb:"6" json:"maxNodes"`
	Format        int32    `pb:"7" json:"format" enum:"PROFILE_FORMAT_UNSPECIFIED PROFILE_FORMAT_FLAMEGRAPH PROFILE_FORMAT_TREE"`
}

type diffRequest struct {
	Left  *stacktracesRequest `pb:"1" json:"left"`
	Right *stacktracesRequest `pb:"2" json:"right"`
}

type diffResponse struct {
	Flamegraph *flameGraphDiff `pb:"1" json:"flamegraph"`
}

type flameGraph struct {
	Names   []string `pb:"1" json:"names"`
	Levels  []level  `pb:"2" json:"levels"`
	Total   int64    `pb:"3" json:"total"`
	MaxSelf int64    `pb:"4" json:"maxSelf"`
}

type flameGraphDiff struct {
	Names      []string `pb:"1" json:"names"`
	Levels     []level  `pb:"2" json:"levels"`
	Total      int64    `pb:"3" json:"total"`
	MaxSelf    int64    `pb:"4" json:"maxSelf"`
	LeftTicks  int64    `pb:"5" json:"leftTicks"`
	RightTicks int64    `pb:"6" json:"rightTicks"`
}

// A level is the frames of one depth. Four numbers are one: how far it is from the one before it, its total, its self, and its name.
type level struct {
	Values []int64 `pb:"1" json:"values"`
}

type mergeProfileRequest struct {
	ProfileTypeID string         `pb:"1" json:"profileTypeID"`
	LabelSelector string         `pb:"2" json:"labelSelector"`
	Start         int64          `pb:"3" json:"start"`
	End           int64          `pb:"4" json:"end"`
	MaxNodes      *int64         `pb:"5" json:"maxNodes"`
	Stacks        *stackSelector `pb:"6" json:"stackTraceSelector"`
	IDs           []string       `pb:"7" json:"profileIdSelector"`
}

type stackSelector struct {
	CallSite []location `pb:"1" json:"callSite"` // from the root
	GoPGO    *goPGO     `pb:"2" json:"goPgo"`
}

type location struct {
	Name string `pb:"1" json:"name"`
}

type goPGO struct {
	KeepLocations    uint32 `pb:"1" json:"keepLocations"`
	AggregateCallees bool   `pb:"2" json:"aggregateCallees"`
}

type statsRequest struct{}

type statsResponse struct {
	DataIngested bool  `pb:"1" json:"dataIngested"`
	Oldest       int64 `pb:"2" json:"oldestProfileTime"`
	Newest       int64 `pb:"3" json:"newestProfileTime"`
}

// What follows is profile.proto, for answers in JSON.

type pprofProfile struct {
	SampleType        []pprofValueType `pb:"1" json:"sampleType"`
	Sample            []pprofSample    `pb:"2" json:"sample"`
	Mapping           []pprofMapping   `pb:"3" json:"mapping"`
	Location          []pprofLocation  `pb:"4" json:"location"`
	Function          []pprofFunction  `pb:"5" json:"function"`
	StringTable       []string         `pb:"6" json:"stringTable"`
	DropFrames        int64            `pb:"7" json:"dropFrames"`
	KeepFrames        int64            `pb:"8" json:"keepFrames"`
	TimeNanos         int64            `pb:"9" json:"timeNanos"`
	DurationNanos     int64            `pb:"10" json:"durationNanos"`
	PeriodType        *pprofValueType  `pb:"11" json:"periodType"`
	Period            int64            `pb:"12" json:"period"`
	Comment           []int64          `pb:"13" json:"comment"`
	DefaultSampleType int64            `pb:"14" json:"defaultSampleType"`
}

type pprofValueType struct {
	Type int64 `pb:"1" json:"type"`
	Unit int64 `pb:"2" json:"unit"`
}

type pprofSample struct {
	LocationID []uint64     `pb:"1" json:"locationId"`
	Value      []int64      `pb:"2" json:"value"`
	Label      []pprofLabel `pb:"3" json:"label"`
}

type pprofLabel struct {
	Key     int64 `pb:"1" json:"key"`
	Str     int64 `pb:"2" json:"str"`
	Num     int64 `pb:"3" json:"num"`
	NumUnit int64 `pb:"4" json:"numUnit"`
}

type pprofMapping struct {
	ID              uint64 `pb:"1" json:"id"`
	MemoryStart     uint64 `pb:"2" json:"memoryStart"`
	MemoryLimit     uint64 `pb:"3" json:"memoryLimit"`
	FileOffset      uint64 `pb:"4" json:"fileOffset"`
	Filename        int64  `pb:"5" json:"filename"`
	BuildID         int64  `pb:"6" json:"buildId"`
	HasFunctions    bool   `pb:"7" json:"hasFunctions"`
	HasFilenames    bool   `pb:"8" json:"hasFilenames"`
	HasLineNumbers  bool   `pb:"9" json:"hasLineNumbers"`
	HasInlineFrames bool   `pb:"10" json:"hasInlineFrames"`
}

type pprofLocation struct {
	ID        uint64      `pb:"1" json:"id"`
	MappingID uint64      `pb:"2" json:"mappingId"`
	Address   uint64      `pb:"3" json:"address"`
	Line      []pprofLine `pb:"4" json:"line"`
	IsFolded  bool        `pb:"5" json:"isFolded"`
}

type pprofLine struct {
	FunctionID uint64 `pb:"1" json:"functionId"`
	Line       int64  `pb:"2" json:"line"`
}

type pprofFunction struct {
	ID         uint64 `pb:"1" json:"id"`
	Name       int64  `pb:"2" json:"name"`
	SystemName int64  `pb:"3" json:"systemName"`
	Filename   int64  `pb:"4" json:"filename"`
	StartLine  int64  `pb:"5" json:"startLine"`
}
