package web

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"strings"

	"github.com/klauspost/compress/gzip"

	"github.com/hone-perf/hone/internal/calls"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/render"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/unit"
	"github.com/hone-perf/hone/internal/view"
	"github.com/hone-perf/hone/internal/view/traceview"
	"github.com/hone-perf/hone/internal/views"
)

// A download is a file format for what a page shows.
type download struct {
	name   string
	ending string // file extension
	media  string
	view   string // "" means the view of the page
	format string // format in package render
}

var downloads = []download{
	{"folded", ".folded", "text/plain; charset=utf-8", "folded", "text"},
	{"speedscope", ".speedscope.json", "application/json", "folded", "speedscope"},
	{"svg", ".svg", "image/svg+xml", "", "svg"},
	{"png", ".png", "image/png", "", "png"},
	{"csv", ".csv", "text/csv; charset=utf-8", "", "csv"},
	{"json", ".json", "application/json", "", "json"},
	{"markdown", ".md", "text/markdown; charset=utf-8", "", "markdown"},
}

// spanFiles are the formats with all spans of an execution trace.
var spanFiles = map[string]struct {
	ending, media string
	format        traceview.SpanFormat
}{
	"spans":    {".spans.csv", "text/csv; charset=utf-8", traceview.SpanCSV},
	"parquet":  {".spans.parquet", "application/vnd.apache.parquet", traceview.SpanParquet},
	"perfetto": {".spans.pftrace", "application/octet-stream", traceview.SpanPerfetto},
}

// download sends a view as a file. The key view names the view.
func (s *Server) download(w http.ResponseWriter, r *http.Request) {
	asked := r.URL.Query().Get("view")
	u := *r.URL
	pairs := strings.Split(u.RawQuery, "&")
	others := pairs[:0]
	for _, p := range pairs {
		if !strings.HasPrefix(p, "view=") {
			others = append(others, p)
		}
	}
	u.RawQuery = strings.Join(others, "&")
	r = r.Clone(r.Context())
	r.URL = &u
	q, in, err := s.query(r, "flame")
	if err != nil {
		fail(w, http.StatusBadRequest, err, "")
		return
	}
	format, first := r.PathValue("format"), ""
	if format == "html" {
		asked, first = "", asked // the page has all views
	}
	// The page shows this one, and asks for it again when it is loaded anew.
	kept := ""
	if format == "svg" {
		kept = keyOf(r.URL.Path+" "+asked, q, in)
	}
	if body, ok := s.cache.answers.Get(kept); ok {
		v, _ := views.Find(cmp.Or(asked, "flame")) // exists, because the answer was found
		attach(w, baseName(in[0].Ref)+"."+v.Name+".svg", "image/svg+xml")
		send(w, r, "image/svg+xml", body)
		return
	}
	done, ok := s.busy(r)
	if !ok {
		return
	}
	defer done()
	whole := in[0]
	if in, q, err = pickedFor(asked, in, q); err != nil {
		fail(w, http.StatusUnprocessableEntity, err, "")
		return
	}
	base := baseName(in[0].Ref)
	switch format {
	case "hone":
		if !whole.Whole() {
			fail(w, http.StatusUnprocessableEntity, fmt.Errorf("%s is not a recording; the profile as loaded is a file", whole.Ref), "")
			return
		}
		file := &attachment{w: w, name: base + ".hone", media: "application/octet-stream"}
		if err := whole.PackTo(file); err != nil && !file.begun {
			fail(w, http.StatusUnprocessableEntity, err, "")
		} else if err != nil {
			panic(http.ErrAbortHandler) // a file that looks whole must be whole
		}
		return
	case "pprof":
		attach(w, base+".pb.gz", "application/octet-stream")
		in[0].Profile.Write(w)
		return
	case "pprof-filtered":
		p, _, err := calls.Apply(in[0].Profile, q.Steps, unit.Auto)
		if err != nil {
			fail(w, http.StatusUnprocessableEntity, err, "")
			return
		}
		attach(w, base+".filtered.pb.gz", "application/octet-stream")
		p.Write(w)
		return
	}
	if format == "html" {
		q.Arg = ""
		file := &attachment{w: w, name: base + ".html", media: "text/html; charset=utf-8"}
		if err := WritePage(file, in, q, PageOptions{Version: s.opt.Version, First: first, Advice: s.adviser.found(whole)}); err != nil && !file.begun {
			fail(w, statusOf(err), err, s.hintOf(err))
		}
		return
	}
	if spans, ok := spanFiles[format]; ok {
		if v, _ := views.Find("spans"); !v.Has(whole) {
			fail(w, http.StatusUnprocessableEntity, fmt.Errorf("%s has no %s", whole.Ref, v.Part.Doc), "")
			return
		}
		file := &attachment{w: w, name: base + spans.ending, media: spans.media}
		if _, err := traceview.WriteSpans(file, spans.format, []*recording.Recording{whole}, q); err != nil && !file.begun {
			fail(w, statusOf(err), err, s.hintOf(err))
		} else if err != nil {
			panic(http.ErrAbortHandler) // do not end an incomplete file as if it were complete
		}
		return
	}
	for _, d := range downloads {
		if d.name != format {
			continue
		}
		v, ok := views.Find(cmp.Or(d.view, asked, "flame"))
		if !ok {
			fail(w, http.StatusNotFound, fmt.Errorf("no such view: %s", asked), "")
			return
		}
		rep, err := run(v, in, q)
		if err != nil {
			fail(w, statusOf(err), err, s.hintOf(err))
			return
		}
		name := base + "." + v.Name + d.ending
		if d.view != "" {
			name = base + d.ending // the name of the recording says enough
		}
		written := render.Options{By: s.opt.By} // commands in a file are for a terminal
		if format == "markdown" {
			if rep, err = forTicket(v, in, q, rep, written); err != nil {
				fail(w, statusOf(err), err, s.hintOf(err))
				return
			}
		}
		if kept != "" {
			var body bytes.Buffer
			zw := gzip.NewWriter(&body)
			err := render.Write(&bounded{zw, mostAnswer}, d.format, rep, written)
			if err = cmp.Or(err, zw.Close()); err != nil {
				fail(w, http.StatusUnprocessableEntity, err, "")
				return
			}
			s.cache.keep(kept, body.Bytes())
			attach(w, name, d.media)
			send(w, r, d.media, body.Bytes())
			return
		}
		file := &attachment{w: w, name: name, media: d.media}
		if err := render.Write(file, d.format, rep, written); err != nil && !file.begun {
			fail(w, http.StatusUnprocessableEntity, err, "")
		} else if err != nil {
			panic(http.ErrAbortHandler) // a file that looks whole must be whole
		}
		return
	}
	fail(w, http.StatusNotFound, fmt.Errorf("no download in format %s", format), "")
}

