package report

import (
	"iter"
	"time"
)

// Version says which hone this is, and how it was built.
type Version struct {
	Version  string     `json:"version"`            // of the module, or (devel)
	Revision string     `json:"revision,omitempty"` // commit; "" where the build does not say
	Modified bool       `json:"modified,omitempty"` // there were changes that are not in the commit
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
