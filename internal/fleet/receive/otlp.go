package receive

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/fleet/body"
	"github.com/hone-perf/hone/internal/fleet/message"
	"github.com/hone-perf/hone/internal/fleet/token"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/store"
)

// otlpVersion is the version of the protocol that is read. Profiles of OpenTelemetry are in development, and fields get other numbers from
// one version to the next.
const otlpVersion = "opentelemetry-proto 1.10"

// What follows are the messages of that version, with the fields that are used here. Lists of numbers are packed: a field that is not, or
// that is of another type, is of another version.

type otlpRequest struct {
	Resources  []otlpResourceProfiles `pb:"1" json:"resourceProfiles"`
	Dictionary otlpDictionary         `pb:"2" json:"dictionary"`
}

type otlpResourceProfiles struct {
	Resource otlpResource        `pb:"1" json:"resource"`
	Scopes   []otlpScopeProfiles `pb:"2" json:"scopeProfiles"`
}

type otlpResource struct {
	Attributes []otlpKeyValue `pb:"1" json:"attributes"`
}

type otlpScopeProfiles struct {
	Scope    otlpScope     `pb:"1" json:"scope"`
	Profiles []otlpProfile `pb:"2" json:"profiles"`
}

type otlpScope struct {
	Attributes []otlpKeyValue `pb:"3" json:"attributes"`
}

type otlpKeyValue struct {
	Key      string    `pb:"1" json:"key"`
	Value    otlpValue `pb:"2" json:"value"`
	KeyIndex int32     `pb:"3" json:"keyStrindex"`
}

type otlpValue struct {
	Text      *string  `pb:"1" json:"stringValue"`
	Bool      *bool    `pb:"2" json:"boolValue"`
	Int       *int64   `pb:"3" json:"intValue"`
	Double    *float64 `pb:"4" json:"doubleValue"`
	TextIndex *int32   `pb:"8" json:"stringValueStrindex"`
}

type otlpDictionary struct {
	Mappings   []otlpMapping   `pb:"1" json:"mappingTable"`
	Locations  []otlpLocation  `pb:"2" json:"locationTable"`
	Functions  []otlpFunction  `pb:"3" json:"functionTable"`
	Links      []otlpLink      `pb:"4" json:"linkTable"`
	Strings    []string        `pb:"5" json:"stringTable"`
	Attributes []otlpAttribute `pb:"6" json:"attributeTable"`
	Stacks     []otlpStack     `pb:"7" json:"stackTable"`
}

type otlpProfile struct {
	SampleType otlpValueType `pb:"1" json:"sampleType"`
	Samples    []otlpSample  `pb:"2" json:"samples"`
	Time       uint64        `pb:"3f" json:"timeUnixNano"`
	Duration   uint64        `pb:"4" json:"durationNano"`
	PeriodType otlpValueType `pb:"5" json:"periodType"`
	Period     int64         `pb:"6" json:"period"`
	ID         []byte        `pb:"7" json:"profileId"`
	Attributes []int32       `pb:"11p" json:"attributeIndices"`
}

type otlpValueType struct {
	Type int32 `pb:"1" json:"typeStrindex"`
	Unit int32 `pb:"2" json:"unitStrindex"`
}

type otlpSample struct {
	Stack      int32    `pb:"1" json:"stackIndex"`
	Attributes []int32  `pb:"2p" json:"attributeIndices"`
	Link       int32    `pb:"3" json:"linkIndex"`
	Values     []int64  `pb:"4p" json:"values"`
	Times      []uint64 `pb:"5fp" json:"timestampsUnixNano"`
}

type otlpMapping struct {
	Start      uint64  `pb:"1" json:"memoryStart"`
	Limit      uint64  `pb:"2" json:"memoryLimit"`
	Offset     uint64  `pb:"3" json:"fileOffset"`
	File       int32   `pb:"4" json:"filenameStrindex"`
	Attributes []int32 `pb:"5p" json:"attributeIndices"`
}

type otlpStack struct {
	Locations []int32 `pb:"1p" json:"locationIndices"`
}

