package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/chromedp/chromedp"
)

// A runner opens profiles with hone and with pprof.
type runner struct {
	hone, pprof string // programs
	speedscope  string // folder with its page; "" leaves it out
	rounds      int
	limit       time.Duration // for pprof
	browser     context.Context
}

// pageLimit is how long hone may take for all that is asked of it.
const pageLimit = 5 * time.Minute

// looks is how long somebody looks at a picture before zooming in, and clicks how long after the first click of two the
// second one comes. Systems take two clicks for a double one up to 500 ms; hands take 100 to 200.
const (
	looks  = 2 * time.Second
	clicks = 100 * time.Millisecond
)

// Where boxes are zoomed into: how far to the right, and in which row.
const (
	spotsClicked = "[[0.2, 3], [0.4, 4], [0.6, 2], [0.8, 4], [0.05, 3]]"
	spotsAtOnce  = "[[0.1, 2], [0.3, 3], [0.5, 4], [0.7, 3], [0.9, 2]]"
)

// A result is what was measured with one profile.
type result struct {
	looks  []look // one for each round
	pprof  *rival // nil where it was left out
	scope  *rival // speedscope, of which only the time is known
	notes  []string
	failed error // why hone has no looks
}

// A look is what hone took in one round.
type look struct {
	top                  time.Duration     // hone top, on its own
	drawn                time.Duration     // from the start of the server to the first picture
	afterRead            time.Duration     // to the first picture since the profile was read
	wholeAfter           time.Duration     // to the picture with all calls, which may be the first one
	views, viewsCPU      []time.Duration   // by visits: until the first picture was there, and CPU time of the server for all
	wholeViews           []time.Duration   // by visits: until all was there
	gaps                 [][]time.Duration // between frames, by movements
	drawnCPU             time.Duration
	drawnPeak            int64 // bytes
	payload, script      int64 // bytes sent, and those of the script when packed
	focus, again, reopen time.Duration
	focusAnswer          time.Duration // of the server to the browser
	focusCPU             time.Duration
	zoom, zoomAtOnce     zoom
	rss, peak            int64 // bytes, in the end
	nodes                int   // of the picture that is painted again and again
	frames               []time.Duration
	steps                []time.Duration // CPU time of all script that ran for them
}

// A zoom is what zooming into a box took, medians over several.
type zoom struct{ took, first, answer time.Duration }

// A rival is what pprof took.
type rival struct {
	drawn    time.Duration
	cpu      time.Duration
	peak     int64
	payload  int64
	timedOut bool // drawn is how long was waited
}

// measure opens a profile with hone, and with pprof if it should.
func (r *runner) measure(ctx context.Context, file string, withPprof bool) result {
	var res result
	for range r.rounds {
		l, err := r.look(ctx, file)
		if err != nil {
			res.failed = fmt.Errorf("hone web: %w", err)
			res.notes = append(res.notes, res.failed.Error())
			return res
		}
		res.looks = append(res.looks, l)
	}
	if r.speedscope != "" {
		p, err := r.scope(ctx, file)
		if err != nil {
			res.notes = append(res.notes, fmt.Sprintf("speedscope is left out: %v", err))
		} else {
			res.scope = &p
		}
	}
	if !withPprof {
		return res
	}
	p, note, err := r.rival(ctx, file)
	if note != "" {
		res.notes = append(res.notes, note)
	}
	if err != nil {
		res.notes = append(res.notes, fmt.Sprintf("pprof is left out: %v", err))
		return res
	}
	res.pprof = &p
	return res
}

// A turn is how long it took from a click to the picture that was asked for, to the first one, which may be made of what
// the page had already, and the answer of the server meanwhile; all in milliseconds.
type turn struct{ Took, First, Answer float64 }

