package recording

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/hone-perf/hone/internal/profile"
)

// Contents are the texts in a recording.
type Contents struct {
	Sources   []KeptSource
	Labels    map[string]*LabelValues // texts, by key
	Numbers   map[string]bool         // keys of labels that are numbers
	Functions map[string]string       // files by function
	Programs  map[string]bool         // files of programs and libraries
	Comments  map[string]bool
	Docs      map[string]bool  // URLs
	Texts     map[string]int64 // sizes of other files with text
	Unread    []string         // profiles that could not be read
	More      bool             // a limit was reached, and some texts are missing
}

// LabelValues are the values of a label.
type LabelValues struct {
	N        int // number of different values; more if More
	Examples []string
	seen     map[string]bool
}

// Limits of what is gathered.
const (
	maxLabelKeys   = 10_000
	maxLabelValues = 100_000 // different values of all keys together
	maxExamples    = 3
	maxFunctions   = 1 << 20
	maxWords       = 10_000 // programs, comments, URLs, of each
)

// Contents goes through all that is in a recording.
func (r *Recording) Contents() (*Contents, error) {
	c := &Contents{
		Labels: map[string]*LabelValues{}, Numbers: map[string]bool{}, Functions: map[string]string{}, Programs: map[string]bool{},
		Comments: map[string]bool{}, Docs: map[string]bool{}, Texts: map[string]int64{},
	}
	if r.files == nil {
		if r.Profile == nil {
			return c, nil
		}
		var b bytes.Buffer
		if err := r.Profile.WriteUncompressed(&b); err != nil {
			return nil, err
		}
		return c, c.profile(b.Bytes())
	}
	if kept, ok := newKeptSources(r.files).(*keptSources); ok {
		c.Sources = kept.list
	}
	err := fs.WalkDir(r.files, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() || name == manifestFile || strings.HasPrefix(path.Base(name), "."):
			return nil
		}
		switch k := kindOfFile(name); {
		case k.quiet:
			return nil
		case k.profile:
			if err := c.part(r.files, name); err != nil {
				c.Unread = append(c.Unread, name)
			}
			return nil
		}
		info, err := d.Info()
		if err == nil {
			c.Texts[name] = info.Size()
		}
		return err
	})
	return c, err
}

// part goes through a profile of a recording.
func (c *Contents) part(files fs.FS, name string) error {
	f, err := files.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxUnpacked+1))
	if err != nil {
		return err
	}
	raw, _, err := unpack(text)
	if err != nil {
		return err
	}
	if err := c.profile(raw); err == nil {
		return nil
	}
	p, err := profile.ParseBytes(raw) // of another form
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := errors.Join(p.Damage, p.WriteUncompressed(&b)); err != nil {
		return err
	}
	return c.profile(b.Bytes())
}

// profile goes through the texts of a profile.
func (c *Contents) profile(raw []byte) error {
	word := func(in map[string]bool, text string) {
		switch {
		case text == "" || in[text]:
		case len(in) >= maxWords:
			c.More = true
		default:
			in[strings.Clone(text)] = true
		}
	}
	_, err := profile.EditTexts(raw, profile.Edit{
		Label: func(key, value string) (string, bool) {
			c.label(key, value)
			return value, true
		},
		Number: func(key string) bool {
			word(c.Numbers, key)
			return true
		},
		Comment: func(text string) (string, bool) {
			word(c.Comments, text)
			return text, true
		},
		Doc: func(url string) string {
			word(c.Docs, url)
			return url
		},
		Mapping: func(file string) string {
			word(c.Programs, file)
			return file
		},
		Function: func(name, file string) string {
			if c.Functions[name] == "" {
				if len(c.Functions) < maxFunctions {
					c.Functions[strings.Clone(name)] = strings.Clone(file)
				} else {
					c.More = true
				}
			}
			return file
		},
	})
	return err
}

func (c *Contents) label(key, value string) {
	l := c.Labels[key]
	if l == nil {
		if len(c.Labels) >= maxLabelKeys {
			c.More = true
			return
		}
		l = &LabelValues{seen: map[string]bool{}}
		c.Labels[strings.Clone(key)] = l
	}
	switch {
	case l.seen[value]:
	case l.N >= maxLabelValues:
		c.More = true
	default:
		value = strings.Clone(value)
		l.seen[value] = true
		if l.N++; len(l.Examples) < maxExamples {
			l.Examples = append(l.Examples, value)
		}
	}
}
