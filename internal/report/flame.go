package report

// A Flame is the calling-context tree of a profile: who called whom, and what each call cost there.
type Flame struct {
	Head
	Trimming
	Whole      int64       `json:"whole"`                // total before filters
	Before     *Head       `json:"before,omitempty"`     // in a diff: what the base is; Head is about the new side
	Normalized bool        `json:"normalized,omitempty"` // the base was scaled to the total of the new side
	Inverted   bool        `json:"inverted,omitempty"`   // callees are above their callers
	Path       []FlameNode `json:"path,omitempty"`       // calls that lead to the root, the outermost first, when one was asked for
	Root       *FlameNode  `json:"root"`
}

// A FlameNode is a frame in one context.
type FlameNode struct {
	Frame
	Number   int32        `json:"-"` // the same in all nodes of one graph that have one frame; 0 is not numbered
	Origin   Origin       `json:"origin,omitempty"`
	Inline   bool         `json:"inline,omitempty"`
	Flat     int64        `json:"flat"`
	Cum      int64        `json:"cum"`
	Before   *Cost2       `json:"before,omitempty"`   // in a diff: what it cost before
	Width    int64        `json:"width,omitempty"`    // in a picture, where that is not the magnitude of Cum
	Children []*FlameNode `json:"children,omitempty"` // heaviest first
}

// Cost2 is what something cost on the other side of a diff.
type Cost2 struct {
	Flat int64 `json:"flat"`
	Cum  int64 `json:"cum"`
}

// A Diff compares two profiles frame by frame. Values are kept for both sides; nothing is subtracted that cannot be
// had back.
type Diff struct {
	Head        // of the new side; Total is its total
	Before Head `json:"before"`
	Trimming
	Normalized bool      `json:"normalized,omitempty"` // the old side was scaled to the total of the new one
	Rows       []DiffRow `json:"rows"`
}

// A DiffRow is a frame and what it costs on both sides.
type DiffRow struct {
	Frame
	Flat       int64 `json:"flat"`
	Cum        int64 `json:"cum"`
	FlatBefore int64 `json:"flat_before"`
	CumBefore  int64 `json:"cum_before"`
}

// Info is what is in a profile, before any question is asked of it.
type Info struct {
	Head
	Types      []TypeTotal   `json:"types"`
	Samples    int           `json:"samples"`
	Contexts   int           `json:"contexts"`
	Locations  int           `json:"locations"`
	Functions  int           `json:"functions"`
	Labels     []string      `json:"labels,omitempty"` // keys
	Mappings   []MappingInfo `json:"mappings,omitempty"`
	Period     int64         `json:"period,omitempty"`
	PeriodType string        `json:"period_type,omitempty"`
	PeriodUnit string        `json:"period_unit,omitempty"`
	DropFrames string        `json:"drop_frames,omitempty"`
	KeepFrames string        `json:"keep_frames,omitempty"`
}

// A TypeTotal is a sample type and the sum of its values.
type TypeTotal struct {
	Type    string `json:"type"`
	Unit    string `json:"unit"`
	Total   int64  `json:"total"`
	Default bool   `json:"default,omitempty"`
}

// A MappingInfo is a program or library and what the profile knows of it.
type MappingInfo struct {
	File      string `json:"file,omitempty"`
	BuildID   string `json:"build_id,omitempty"`
	Start     uint64 `json:"start"`
	Limit     uint64 `json:"limit"`
	Named     bool   `json:"named"` // its addresses have function names
	Locations int    `json:"locations"`
}