// look opens a profile with hone and does what people do with it.
func (r *runner) look(ctx context.Context, file string) (l look, err error) {
	start := time.Now()
	if err := exec.CommandContext(ctx, r.hone, "top", file).Run(); err != nil {
		return l, fmt.Errorf("hone top: %w", err)
	}
	l.top = time.Since(start)

	tab, closeTab, err := r.tab(pageLimit)
	if err != nil {
		return l, err
	}
	defer closeTab()
	if err := prepare(tab); err != nil {
		return l, err
	}
	s, err := startServer(ctx, r.hone, "web", "--no-browser", file)
	if err != nil {
		return l, err
	}
	defer s.stop()
	if err := chromedp.Do(tab, chromedp.Navigate(s.url)); err != nil {
		return l, err
	}
	first, err := drawn(tab)
	if err != nil {
		return l, err
	}
	u, err := s.usage()
	if err != nil {
		return l, err
	}
	// The clock of the page is that of this program.
	l.drawn = time.UnixMicro(int64(first.At * 1000)).Sub(s.started)
	l.afterRead, l.wholeAfter = ms(first.AfterRead), ms(first.WholeAfter)
	l.drawnCPU, l.drawnPeak, l.payload = u.cpu, u.peak, first.Payload
	script, err := eval[string](tab, `pagebench.script()`)
	if err != nil {
		return l, err
	}
	l.script = packed(script)

	before, err := s.usage()
	if err != nil {
		return l, err
	}
	focus, err := eval[turn](tab, `pagebench.focus("json")`)
	if err != nil {
		return l, err
	}
	if u, err = s.usage(); err != nil {
		return l, err
	}
	l.focus, l.focusAnswer, l.focusCPU = ms(focus.Took), ms(focus.Answer), u.cpu-before.cpu
	if _, err := eval[turn](tab, `pagebench.unfocus()`); err != nil {
		return l, err
	}
	if focus, err = eval[turn](tab, `pagebench.focus("json")`); err != nil {
		return l, err
	}
	l.again = ms(focus.Took)
	if _, err := eval[turn](tab, `pagebench.unfocus()`); err != nil {
		return l, err
	}

	if l.zoom, err = zoomInto(tab, spotsClicked, clicks); err != nil {
		return l, err
	}
	if l.zoomAtOnce, err = zoomInto(tab, spotsAtOnce, 0); err != nil {
		return l, err
	}

	if err := chromedp.Do(tab, chromedp.Reload()); err != nil {
		return l, err
	}
	if first, err = drawn(tab); err != nil {
		return l, err
	}
	l.reopen = ms(first.Took)
	if u, err = s.usage(); err != nil {
		return l, err
	}
	l.rss, l.peak = u.rss, u.peak
	if err := r.visit(tab, s, &l); err != nil {
		return l, err
	}
	return l, r.redraw(tab, s, &l)
}

// A visit is a view that is gone to, or what a key makes of the flame graph.
type visit struct {
	tab, key string
	unit     string        // of the ranking in which a function is selected before
	rest     time.Duration // after that
	most     time.Duration
}

// selected is the function whose callers are asked for: many samples have it.
const selected = "runtime.mallocgc"

var visits = []visit{
	{tab: "Overview", most: 300 * time.Millisecond},
	{tab: "Top", most: 300 * time.Millisecond},
	{key: "c", unit: "ms", most: 300 * time.Millisecond},
	{key: "c", unit: "us", rest: time.Second, most: 300 * time.Millisecond},
	{tab: "Call tree"},
	{tab: "Traces", most: time.Second},
	{tab: "Graph", most: time.Second},
	{tab: "Flame"},
	{key: "i", most: time.Second},
	{key: "i"},
}

func (v visit) name() string {
	switch {
	case v.key == "c" && v.rest > 0:
		return fmt.Sprintf("Callers, %v after selecting", v.rest)
	case v.key == "c":
		return "Callers, at once"
	case v.key != "":
		return "Invert"
	}
	return v.tab
}