type otlpLocation struct {
	Mapping int32      `pb:"1" json:"mappingIndex"`
	Address uint64     `pb:"2" json:"address"`
	Lines   []otlpLine `pb:"3" json:"lines"`
}

type otlpLine struct {
	Function int32 `pb:"1" json:"functionIndex"`
	Line     int64 `pb:"2" json:"line"`
	Column   int64 `pb:"3" json:"column"`
}

type otlpFunction struct {
	Name       int32 `pb:"1" json:"nameStrindex"`
	SystemName int32 `pb:"2" json:"systemNameStrindex"`
	File       int32 `pb:"3" json:"filenameStrindex"`
	StartLine  int64 `pb:"4" json:"startLine"`
}

type otlpLink struct {
	Trace []byte `pb:"1" json:"traceId"`
	Span  []byte `pb:"2" json:"spanId"`
}

type otlpAttribute struct {
	Key   int32     `pb:"1" json:"keyStrindex"`
	Value otlpValue `pb:"2" json:"value"`
	Unit  int32     `pb:"3" json:"unitStrindex"`
}

type otlpResponse struct{}

// otlpStatus is google.rpc.Status, as which errors are sent.
type otlpStatus struct {
	Code    int32  `pb:"1" json:"code"`
	Message string `pb:"2" json:"message"`
}

// grpcCodes are the codes of gRPC for the statuses that there are.
var grpcCodes = map[int]int32{400: 3, 401: 16, 403: 7, 408: 4, 413: 3, 415: 12, 422: 3, 429: 8, 500: 13, 503: 14, 507: 14}

// otlp is POST /v1development/profiles of OpenTelemetry.
func (s *Server) otlp(w http.ResponseWriter, r *http.Request) {
	err := onlyPost(w, r)
	if err == nil {
		err = s.exported(w, r)
	}
	status, answer := http.StatusOK, message.Marshal(&otlpResponse{})
	if err != nil {
		status = statusOf(w, err)
		answer = message.Marshal(&otlpStatus{grpcCodes[status], err.Error()})
	}
	h := w.Header()
	h.Set("Content-Type", "application/x-protobuf")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	w.Write(answer)
}

func (s *Server) exported(w http.ResponseWriter, r *http.Request) error {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind != "application/x-protobuf" && kind != "application/protobuf" {
		if _, err := s.opt.Gate.Allow(r, token.Write); err != nil {
			return err
		}
		return body.Errorf(http.StatusUnsupportedMediaType, "profiles of %s are taken as application/x-protobuf only", otlpVersion)
	}
	req, done, err := s.begin(w, r, false)
	if err != nil {
		return err
	}
	defer done()
	_, err = s.keep(r.Context(), req, func() ([]sent, error) { return parseOTLP(req.data, req.limits) })
	return err
}

// otherVersion is the error for what this version does not have.
func otherVersion(why string) error {
	return body.Errorf(http.StatusUnsupportedMediaType, "this server reads profiles of %s, and the body is of another version or damaged: %s", otlpVersion, why)
}

// parseOTLP returns the profiles of a request: of each one that it has, one for each service.
func parseOTLP(data []byte, limits Limits) ([]sent, error) {
	var m otlpRequest
	switch err := message.Unmarshal(data, &m, limits.ofMessage()); {
	case errors.Is(err, message.ErrMemory):
		return nil, body.Errorf(http.StatusUnprocessableEntity, "%v", err)
	case err != nil:
		return nil, otherVersion(err.Error())
	}
	d := &m.Dictionary
	if len(m.Resources) > 0 && (len(d.Strings) == 0 || d.Strings[0] != "") {
		return nil, otherVersion("the first text of its dictionary is not empty")
	}
	var out []sent
	for i := range m.Resources {
		resource := d.labels(m.Resources[i].Resource.Attributes)
		for j := range m.Resources[i].Scopes {
			scope := &m.Resources[i].Scopes[j]
			labels := append(d.labels(scope.Scope.Attributes), resource...)
			for k := range scope.Profiles {
				got, err := d.profiles(&scope.Profiles[k], labels, limits)
				if err != nil {
					return nil, err
				}
				if out = append(out, got...); len(out) > maxProfiles {
					return nil, body.Errorf(http.StatusUnprocessableEntity, "there are more than %d profiles", maxProfiles)
				}
			}
		}
	}
	return out, nil
}

