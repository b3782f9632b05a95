package receive

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hone-perf/hone/internal/fleet/body"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/store"
)

// A sent is a profile as its sender described it.
type sent struct {
	service string
	kind    string            // "" is by what it counts
	names   map[string]string // what its sender calls sample types, for kinds that count the same
	labels  []store.Label
	start   time.Time
	end     time.Time
	sums    sums
	raw     []byte
	parsed  *profile.Profile // nil when raw has not been read
}

// sums says what values such as alloc_space and contentions are.
type sums int

const (
	asProfile sums = iota // since the process began, unless the profile is about a stretch of time
	deltas                // since the profile before
	counters              // since the process began
)

// The kinds of profiles that hone has names for.
const (
	cpu       = "cpu"
	heap      = "heap"
	mutex     = "mutex"
	block     = "block"
	goroutine = "goroutine"
)

// kindNames are what others call kinds.
var kindNames = map[string]string{
	"process_cpu": cpu, "memory": heap, "allocs": heap, "goroutines": goroutine, "goroutine_leak": "goroutineleak",
	"godeltaprof_memory": heap, "godeltaprof_mutex": mutex, "godeltaprof_block": block, "profile": cpu,
}

// upload makes an upload of what was sent.
func (s *Server) upload(t *tenant, in *sent) (*store.Upload, error) {
	u := &store.Upload{Service: in.service, Start: in.start, End: in.end, Raw: in.raw}
	if err := s.label(t, u, in.labels); err != nil {
		return nil, err
	}
	p := in.parsed
	if p == nil {
		var err error
		if p, err = read(in.raw, t.limited().Unpacked); err != nil {
			return nil, err
		}
		u.Own = true
	}
	if err := checkProfile(p, t.limited()); err != nil {
		return nil, err
	}
	u.Parsed = p
	u.Kind = in.kind
	if known := kindNames[u.Kind]; known != "" {
		u.Kind = known
	}
	if u.Kind == "" {
		var err error
		if u.Kind, err = kindOf(p, in.names); err != nil {
			return nil, err
		}
	}
	if !isName(u.Kind, 64) {
		return nil, body.Errorf(http.StatusBadRequest, "%q is not a kind of profiles, such as cpu or heap", profile.Shorten(u.Kind, 80))
	}
	if err := store.CheckKind(u.Kind, p.SampleTypes); err != nil {
		return nil, body.Errorf(http.StatusBadRequest, "%v", err)
	}
	counts := u.Kind == heap || u.Kind == mutex || u.Kind == block
	u.Counters = counts && (in.sums == counters || in.sums == asProfile && p.DurationNanos == 0)
	if u.End.Before(u.Start) {
		u.End = u.Start
	}
	return u, nil
}

// label gives an upload its labels: those of its series, and its own.
func (s *Server) label(t *tenant, u *store.Upload, labels []store.Label) error {
	limits, isRow := t.limited(), *s.row.Load()
	var series, row []store.Label
	for _, l := range labels {
		switch {
		case l.Value == "" || strings.HasPrefix(l.Name, "__") && l.Name != sessionLabel:
			continue // they are about how profiles are sent
		case l.Name == store.ServiceLabel:
			u.Service = l.Value
			continue
		case limits.Name > 0 && len(l.Name) > limits.Name:
			return tooMuch(limitName, "the name of label %s has %d bytes, more than %d", profile.Shorten(l.Name, 60), len(l.Name), limits.Name)
		case !isLabelName(l.Name):
			return body.Errorf(http.StatusBadRequest, "%q is not a label name", profile.Shorten(l.Name, 80))
		}
		if err := checkValue(l.Name, l.Value, limits); err != nil {
			return err
		}
		if isRow[l.Name] {
			row = append(row, l)
		} else {
			series = append(series, l)
		}
	}
	if n := len(series) + len(row); limits.Labels > 0 && n > limits.Labels {
		return tooMuch(limitLabels, "the profile has %d labels, more than %d", n, limits.Labels)
	}
	if strings.TrimSpace(u.Service) == "" {
		return body.Errorf(http.StatusBadRequest, "the profile has no service: its label %s is missing", store.ServiceLabel)
	}
	if err := checkValue(store.ServiceLabel, u.Service, limits); err != nil {
		return err
	}
	u.Labels, u.Row = store.NewLabels(series...), store.NewLabels(row...)
	return nil
}

func checkValue(name, value string, limits Limits) error {
	if limits.Value > 0 && len(value) > limits.Value {
		return tooMuch(limitValue, "the value of label %s has %d bytes, more than %d", profile.Shorten(name, 60), len(value), limits.Value)
	}
	if !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl) {
		return body.Errorf(http.StatusBadRequest, "the value of label %s is not a text without control characters", profile.Shorten(name, 60))
	}
	return nil
}