// mostTicket is the maximum size of Markdown for an issue: GitHub allows 65,536 characters.
const mostTicket = 60_000

// forTicket returns a report that fits into an issue, with fewer rows if necessary.
func forTicket(v *view.View, in []*recording.Recording, q query.Query, rep report.Report, opt render.Options) (report.Report, error) {
	limited := v.Uses.Has("limit")
	for _, limit := range []int{400, 200, 100, 50, 25, 10} {
		var size countingWriter
		if err := render.Write(&size, "markdown", rep, opt); err != nil || size <= mostTicket || !limited {
			return rep, err
		}
		if q.Limit > 0 && q.Limit <= limit {
			continue
		}
		q.Limit = limit
		var err error
		if rep, err = run(v, in, q); err != nil {
			return nil, err
		}
	}
	return rep, nil
}

// A countingWriter counts the bytes written to it.
type countingWriter int

func (c *countingWriter) Write(b []byte) (int, error) {
	*c += countingWriter(len(b))
	return len(b), nil
}

// endings are file extensions of profiles.
var endings = []string{".gz", ".pb", ".pprof", ".prof", ".folded", ".hone"}

// baseName returns the start of file names for downloads of a recording: its name without extension, in characters that all systems allow.
func baseName(ref string) string {
	base := ref[strings.LastIndexAny(ref, `/\`)+1:]
	for again := true; again; {
		again = false
		for _, e := range endings {
			if rest, ok := strings.CutSuffix(base, e); ok && rest != "" {
				base, again = rest, true
			}
		}
	}
	base = strings.Map(func(r rune) rune {
		if r < ' ' || strings.ContainsRune(`<>:"|?*`, r) {
			return '-'
		}
		return r
	}, base)
	if strings.Trim(base, "-.") == "" {
		return "profile" // it came from standard input
	}
	return base
}

// An attachment sends its headers with the first write, so that an error before it can be sent instead.
type attachment struct {
	w           http.ResponseWriter
	name, media string
	begun       bool
}

func (a *attachment) Write(b []byte) (int, error) {
	if !a.begun {
		attach(a.w, a.name, a.media)
		a.begun = true
	}
	return a.w.Write(b)
}

func attach(w http.ResponseWriter, name, media string) {
	h := w.Header()
	h.Set("Content-Type", media)
	h.Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", name))
}
