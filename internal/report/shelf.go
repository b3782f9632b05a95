package report

import (
	"fmt"
	"iter"
	"time"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/unit"
)

// A SharedRecording is a recording that somebody put on the shelf of a server.
type SharedRecording struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Who     string    `json:"who,omitempty"`
	Note    string    `json:"note,omitempty"`
	Size    int64     `json:"size"` // bytes
	Made    time.Time `json:"made"`
	Expires time.Time `json:"expires,omitzero"` // never when it is zero
	Link    string    `json:"link"`             // of a page that shows it
}

// Shelf lists the recordings on the shelf of a server, the newest first.
type Shelf struct {
	Recordings []SharedRecording `json:"recordings"`

	Next []hint.Command `json:"-"`
}

// Blocks returns the list as a table.
func (s *Shelf) Blocks() iter.Seq[Block] {
	if len(s.Recordings) == 0 {
		return blocks([]Block{Title{"there are no recordings on the shelf"}})
	}
	t := Table{Columns: []Column{{Name: "name"}, {Name: "size"}, {Name: "who"}, {Name: "made"}, {Name: "expires"}, {Name: "link"}, {Name: "note"}}}
	total := int64(0)
	for _, r := range s.Recordings {
		total += r.Size
		expires := "never"
		if !r.Expires.IsZero() {
			expires = r.Expires.Format(time.DateOnly)
		}
		t.Rows = append(t.Rows, []any{r.Name, unit.Size(r.Size), r.Who, r.Made.Format("2006-01-02 15:04"), expires, r.Link, r.Note})
	}
	head := Phrase{fmt.Sprintf("%d %s", len(s.Recordings), plural(len(s.Recordings), "recording")), Sep{}, unit.Size(total)}
	list := []Block{Heading{[]Phrase{head}}, t}
	if len(s.Next) > 0 {
		list = append(list, Commands{Items: s.Next})
	}
	return blocks(list)
}