// entry returns an entry of a table.
func entry[T any](table []T, i int32) (*T, error) {
	if i < 0 || int(i) >= len(table) {
		return nil, otherVersion("entry " + strconv.Itoa(int(i)) + " of a table of " + strconv.Itoa(len(table)) + " is asked for")
	}
	return &table[i], nil
}

// text returns an entry of the table of texts.
func (d *otlpDictionary) text(i int32, err *error) string {
	s, bad := entry(d.Strings, i)
	if bad != nil {
		*err = bad
		return ""
	}
	return *s
}

// of returns a value as a text, or as a number.
func (d *otlpDictionary) of(v *otlpValue) (text string, num int64, isNum bool) {
	var err error
	switch {
	case v.Text != nil:
		return *v.Text, 0, false
	case v.TextIndex != nil:
		return d.text(*v.TextIndex, &err), 0, false
	case v.Int != nil:
		return "", *v.Int, true
	case v.Bool != nil:
		return strconv.FormatBool(*v.Bool), 0, false
	case v.Double != nil:
		return strconv.FormatFloat(*v.Double, 'g', -1, 64), 0, false
	}
	return "", 0, false
}

const (
	serviceAttribute = "service.name"
	unknownService   = "unknown_service"
)

// noise are attributes that are of no use to tell profiles apart: they are the same for all, or different for each process.
var noise = []string{"telemetry.sdk.", "process.command", "os.description", "process.runtime.description"}

// labels returns the attributes of a resource as labels.
func (d *otlpDictionary) labels(attributes []otlpKeyValue) (out []store.Label) {
	for i := range attributes {
		a := &attributes[i]
		key := a.Key
		if key == "" {
			var err error
			key = d.text(a.KeyIndex, &err)
		}
		value, num, isNum := d.of(&a.Value)
		if isNum {
			value = strconv.FormatInt(num, 10)
		}
		if value == "" || slices.ContainsFunc(noise, func(n string) bool { return strings.HasPrefix(key, n) }) {
			continue
		}
		if key == serviceAttribute {
			key = store.ServiceLabel
		}
		out = append(out, store.Label{Name: key, Value: value})
	}
	return out
}

// An otlpBuilder makes a profile of samples of one service.
type otlpBuilder struct {
	*profile.Builder
	d *otlpDictionary

	mappings, functions, locations map[int32]int32 // where entries of the dictionary are in the tables of the profile
	sets                           map[string]uint32
}

// profiles returns what there is of each service in a profile.
func (d *otlpDictionary) profiles(p *otlpProfile, labels []store.Label, limits Limits) ([]sent, error) {
	if n := int64(len(p.Samples)); limits.Samples > 0 && n > limits.Samples {
		return nil, tooMuch(limitSamples, "the profile has %d samples, more than %d", n, limits.Samples)
	}
	var err error
	h := profile.Header{
		SampleTypes: []profile.ValueType{{Type: d.text(p.SampleType.Type, &err), Unit: d.text(p.SampleType.Unit, &err)}},
		PeriodType:  profile.ValueType{Type: d.text(p.PeriodType.Type, &err), Unit: d.text(p.PeriodType.Unit, &err)},
		Period:      p.Period,
	}
	if err != nil {
		return nil, err
	}
	if p.Time > 1<<62 || p.Duration > 1<<62 {
		return nil, otherVersion("its time is impossible")
	}
	h.TimeNanos, h.DurationNanos = int64(p.Time), int64(p.Duration)
	if h.SampleTypes[0].Type == "" && len(p.Samples) > 0 {
		return nil, otherVersion("a profile has no sample type")
	}
	// Profilers count ticks; the time that these stand for is what people ask for.
	ticks := h.SampleTypes[0].Type == "samples" && h.PeriodType == profile.ValueType{Type: cpu, Unit: "nanoseconds"} && p.Period > 0
	if ticks {
		h.SampleTypes = append(h.SampleTypes, h.PeriodType)
	}
	of := map[string]*otlpBuilder{}
	var order []string
	for i := range p.Samples {
		s := &p.Samples[i]
		value, err := valueOf(s)
		if err != nil {
			return nil, err
		}
		values := []int64{value}
		if ticks {
			if value > (1<<62)/p.Period || value < -(1<<62)/p.Period {
				return nil, body.Errorf(http.StatusBadRequest, "a count of %d is more than fits", value)
			}
			values = append(values, value*p.Period)
		}
		service, set, err := d.sampleLabels(s)
		if err != nil {
			return nil, err
		}
		b := of[service]
		if b == nil {
			b = &otlpBuilder{
				Builder: profile.NewBuilder(h), d: d, mappings: map[int32]int32{}, functions: map[int32]int32{}, locations: map[int32]int32{},
				sets: map[string]uint32{},
			}
			of[service] = b
			order = append(order, service)
		}
		if err := b.add(s, set, values, limits); err != nil {
			return nil, err
		}
	}
	var out []sent
	for _, service := range order {
		one, err := of[service].finish(p, labels, service)
		if err != nil {
			return nil, err
		}
		out = append(out, *one)
	}
	return out, nil
}

