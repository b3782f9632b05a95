package report

import (
	"encoding/json"

	"github.com/hone-perf/hone/internal/profile"
)

// A Label is a label of a sample as JSON shows it: a key with a text or with a number.
type Label struct {
	Key    string `json:"key"`
	Text   string `json:"text,omitempty"`
	Number *int64 `json:"number,omitempty"`
	Unit   string `json:"unit,omitempty"`
}

// Labels returns set as JSON shows it.
func Labels(set profile.LabelSet) []Label {
	var out []Label
	for _, l := range set {
		x := Label{Key: l.Key}
		if l.Numeric {
			x.Number, x.Unit = &l.Num, l.Unit
		} else {
			x.Text = l.Str
		}
		out = append(out, x)
	}
	return out
}

// MarshalJSON writes labels in the form that every other report has them in.
func (t *Trace) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Value  int64        `json:"value"`
		Labels []Label      `json:"labels,omitempty"`
		Frames []TraceFrame `json:"frames"`
	}{t.Value, Labels(t.Labels), t.Frames})
}