// tooMuch is the error for a profile that will never fit.
func tooMuch(limit, format string, args ...any) error {
	return &body.Error{Status: http.StatusUnprocessableEntity, Limit: limit, Message: fmt.Sprintf(format, args...) + " (limit: " + limit + ")"}
}

// isLabelName reports whether a name can be asked for in a selector.
func isLabelName(s string) bool {
	return s != "" && utf8.ValidString(s) && !strings.ContainsAny(s, "{}\"`,=~!\\") &&
		!strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) })
}

// isName reports whether s is a plain word.
func isName(s string, most int) bool {
	ok := s != "" && len(s) <= most
	for i := range len(s) {
		c := s[i]
		ok = ok && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || i > 0 && (c == '-' || c == '.'))
	}
	return ok
}

// read reads a profile that may be packed, and is at most limit bytes unpacked.
func read(raw []byte, limit int64) (*profile.Profile, error) {
	p, err := profile.ParseWithin(raw, profile.Bound{Unpacked: limit, Memory: memoryFor * limit})
	if errors.Is(err, profile.ErrTooLarge) {
		return nil, &body.Error{Status: http.StatusRequestEntityTooLarge, Limit: body.LimitUnpacked, Message: fmt.Sprintf("%v (limit: %s)", err, body.LimitUnpacked)}
	}
	if errors.Is(err, bufio.ErrTooLong) {
		return nil, tooMuch(limitLine, "a line of the profile has more than %d bytes; send pprof or folded stacks (main;work 12), whose lines may be longer", bufio.MaxScanTokenSize)
	}
	if err == nil {
		err = p.Damage
	}
	if err != nil {
		return nil, body.Errorf(http.StatusBadRequest, "%v", err)
	}
	return p, nil
}

// checkProfile holds a profile against limits.
func checkProfile(p *profile.Profile, limits Limits) error {
	if n := int64(p.NumSamples()); limits.Samples > 0 && n > limits.Samples {
		return tooMuch(limitSamples, "the profile has %d samples, more than %d", n, limits.Samples)
	}
	if limits.Depth <= 0 {
		return nil
	}
	for i := range p.NumSamples() {
		if n := p.Depth(i); int64(n) > limits.Depth {
			return tooMuch(limitDepth, "a stack of the profile has %d frames, more than %d", n, limits.Depth)
		}
	}
	return nil
}

// kindOf says what kind a profile is by what it counts.
func kindOf(p *profile.Profile, names map[string]string) (string, error) {
	has := func(types ...string) bool {
		return slices.ContainsFunc(p.SampleTypes, func(t profile.ValueType) bool { return slices.Contains(types, t.Type) })
	}
	called := func(part string) bool {
		return slices.ContainsFunc(p.SampleTypes, func(t profile.ValueType) bool { return strings.Contains(names[t.Type], part) })
	}
	switch {
	case has("wall"):
		return "wall", nil
	case has("cpu") || has("samples") && p.PeriodType.Type == "cpu":
		return cpu, nil
	case has("alloc_space", "alloc_objects", "inuse_space", "inuse_objects", "space", "objects"):
		return heap, nil
	case has("contentions", "delay"):
		switch {
		case called("block"):
			return block, nil
		case called("mutex"):
			return mutex, nil
		}
		return "", body.Errorf(http.StatusBadRequest, "profiles of locks and of blocking look alike: say kind=mutex or kind=block")
	}
	if err := store.CheckKind("", p.SampleTypes); err != nil {
		return "", body.Errorf(http.StatusBadRequest, "%v", err)
	}
	t := p.SampleTypes[0].Type
	return cmp.Or(kindNames[t], t), nil
}

// moment reads a time as clients write it: a whole number since 1970 of seconds or smaller units, or RFC 3339.
func moment(text string) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return t, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return time.Time{}, errors.New("not a time; want 1767225600 or 2026-01-01T00:00:00Z")
	}
	switch {
	case n < 1e11:
		return time.Unix(n, 0), nil
	case n < 1e14:
		return time.UnixMilli(n), nil
	case n < 1e17:
		return time.UnixMicro(n), nil
	default:
		return time.Unix(0, n), nil
	}
}

// span reads two times that may be missing.
func span(from, until string) (start, end time.Time, err error) {
	for _, x := range []struct {
		name, text string
		to         *time.Time
	}{{"from", from, &start}, {"until", until, &end}} {
		if x.text == "" {
			continue
		}
		if *x.to, err = moment(x.text); err != nil {
			return start, end, body.Errorf(http.StatusBadRequest, "%s=%s: %v", x.name, profile.Shorten(x.text, 60), err)
		}
	}
	switch {
	case start.IsZero():
		start = end
	case until != "" && end.Before(start):
		return start, end, body.Errorf(http.StatusBadRequest, "until is before from")
	}
	if end.Before(start) {
		end = start
	}
	return start, end, nil
}