// valueOf returns what a sample counts: its values, or how often it was seen.
func valueOf(s *otlpSample) (sum int64, err error) {
	if len(s.Values) == 0 && len(s.Times) == 0 {
		return 0, otherVersion("a sample has neither values nor times")
	}
	if len(s.Values) == 0 {
		return int64(len(s.Times)), nil
	}
	for _, v := range s.Values {
		if v > 1<<62-max(sum, 0) || v < -1<<62-min(sum, 0) {
			return 0, body.Errorf(http.StatusBadRequest, "a value of %d is more than fits", v)
		}
		sum += v
	}
	return sum, nil
}

// sampleLabels returns the labels of a sample, and its service where it has one of its own.
func (d *otlpDictionary) sampleLabels(s *otlpSample) (service string, set []profile.Label, err error) {
	for _, i := range s.Attributes {
		a, err := entry(d.Attributes, i)
		if err != nil {
			return "", nil, err
		}
		key, unit := d.text(a.Key, &err), d.text(a.Unit, &err)
		if err != nil {
			return "", nil, err
		}
		text, num, isNum := d.of(&a.Value)
		switch {
		case key == serviceAttribute && !isNum:
			service = text
		case isNum:
			set = append(set, profile.Label{Key: key, Numeric: true, Num: num, Unit: unit, HasUnit: unit != ""})
		case key != "" && text != "":
			set = append(set, profile.Label{Key: key, Str: text})
		}
	}
	if s.Link != 0 {
		l, err := entry(d.Links, s.Link)
		if err != nil {
			return "", nil, err
		}
		if len(l.Span) == 8 && len(l.Trace) == 16 {
			set = append(set, profile.Label{Key: "span_id", Str: hex.EncodeToString(l.Span)}, profile.Label{Key: "trace_id", Str: hex.EncodeToString(l.Trace)})
		}
	}
	return service, set, nil
}

// add adds a sample.
func (b *otlpBuilder) add(s *otlpSample, set []profile.Label, values []int64, limits Limits) error {
	st, err := entry(b.d.Stacks, s.Stack)
	if err != nil {
		return err
	}
	if n := int64(len(st.Locations)); limits.Depth > 0 && n > limits.Depth {
		return tooMuch(limitDepth, "a stack of the profile has %d frames, more than %d", n, limits.Depth)
	}
	stack := make([]uint32, len(st.Locations))
	for i, l := range st.Locations {
		at, err := b.location(l)
		if err != nil {
			return err
		}
		stack[i] = uint32(at)
	}
	labels := uint32(0)
	if len(set) > 0 {
		labels = b.Labels(set)
	}
	b.Add(stack, labels, values)
	return nil
}