// movements are what is done without waiting for the picture, and for how many frames.
var movements = []struct {
	kind   string
	frames int
}{{"hovering", 240}, {"zooming", 240}, {"searching", 144}}

// visit goes to each view, and moves about in the flame graph.
func (r *runner) visit(tab context.Context, s *server, l *look) error {
	for _, v := range visits {
		if v.unit != "" {
			if _, err := eval[float64](tab, fmt.Sprintf("pagebench.select(%q, %q)", selected, v.unit)); err != nil {
				return err
			}
			time.Sleep(v.rest)
		}
		before, err := s.usage()
		if err != nil {
			return err
		}
		took, err := eval[[2]float64](tab, fmt.Sprintf("pagebench.visit(%q, %q)", v.tab, v.key))
		if err != nil {
			return err
		}
		after, err := s.usage()
		if err != nil {
			return err
		}
		l.views, l.viewsCPU = append(l.views, ms(took[0])), append(l.viewsCPU, after.cpu-before.cpu)
		l.wholeViews = append(l.wholeViews, ms(took[1]))
		if v.unit != "" {
			if _, err := eval[float64](tab, `pagebench.select("", "")`); err != nil {
				return err
			}
		}
	}
	for _, m := range movements {
		gaps, err := eval[[]float64](tab, fmt.Sprintf("pagebench.gaps(%q, %d)", m.kind, m.frames))
		if err != nil {
			return err
		}
		var list []time.Duration
		for _, g := range gaps {
			list = append(list, ms(g))
		}
		l.gaps = append(l.gaps, list)
	}
	return nil
}

// zoomInto zooms into boxes by two clicks, or as a program would that knows where a box is.
func zoomInto(tab context.Context, spots string, pause time.Duration) (z zoom, err error) {
	turns, err := eval[[]turn](tab, fmt.Sprintf(`pagebench.zoom(%d, %s, %d)`, looks.Milliseconds(), spots, pause.Milliseconds()))
	if err != nil {
		return z, err
	}
	if len(turns) == 0 {
		return z, errors.New("there was no box to zoom into")
	}
	over := func(of func(turn) float64) time.Duration {
		var xs []time.Duration
		for _, t := range turns {
			xs = append(xs, ms(of(t)))
		}
		return quantile(xs, 0.5)
	}
	return zoom{
		took:   over(func(t turn) float64 { return t.Took }),
		first:  over(func(t turn) float64 { return t.First }),
		answer: over(func(t turn) float64 { return t.Answer }),
	}, nil
}

// A picture is the first one of a page: when it was there, in milliseconds since 1970 and since the page was asked for,
// and how many bytes of answers it took.
type picture struct {
	At, Took  float64
	AfterRead float64 // since the profile was read
	Payload   int64

	WholeAfter float64 // the same of the picture with all calls
}

func drawn(tab context.Context) (picture, error) { return eval[picture](tab, `pagebench.drawn()`) }

// What is painted again and again: about as many calls as a screen could show, and more than pages ask for.
const (
	redrawNodes = 30_000
	redrawSteps = 240
)

// redraw moves about in a picture of many calls.
func (r *runner) redraw(tab context.Context, s *server, l *look) error {
	u, err := url.Parse(s.url)
	if err != nil {
		return err
	}
	u.Path, u.RawQuery = "/flame", fmt.Sprintf("limit=%d&min=0.0000001", redrawNodes)
	if err := chromedp.Do(tab, chromedp.Navigate(u.String())); err != nil {
		return err
	}
	if l.nodes, err = eval[int](tab, `pagebench.nodes()`); err != nil {
		return err
	}
	for i := range redrawSteps {
		before, err := scriptTime(tab)
		if err != nil {
			return err
		}
		paints, err := eval[[]float64](tab, fmt.Sprintf(`pagebench.step(%d)`, i))
		if err != nil {
			return err
		}
		after, err := scriptTime(tab)
		if err != nil {
			return err
		}
		for _, p := range paints {
			l.frames = append(l.frames, ms(p))
		}
		if len(paints) > 0 {
			l.steps = append(l.steps, (after-before)/time.Duration(len(paints)))
		}
	}
	if len(l.frames) < redrawSteps/4 {
		return fmt.Errorf("%d steps were painted %d times", redrawSteps, len(l.frames))
	}
	return nil
}

