package report

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/unit"
)

// Privacy is what a recording or profile reveals to others, besides measurements.
type Privacy struct {
	Ref          string             `json:"ref"`
	Recording    bool               `json:"recording"`          // false for a bare profile
	KeepsSecrets bool               `json:"keeps_secrets"`      // possible secrets were kept
	Stripped     bool               `json:"stripped,omitempty"` // it was stripped of data about the machine and its user
	Command      []string           `json:"command,omitempty"`  // arguments
	Target       string             `json:"target,omitempty"`   // URL or process
	Dir          string             `json:"dir,omitempty"`      // working directory
	Users        []string           `json:"users,omitempty"`    // user names in paths
	Machine      *recording.Machine `json:"machine,omitempty"`
	Program      *recording.Program `json:"program,omitempty"`       // with environment, build and revision
	Changes      *recording.Changes `json:"changes,omitempty"`       // uncommitted changes of its source tree
	Sources      []PrivacyFolder    `json:"sources,omitempty"`       // folders of the source files in the recording
	Folders      []PrivacyFolder    `json:"folders,omitempty"`       // folders of the files that profiles name
	Labels       []PrivacyLabel     `json:"labels,omitempty"`        // of samples
	Numbers      []string           `json:"number_labels,omitempty"` // keys of labels that are numbers
	Packages     []string           `json:"packages,omitempty"`      // packages of the functions that profiles name, except those of Go itself
	Dependencies []string           `json:"dependencies,omitempty"`  // modules with their versions
	Programs     []string           `json:"programs,omitempty"`      // and libraries
	Comments     []string           `json:"comments,omitempty"`      // in profiles
	URLs         []string           `json:"urls,omitempty"`          // in profiles
	Texts        []PrivacyText      `json:"texts,omitempty"`         // other files
	Notes        []string           `json:"notes,omitempty"`
	Unread       []string           `json:"unread,omitempty"`     // profiles that could not be read
	Incomplete   bool               `json:"incomplete,omitempty"` // the lists are not complete
}

// A PrivacyFolder is a folder, and the number of its files.
type PrivacyFolder struct {
	Folder string `json:"folder"`
	Files  int    `json:"files"`
}

// A PrivacyLabel is the key of a label.
type PrivacyLabel struct {
	Key      string   `json:"key"`
	Values   int      `json:"values"` // number of distinct values
	Examples []string `json:"examples"`
	Masked   bool     `json:"masked,omitempty"` // possible secrets were replaced
}

// A PrivacyText is a file of a recording.
type PrivacyText struct {
	File  string `json:"file"`
	Bytes int64  `json:"bytes"`
}

// mostListed is the maximum number of rows of a kind for people. JSON has all.
const mostListed = 20

// Blocks returns the report in the shapes that renderers know.
func (p *Privacy) Blocks() iter.Seq[Block] {
	var f Facts
	add := func(name, value string) {
		if value != "" {
			f.Items = append(f.Items, Fact{name, value})
		}
	}
	switch {
	case p.Stripped:
		add("secrets", "stripped, with sources, arguments, host, paths and labels")
	case p.KeepsSecrets:
		f.Items = append(f.Items, Fact{"secrets", Phrase{"kept as they are, since it was recorded with ", hint.Option{Name: "keep-secrets"}}})
	case p.Recording:
		add("secrets", "whatever looks like one was replaced with …; check before you share it")
	default:
		add("secrets", "a profile is kept as it was written")
	}
	add("arguments", strings.Join(p.Command, " "))
	add("target", p.Target)
	add("folder", p.Dir)
	add("users", listed(p.Users))
	if m := p.Machine; m != nil {
		host := []string{m.OS + "/" + m.Arch}
		for _, s := range []string{m.CPU, m.Kernel} {
			if s != "" {
				host = append(host, s)
			}
		}
		add("host", strings.Join(host, ", "))
	}
	if g := p.Program; g != nil {
		add("environment", pairsOf(g.Env))
		add("program", strings.TrimSpace(cmp.Or(g.Path, g.Module)+" "+g.Version))
		add("go", g.Go)
		add("build", pairsOf(g.Settings))
		add("build id", g.BuildID)
	}
	if c := p.Changes; c != nil && c.Files > 0 {
		add("changes", fmt.Sprintf("%d files that were not committed, as a diff", c.Files))
	}
	add("number labels", listed(p.Numbers))
	add("packages", listed(p.Packages))
	add("dependencies", listed(p.Dependencies))
	add("programs", listed(p.Programs))
	add("comments", listed(p.Comments))
	add("urls", listed(p.URLs))
	list := []Block{f}
	more := 0
	folders := func(title string, of []PrivacyFolder) {
		if len(of) == 0 {
			return
		}
		n := 0
		for _, x := range of {
			n += x.Files
		}
		t := Table{Title: title, Summary: Phrase{unit.Counted(n, "file")}, Columns: []Column{{Name: "files"}, {Name: "folder", Path: true}}}
		for i, x := range of {
			if i == mostListed {
				more += len(of) - i
				break
			}
			t.Rows = append(t.Rows, []any{x.Files, Name{Text: x.Folder}})
		}
		list = append(list, t)
	}
	folders("sources in the recording", p.Sources)
	folders("files that profiles name", p.Folders)
	if len(p.Labels) > 0 {
		t := Table{Title: "labels", Columns: []Column{{Name: "values"}, {Name: "key"}, {Name: "examples"}}}
		for i, l := range p.Labels {
			if i == mostListed {
				more += len(p.Labels) - i
				break
			}
			t.Rows = append(t.Rows, []any{l.Values, l.Key, strings.Join(l.Examples, ", ")})
		}
		list = append(list, t)
	}
	if len(p.Texts) > 0 {
		t := Table{Title: "other files", Columns: []Column{{Name: "size"}, {Name: "file"}}}
		for i, x := range p.Texts {
			if i == mostListed {
				more += len(p.Texts) - i
				break
			}
			t.Rows = append(t.Rows, []any{Value{x.Bytes, alone("bytes")}, x.File})
		}
		list = append(list, t)
	}
	for _, n := range p.Notes {
		list = append(list, Note{Phrase{"in the recording: " + n}})
	}
	if len(p.Unread) > 0 {
		list = append(list, Note{Phrase{fmt.Sprintf("%s could not be looked through: %s", unit.Counted(len(p.Unread), "profile"), listed(p.Unread))}})
	}
	if p.Incomplete {
		list = append(list, Note{Phrase{"the recording has too many entries to list them all"}})
	}
	if more > 0 {
		list = append(list, Note{Phrase{"rows left out: ", more, "; ", hint.Option{Name: "json"}, " has them all"}})
	}
	return blocks(list)
}

// pairsOf writes variables and settings.
func pairsOf(of map[string]string) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(of)) {
		if of[k] != "" {
			out = append(out, k+"="+of[k])
		}
	}
	return strings.Join(out, " ")
}

// listed joins the first words, and counts the rest.
func listed(words []string) string {
	const most = 20
	if n := len(words) - most; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(words[:most], ", "), n)
	}
	return strings.Join(words, ", ")
}
