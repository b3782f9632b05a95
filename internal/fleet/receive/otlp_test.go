package receive

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/fleet/message"
	"github.com/hone-perf/hone/internal/store"
)

func text(s string) otlpValue { return otlpValue{Text: &s} }

// export is a request with a CPU profile of two services.
func export() *otlpRequest {
	seven := int64(7)
	return &otlpRequest{
		Dictionary: otlpDictionary{
			Strings: []string{"", "samples", "count", "cpu", "nanoseconds", "main.main", "main.work", "/src/main.go", "thread.name", "service.name",
				"/bin/app", "process.executable.build_id.gnu", "cpu.number"},
			Mappings:  []otlpMapping{{}, {Start: 0x1000, Limit: 0x2000, File: 10, Attributes: []int32{3}}},
			Functions: []otlpFunction{{}, {Name: 5, File: 7, StartLine: 3}, {Name: 6, File: 7, StartLine: 9}},
			Locations: []otlpLocation{
				{}, {Mapping: 1, Address: 0x1010, Lines: []otlpLine{{Function: 1, Line: 4}}}, {Mapping: 1, Address: 0x1020, Lines: []otlpLine{{Function: 2, Line: 10}}},
				{Mapping: 1, Address: 0x1030},
			},
			Links:  []otlpLink{{}, {Trace: make([]byte, 16), Span: []byte{1, 2, 3, 4, 5, 6, 7, 8}}},
			Stacks: []otlpStack{{}, {[]int32{2, 1}}, {[]int32{3, 1}}},
			Attributes: []otlpAttribute{
				{}, {Key: 8, Value: text("worker")}, {Key: 9, Value: text("sidecar")}, {Key: 11, Value: text("abc123")}, {Key: 12, Value: otlpValue{Int: &seven}},
			},
		},
		Resources: []otlpResourceProfiles{{
			Resource: otlpResource{[]otlpKeyValue{
				{Key: "service.name", Value: text("api")}, {Key: "service.version", Value: text("v2")}, {Key: "k8s.pod.name", Value: text("p1")},
				{Key: "telemetry.sdk.name", Value: text("x")},
			}},
			Scopes: []otlpScopeProfiles{{Profiles: []otlpProfile{{
				SampleType: otlpValueType{1, 2}, PeriodType: otlpValueType{3, 4}, Period: 50_000_000, Time: uint64(now.UnixNano()), Duration: 5e9,
				Samples: []otlpSample{
					{Stack: 1, Values: []int64{3}, Attributes: []int32{1, 4}},
					{Stack: 2, Times: []uint64{uint64(now.UnixNano()), uint64(now.UnixNano()) + 1}},
					{Stack: 1, Values: []int64{1, 1}, Link: 1, Attributes: []int32{2}},
				},
			}}}},
		}},
	}
}

const otlpPath = "/v1development/profiles"

