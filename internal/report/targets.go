package report

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/unit"
)

// Targets says from which of its targets, which are processes, a server cannot fetch profiles.
type Targets struct {
	Now     time.Time       `json:"time"`
	Found   int             `json:"found"`          // targets
	Failing int             `json:"failing"`        // of them
	Rows    []FailingTarget `json:"targets"`        // those that failed for longest first
	Jobs    []FailingJob    `json:"jobs,omitempty"` // that find no targets, or leave some out
	None    bool            `json:"none,omitempty"` // the server has no scrape_configs
}

// A FailingTarget is a target, with all kinds of profiles that it does not give for the same reason.
type FailingTarget struct {
	Job     string    `json:"job"`
	Service string    `json:"service"`
	Address string    `json:"address"`
	Kinds   []string  `json:"kinds"`
	All     bool      `json:"all,omitempty"`  // no kind of profile comes
	Since   time.Time `json:"since,omitzero"` // of the first failure in a row; zero if the store refuses them
	Good    time.Time `json:"good,omitzero"`  // when the last profile came; zero is never since the server started
	Why     string    `json:"why"`
}

// A FailingJob is a job, or a source of its targets, that does not work.
type FailingJob struct {
	Job    string `json:"job"`
	Source string `json:"source,omitempty"`
	Why    string `json:"why"`
}

// Blocks returns the targets and the jobs as tables.
func (t *Targets) Blocks() iter.Seq[Block] {
	head := fmt.Sprintf("%d of %s fail", t.Failing, unit.Counted(t.Found, "target"))
	switch {
	case t.None:
		head = "this server fetches no profiles; it only takes those that are sent"
	case t.Failing == 0 && t.Found == 1:
		head = "no target fails; there is 1"
	case t.Failing == 0 && t.Found > 0:
		head = fmt.Sprintf("no target fails; there are %d", t.Found)
	case t.Found == 0:
		head = "there are no targets"
	case t.Failing == 1:
		head = "1 of " + unit.Counted(t.Found, "target") + " fails"
	}
	list := []Block{Heading{[]Phrase{{head}}}}
	if t.None {
		list = append(list, Note{Phrase{hint.Ask("serve").With("config", "FILE"), " fetches profiles from the targets that are under scrape_configs in FILE"}})
	}
	if len(t.Rows) > 0 {
		table := Table{Columns: []Column{{Name: "failing for"}, {Name: "last profile"}, {Name: "kinds"}, {Name: "job"}, {Name: "why"}, {Name: "target"}}}
		for _, r := range t.Rows {
			var since, good any = nil, "never"
			if !r.Since.IsZero() {
				since = strings.TrimSuffix(ago(t.Now.Sub(r.Since)), " ago")
			}
			if !r.Good.IsZero() {
				good = ago(t.Now.Sub(r.Good))
			}
			kinds := strings.Join(r.Kinds, ", ")
			if r.All {
				kinds = "all"
			}
			table.Rows = append(table.Rows, []any{since, good, kinds, r.Job, r.Why, r.Address})
		}
		list = append(list, table)
	}
	if len(t.Jobs) > 0 {
		table := Table{Title: "jobs", Columns: []Column{{Name: "job"}, {Name: "source"}, {Name: "why"}}}
		for _, j := range t.Jobs {
			table.Rows = append(table.Rows, []any{j.Job, j.Source, j.Why})
		}
		list = append(list, table)
	}
	return slices.Values(list)
}