const pprofPath = "/ui/flamegraph"

// rival opens a profile with pprof. The note says what is odd about the figures.
func (r *runner) rival(ctx context.Context, file string) (p rival, note string, err error) {
	limited, stop := context.WithTimeout(ctx, r.limit)
	defer stop()
	s, err := startServer(limited, r.pprof, "-no_browser", "-http=localhost:", file)
	if err != nil {
		return p, "", err
	}
	defer s.stop()
	at, bytes, boxes, failed := r.pprofPage(s, s.url+pprofPath)
	switch {
	case limited.Err() != nil:
	case failed != nil:
		// The browser cannot take it. What it would have had to take is measured without it.
		note = fmt.Sprintf("the browser gave up on the page of pprof after %.0f s (%v); its time is that of the last byte",
			time.Since(s.started).Seconds(), failed)
		s.stop()
		if s, err = startServer(limited, r.pprof, "-no_browser", "-http=localhost:", file); err != nil {
			return p, note, err
		}
		defer s.stop()
		at, bytes, failed = fetchAll(limited, s.url+pprofPath)
	case !boxes:
		note = "the browser shows no boxes of pprof; its time is that of the last byte"
	}
	u, err := s.usage()
	if err != nil {
		return p, "", err
	}
	p = rival{drawn: at.Sub(s.started), cpu: u.cpu, peak: u.peak, payload: bytes}
	if failed != nil {
		if limited.Err() == nil {
			return p, note, failed
		}
		p.drawn, p.timedOut = r.limit, true
	}
	return p, note, nil
}

// pprofPage loads the page of pprof. It returns when its boxes were there, or else its last byte, and how many bytes it has.
func (r *runner) pprofPage(s *server, page string) (at time.Time, bytes int64, boxes bool, err error) {
	tab, closeTab, err := r.tab(r.limit - time.Since(s.started))
	if err != nil {
		return at, 0, false, err
	}
	defer closeTab()
	if err := chromedp.Do(tab, chromedp.Navigate(page)); err != nil {
		return at, 0, false, err
	}
	got, err := eval[struct {
		Boxes, Bytes int64
		Now, Last    float64 // in milliseconds since 1970
	}](tab, `(() => {
		const e = performance.getEntriesByType("navigation")[0];
		return {
			Boxes: document.querySelectorAll(".boxbg").length, Bytes: e.encodedBodySize,
			Now: performance.timeOrigin + performance.now(), Last: performance.timeOrigin + e.responseEnd,
		};
	})()`)
	if got.Boxes == 0 {
		got.Now = got.Last
	}
	return time.UnixMicro(int64(got.Now * 1000)), got.Bytes, got.Boxes > 0, err
}

// fetchAll reads a page to its end.
func fetchAll(ctx context.Context, url string) (at time.Time, bytes int64, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return at, 0, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return at, 0, err
	}
	defer res.Body.Close()
	bytes, err = io.Copy(io.Discard, res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", url, res.Status)
	}
	return time.Now(), bytes, err
}

// packed returns how many bytes text takes packed.
func packed(text string) int64 {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	io.Copy(w, strings.NewReader(text)) // to memory, which does not fail
	w.Close()
	return int64(b.Len())
}

func ms(n float64) time.Duration { return time.Duration(n * float64(time.Millisecond)) }

// quantile returns the smallest of xs that a share q of them does not exceed. There must be some.
func quantile(xs []time.Duration, q float64) time.Duration {
	sorted := slices.Sorted(slices.Values(xs))
	return sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)]
}