func TestOTLP(t *testing.T) {
	b := newBench(t, nil)
	c := call{path: otlpPath, token: b.shop, kind: "application/x-protobuf", body: message.Marshal(export())}
	for range 2 {
		if got := b.ok(c); got != "" {
			t.Errorf("the answer is %q", got)
		}
	}
	c.body, c.header = gz(t, c.body), map[string]string{"Content-Encoding": "gzip"}
	b.ok(c)
	b.wantEntries("shop",
		`api cpu {k8s.pod.name="p1",service.version="v2"} 2026-09-01T10:30:00Z samples/count=5 cpu/nanoseconds=250000000`,
		`sidecar cpu {k8s.pod.name="p1",service.version="v2"} 2026-09-01T10:30:00Z samples/count=2 cpu/nanoseconds=100000000`,
	)
	m, err := b.store.Merge(context.Background(), store.Query{Tenant: "shop", Kind: "cpu", To: now.AddDate(0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	p := m.Profile
	var lines []string
	var stack []uint32
	for i := range p.NumSamples() {
		stack = p.Stack(i, stack[:0])
		line := ""
		for _, at := range stack {
			l := p.Locations[at]
			if len(l.Lines) == 0 {
				line += "?;"
				continue
			}
			line += p.Functions[l.Lines[0].Function].Name + ";"
		}
		for _, l := range p.LabelSets()[p.Label(i)] {
			line += " " + l.Key + "=" + l.Str
		}
		lines = append(lines, line)
	}
	got := strings.Join(lines, "\n")
	for _, want := range []string{"main.work;main.main; thread.name=worker cpu.number=", "?;main.main;", "main.work;main.main; span_id=0102030405060708 trace_id=00000000000000000000000000000000"} {
		if !strings.Contains(got, want) {
			t.Errorf("no sample %q in\n%s", want, got)
		}
	}
	builds, _, err := b.store.Values(context.Background(), store.Query{Tenant: "shop", To: now.AddDate(0, 0, 1)}, store.BuildLabel, "", 10)
	if err != nil || !slices.Equal(builds, []string{"abc123"}) || p.Mappings[0].File != "/bin/app" {
		t.Errorf("the builds are %q, %v, of %+v", builds, err, p.Mappings[0])
	}
}

// The message of a sample in opentelemetry-proto 1.9.
type oldSample struct {
	Stack      int32   `pb:"1" json:"stackIndex"`
	Values     []int64 `pb:"2" json:"values"`
	Attributes []int32 `pb:"3" json:"attributeIndices"`
	Link       int32   `pb:"4" json:"linkIndex"`
}

type oldProfile struct {
	SampleType otlpValueType `pb:"1" json:"sampleType"`
	Samples    []oldSample   `pb:"2" json:"samples"`
	Time       uint64        `pb:"3f" json:"timeUnixNano"`
}

type oldRequest struct {
	Resources  []oldResources `pb:"1" json:"resourceProfiles"`
	Dictionary otlpDictionary `pb:"2" json:"dictionary"`
}

type oldResources struct {
	Scopes []oldScopes `pb:"2" json:"scopeProfiles"`
}

type oldScopes struct {
	Profiles []oldProfile `pb:"2" json:"profiles"`
}

// TestOTLPVersions holds that what is not of the version that is read gets an answer that says so, and nothing of it is kept.
func TestOTLPVersions(t *testing.T) {
	b := newBench(t, nil)
	old := func(s oldSample) []byte {
		m := oldRequest{Dictionary: export().Dictionary}
		m.Resources = []oldResources{{[]oldScopes{{[]oldProfile{{SampleType: otlpValueType{1, 2}, Time: 1, Samples: []oldSample{s}}}}}}}
		return message.Marshal(&m)
	}
	broken := func(edit func(*otlpRequest)) []byte {
		m := export()
		edit(m)
		return message.Marshal(m)
	}
	profile := func(m *otlpRequest) *otlpProfile { return &m.Resources[0].Scopes[0].Profiles[0] }
	for name, body := range map[string][]byte{
		"1.9":                 old(oldSample{Stack: 1, Values: []int64{3}}),
		"1.9 with attributes": old(oldSample{Stack: 1, Values: []int64{3}, Attributes: []int32{1}}),
		"1.9 with a link":     old(oldSample{Stack: 1, Values: []int64{3}, Link: 1}),
		"garbage":             []byte("garbage"),
		"no texts":            broken(func(m *otlpRequest) { m.Dictionary.Strings = nil }),
		"no such stack":       broken(func(m *otlpRequest) { profile(m).Samples[0].Stack = 99 }),
		"no such location":    broken(func(m *otlpRequest) { m.Dictionary.Stacks[1].Locations[0] = -1 }),
		"no such function":    broken(func(m *otlpRequest) { m.Dictionary.Locations[1].Lines[0].Function = 99 }),
		"no such mapping":     broken(func(m *otlpRequest) { m.Dictionary.Locations[1].Mapping = 99 }),
		"no such text":        broken(func(m *otlpRequest) { m.Dictionary.Functions[1].Name = 99 }),
		"no such attribute":   broken(func(m *otlpRequest) { profile(m).Samples[0].Attributes[0] = 99 }),
		"no such link":        broken(func(m *otlpRequest) { profile(m).Samples[0].Link = 99 }),
		"no sample type":      broken(func(m *otlpRequest) { profile(m).SampleType.Type = 0 }),
	} {
		w := b.do(call{path: otlpPath, token: b.shop, kind: "application/x-protobuf", body: body})
		var st otlpStatus
		if err := message.Unmarshal(w.Body.Bytes(), &st, message.Limits{}); err != nil || w.Code != 415 || st.Code != 12 || !strings.Contains(st.Message, otlpVersion) {
			t.Errorf("%s: %d %+v, %v", name, w.Code, st, err)
		}
	}
	w := b.do(call{path: otlpPath, token: b.shop, kind: "application/json", body: message.MarshalJSON(export())})
	if w.Code != 415 || !strings.Contains(w.Body.String(), "application/x-protobuf") {
		t.Errorf("JSON: %d %s", w.Code, w.Body)
	}
	b.wantEntries("shop")
	deep := broken(func(m *otlpRequest) { m.Dictionary.Stacks[1].Locations = slices.Repeat([]int32{1}, 2000) })
	if w := b.do(call{path: otlpPath, token: b.shop, kind: "application/x-protobuf", body: deep}); w.Code != 422 || !strings.Contains(w.Body.String(), limitDepth) {
		t.Errorf("a deep stack: %d %s", w.Code, w.Body)
	}
}

func FuzzOTLP(f *testing.F) {
	f.Add(message.Marshal(export()))
	f.Fuzz(func(t *testing.T, data []byte) {
		if in, err := parseOTLP(data, small); err == nil {
			tryAll(in)
		}
	})
}