func (b *otlpBuilder) location(i int32) (int32, error) {
	if to, ok := b.locations[i]; ok {
		return to, nil
	}
	l, err := entry(b.d.Locations, i)
	if err != nil {
		return 0, err
	}
	out := profile.Location{Mapping: profile.NoMapping, Address: l.Address}
	if l.Mapping != 0 { // 0 is none
		if out.Mapping, err = b.mapping(l.Mapping); err != nil {
			return 0, err
		}
	}
	for _, line := range l.Lines {
		f, err := b.function(line.Function)
		if err != nil {
			return 0, err
		}
		if f >= 0 {
			out.Lines = append(out.Lines, profile.Line{Function: uint32(f), Line: line.Line, Column: line.Column})
		}
	}
	to := int32(len(b.Tables.Locations))
	b.Tables.Locations = append(b.Tables.Locations, out)
	b.locations[i] = to
	return to, nil
}

// function returns where a function is, or -1 if it has no name.
func (b *otlpBuilder) function(i int32) (int32, error) {
	if to, ok := b.functions[i]; ok {
		return to, nil
	}
	f, err := entry(b.d.Functions, i)
	if err != nil {
		return 0, err
	}
	out := profile.Function{StartLine: f.StartLine}
	out.Name, out.SystemName, out.File = b.d.text(f.Name, &err), b.d.text(f.SystemName, &err), b.d.text(f.File, &err)
	if err != nil {
		return 0, err
	}
	out.Name = cmp.Or(out.Name, out.SystemName)
	out.SystemName = cmp.Or(out.SystemName, out.Name)
	to := int32(-1)
	if out.Name != "" {
		to = int32(len(b.Tables.Functions))
		b.Tables.Functions = append(b.Tables.Functions, out)
	}
	b.functions[i] = to
	return to, nil
}

// buildIDs are the attributes that tell builds of programs apart, those first that programs have by themselves.
var buildIDs = []string{"process.executable.build_id.gnu", "process.executable.build_id.go", "process.executable.build_id.htlhash"}

func (b *otlpBuilder) mapping(i int32) (int32, error) {
	if to, ok := b.mappings[i]; ok {
		return to, nil
	}
	m, err := entry(b.d.Mappings, i)
	if err != nil {
		return 0, err
	}
	out := profile.Mapping{
		Start: m.Start, Limit: m.Limit, Offset: m.Offset, File: b.d.text(m.File, &err),
		HasFunctions: true, HasFilenames: true, HasLineNumbers: true, HasInlineFrames: true,
	}
	best := len(buildIDs)
	for _, i := range m.Attributes {
		a, bad := entry(b.d.Attributes, i)
		if bad != nil {
			return 0, bad
		}
		if at := slices.Index(buildIDs, b.d.text(a.Key, &err)); at >= 0 && at < best {
			best = at
			out.BuildID, _, _ = b.d.of(&a.Value)
		}
	}
	if err != nil {
		return 0, err
	}
	to := int32(len(b.Tables.Mappings))
	b.Tables.Mappings = append(b.Tables.Mappings, out)
	b.mappings[i] = to
	return to, nil
}

// finish returns the profile as it would have been sent as pprof.
func (b *otlpBuilder) finish(p *otlpProfile, labels []store.Label, service string) (*sent, error) {
	b.Renumber()
	made, err := b.Profile()
	if err == nil {
		made, err = profile.Merge(made)
	}
	if err != nil {
		return nil, body.Errorf(http.StatusBadRequest, "%v", err)
	}
	var raw bytes.Buffer
	if err := made.Write(&raw); err != nil {
		return nil, err
	}
	in := &sent{sums: deltas, raw: raw.Bytes(), parsed: made, labels: slices.Clone(labels)}
	in.service = serviceOf(labels)
	if service != "" {
		in.service = service
		in.labels = slices.DeleteFunc(in.labels, func(l store.Label) bool { return l.Name == store.ServiceLabel })
	}
	if p.Time > 0 {
		in.start = time.Unix(0, int64(p.Time))
		in.end = in.start.Add(time.Duration(p.Duration))
	}
	if in.kind, err = kindOf(made, nil); err != nil {
		in.kind = made.SampleTypes[0].Type
	}
	if !isName(in.kind, 64) {
		in.kind = "other"
	}
	return in, nil
}

// serviceOf names what has no service.
func serviceOf(labels []store.Label) string {
	for _, l := range labels {
		if l.Name == "process.executable.name" {
			return unknownService + ":" + l.Value
		}
	}
	return unknownService
}
