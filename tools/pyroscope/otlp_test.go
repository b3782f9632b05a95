package pyroscope

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	collectorv1 "go.opentelemetry.io/proto/otlp/collector/profiles/v1development"
	commonv1 "go.opentelemetry.io/proto/otlp/common/v1"
	otlpv1 "go.opentelemetry.io/proto/otlp/profiles/v1development"
	resourcev1 "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/protobuf/proto"

	"github.com/hone-perf/hone/internal/store"
)

func text(s string) *commonv1.AnyValue {
	return &commonv1.AnyValue{Value: &commonv1.AnyValue_StringValue{StringValue: s}}
}

// TestOTLP holds that the messages of OpenTelemetry are read as its own library writes them.
func TestOTLP(t *testing.T) {
	b := newBench(t)
	now := time.Now()
	m := &collectorv1.ExportProfilesServiceRequest{
		Dictionary: &otlpv1.ProfilesDictionary{
			StringTable: []string{"", "samples", "count", "cpu", "nanoseconds", "main.main", "main.work", "/src/main.go", "thread.name", "/bin/app",
				"process.executable.build_id.gnu"},
			MappingTable:  []*otlpv1.Mapping{{}, {MemoryStart: 0x1000, MemoryLimit: 0x2000, FilenameStrindex: 9, AttributeIndices: []int32{2}}},
			FunctionTable: []*otlpv1.Function{{}, {NameStrindex: 5, FilenameStrindex: 7, StartLine: 3}, {NameStrindex: 6, FilenameStrindex: 7, StartLine: 9}},
			LocationTable: []*otlpv1.Location{
				{}, {MappingIndex: 1, Address: 0x1010, Lines: []*otlpv1.Line{{FunctionIndex: 1, Line: 4}}},
				{MappingIndex: 1, Address: 0x1020, Lines: []*otlpv1.Line{{FunctionIndex: 2, Line: 10, Column: 2}}},
			},
			LinkTable:  []*otlpv1.Link{{}, {TraceId: make([]byte, 16), SpanId: []byte{1, 2, 3, 4, 5, 6, 7, 8}}},
			StackTable: []*otlpv1.Stack{{}, {LocationIndices: []int32{2, 1}}},
			AttributeTable: []*otlpv1.KeyValueAndUnit{
				{}, {KeyStrindex: 8, Value: text("worker")}, {KeyStrindex: 10, Value: text("abc123")},
			},
		},
		ResourceProfiles: []*otlpv1.ResourceProfiles{{
			Resource: &resourcev1.Resource{Attributes: []*commonv1.KeyValue{
				{Key: "service.name", Value: text("api")}, {Key: "service.version", Value: text("v2")}, {Key: "host.name", Value: text("h1")},
			}},
			ScopeProfiles: []*otlpv1.ScopeProfiles{{
				Scope: &commonv1.InstrumentationScope{Name: "x"},
				Profiles: []*otlpv1.Profile{{
					SampleType:   &otlpv1.ValueType{TypeStrindex: 1, UnitStrindex: 2},
					PeriodType:   &otlpv1.ValueType{TypeStrindex: 3, UnitStrindex: 4},
					Period:       50_000_000,
					TimeUnixNano: uint64(now.UnixNano()), DurationNano: 5e9, ProfileId: make([]byte, 16),
					Samples: []*otlpv1.Sample{
						{StackIndex: 1, Values: []int64{3}, AttributeIndices: []int32{1}},
						{StackIndex: 1, TimestampsUnixNano: []uint64{1, 2}, LinkIndex: 1},
					},
				}},
			}},
		}},
	}
	raw, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		r, err := http.NewRequest("POST", b.url+"/v1development/profiles", bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+b.write)
		r.Header.Set("Content-Type", "application/x-protobuf")
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != 200 || proto.Unmarshal(answer, &collectorv1.ExportProfilesServiceResponse{}) != nil {
			t.Fatalf("%s %q, %v", res.Status, answer, err)
		}
	}
	got, err := b.store.Merge(context.Background(), store.Query{Tenant: "shop", Selector: store.Service("api"), Kind: "cpu", From: now.Add(-time.Hour), To: now.Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	p := got.Profile
	sum := [2]int64{}
	for k := range sum {
		for _, v := range p.Values(k) {
			sum[k] += v
		}
	}
	if got.Profiles != 1 || sum != [2]int64{5, 250_000_000} || p.Mappings[0].File != "/bin/app" || p.NumSamples() != 2 {
		t.Errorf("%d profiles with %v, %d samples, %+v", got.Profiles, sum, p.NumSamples(), p.Mappings)
	}
}
