package report

import (
	"iter"
	"time"
)

// Version is the version and build of hone.
type Version struct {
	Version  string     `json:"version"`            // module version, or (devel)
	Revision string     `json:"revision,omitempty"` // commit; "" if unknown
	Modified bool       `json:"modified,omitempty"` // there were uncommitted changes
	Date     *time.Time `json:"date,omitempty"`     // of the commit
	Go       string     `json:"go"`
	OS       string     `json:"os"`
	Arch     string     `json:"arch"`
}

// Blocks returns the parts of the answer.
func (v *Version) Blocks() iter.Seq[Block] {
	facts := Facts{Items: []Fact{{"hone", v.Version}}}
	if v.Revision != "" {
		revision := v.Revision
		if v.Modified {
			revision += ", modified"
		}
		facts.Items = append(facts.Items, Fact{"revision", revision})
	}
	if v.Date != nil {
		facts.Items = append(facts.Items, Fact{"date", v.Date.UTC().Format(time.RFC3339)})
	}
	facts.Items = append(facts.Items, Fact{"go", v.Go}, Fact{"system", v.OS + "/" + v.Arch})
	return func(yield func(Block) bool) { yield(facts) }
}
