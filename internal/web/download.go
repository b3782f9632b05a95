package web

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"slices"
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

// A spanFile is a format with all spans of an execution trace.
type spanFile struct {
	ending, media string
	format        traceview.SpanFormat
}

var spanFiles = map[string]spanFile{
	"spans":    {".spans.csv", "text/csv; charset=utf-8", traceview.SpanCSV},
	"parquet":  {".spans.parquet", "application/vnd.apache.parquet", traceview.SpanParquet},
	"perfetto": {".spans.pftrace", "application/octet-stream", traceview.SpanPerfetto},
}

// A wanted is what a request for a file asks for.
type wanted struct {
	w     http.ResponseWriter
	r     *http.Request
	view  string                 // "" means the one of the format, or else the flame graph
	whole *recording.Recording   // which the page shows
	in    []*recording.Recording // with the profile that is picked in it
	query query.Query
	base  string // of the name of the file
	kept  string // key of the answer in the cache; "" if it is not kept
}

// download sends a view as a file. The key view names the view.
func (s *Server) download(w http.ResponseWriter, r *http.Request) {
	asked := r.URL.Query().Get("view")
	r = withoutView(r)
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
	d := &wanted{w: w, r: r, view: asked, whole: in[0], kept: kept}
	if d.in, d.query, err = pickedFor(asked, in, q); err != nil {
		fail(w, http.StatusUnprocessableEntity, err, "")
		return
	}
	d.base = baseName(d.in[0].Ref)
	switch format {
	case "hone":
		s.sendRecording(d)
		return
	case "pprof":
		attach(w, d.base+".pb.gz", "application/octet-stream")
		d.in[0].Profile.Write(w)
		return
	case "pprof-filtered":
		p, _, err := calls.Apply(d.in[0].Profile, d.query.Steps, unit.Auto, false)
		if err != nil {
			fail(w, http.StatusUnprocessableEntity, err, "")
			return
		}
		attach(w, d.base+".filtered.pb.gz", "application/octet-stream")
		p.Write(w)
		return
	case "html":
		d.query.Arg = ""
		file := &attachment{w: w, name: d.base + ".html", media: "text/html; charset=utf-8"}
		s.ended(file, WritePage(file, d.in, d.query, PageOptions{Version: s.opt.Version, First: first, Advice: s.adviser.found(d.whole)}))
		return
	}
	if spans, ok := spanFiles[format]; ok {
		s.sendSpans(d, spans)
		return
	}
	i := slices.IndexFunc(downloads, func(f download) bool { return f.name == format })
	if i < 0 {
		fail(w, http.StatusNotFound, fmt.Errorf("no download in format %s", format), "")
		return
	}
	s.sendView(d, downloads[i])
}

// withoutView returns a request without the parameter view, which the query does not know.
func withoutView(r *http.Request) *http.Request {
	pairs := slices.DeleteFunc(strings.Split(r.URL.RawQuery, "&"), func(p string) bool { return strings.HasPrefix(p, "view=") })
	u := *r.URL
	u.RawQuery = strings.Join(pairs, "&")
	r = r.Clone(r.Context())
	r.URL = &u
	return r
}

// ended answers with what went wrong while a file was sent. One that has begun is cut off: a file that looks whole must be whole.
func (s *Server) ended(file *attachment, err error) {
	switch {
	case err == nil:
	case file.begun:
		panic(http.ErrAbortHandler)
	default:
		fail(file.w, statusOf(err), err, s.hintOf(err))
	}
}

func (s *Server) sendRecording(d *wanted) {
	if !d.whole.Whole() {
		fail(d.w, http.StatusUnprocessableEntity, fmt.Errorf("%s is not a recording; the profile as loaded is a file", d.whole.Ref), "")
		return
	}
	file := &attachment{w: d.w, name: d.base + ".hone", media: "application/octet-stream"}
	s.ended(file, d.whole.PackTo(file))
}

func (s *Server) sendSpans(d *wanted, spans spanFile) {
	if v, _ := views.Find("spans"); !v.Has(d.whole) {
		fail(d.w, http.StatusUnprocessableEntity, fmt.Errorf("%s has no %s", d.whole.Ref, v.Part.Doc), "")
		return
	}
	file := &attachment{w: d.w, name: d.base + spans.ending, media: spans.media}
	_, err := traceview.WriteSpans(file, spans.format, []*recording.Recording{d.whole}, d.query)
	s.ended(file, err)
}

func (s *Server) sendView(d *wanted, as download) {
	v, ok := views.Find(cmp.Or(as.view, d.view, "flame"))
	if !ok {
		fail(d.w, http.StatusNotFound, fmt.Errorf("no such view: %s", d.view), "")
		return
	}
	rep, err := run(v, d.in, d.query)
	if err != nil {
		fail(d.w, statusOf(err), err, s.hintOf(err))
		return
	}
	name := d.base + "." + v.Name + as.ending
	if as.view != "" {
		name = d.base + as.ending // the name of the recording says enough
	}
	written := render.Options{By: s.opt.By} // commands in a file are for a terminal
	if as.format == "markdown" {
		if rep, err = forTicket(v, d.in, d.query, rep, written); err != nil {
			fail(d.w, statusOf(err), err, s.hintOf(err))
			return
		}
	}
	if d.kept != "" {
		var body bytes.Buffer
		zw := gzip.NewWriter(&body)
		err := render.Write(&bounded{zw, mostAnswer}, as.format, rep, written)
		if err = cmp.Or(err, zw.Close()); err != nil {
			fail(d.w, http.StatusUnprocessableEntity, err, "")
			return
		}
		s.cache.keep(d.kept, body.Bytes())
		attach(d.w, name, as.media)
		send(d.w, d.r, as.media, body.Bytes())
		return
	}
	file := &attachment{w: d.w, name: name, media: as.media}
	s.ended(file, render.Write(file, as.format, rep, written))
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
