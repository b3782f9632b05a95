package querier

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/fleet/message"
	"github.com/hone-perf/hone/internal/fleet/token"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/store"
	"github.com/hone-perf/hone/internal/store/storetest"
)

var (
	begin = time.Date(2026, 9, 1, 10, 0, 0, 0, time.UTC)
	end   = begin.Add(10 * time.Minute)
)

const cpuType = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"

// A bench is a server on a store with the profiles of a fleet.
type bench struct {
	t      testing.TB
	mux    *http.ServeMux
	store  *storetest.Memory
	reader string
	tokens map[string]string
}

func newBench(t testing.TB) *bench {
	t.Helper()
	f, err := token.Open(filepath.Join(t.TempDir(), "tokens.json"))
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, mux: http.NewServeMux(), store: storetest.NewMemory(), tokens: map[string]string{}}
	for name, tok := range map[string]token.Token{
		"reader": {Tenant: "shop", Scopes: []token.Scope{token.Read}},
		"writer": {Tenant: "shop", Scopes: []token.Scope{token.Write}},
		"other":  {Tenant: "other", Scopes: []token.Scope{token.Read}},
		"admin":  {Scopes: []token.Scope{token.Admin}},
	} {
		tok.Name = name
		if b.tokens[name], err = f.Make(tok); err != nil {
			t.Fatal(err)
		}
	}
	b.reader = b.tokens["reader"]
	b.store.Now = func() time.Time { return end }
	New(Options{Store: b.store, Gate: &token.Gate{Tokens: f}, Now: b.store.Now}).Register(b.mux)
	fleet := storetest.Small()
	fleet.Start, fleet.Services, fleet.Rounds = begin, 2, 4
	if _, err := b.store.Add(context.Background(), "shop", fleet.All()); err != nil {
		t.Fatal(err)
	}
	// A profile that can be followed by eye.
	raw := []byte("main;a;b 5\nmain;a;c 3\nmain;d 2\nmain 1\nboot 4\n")
	if _, err := b.store.Add(context.Background(), "shop", []*store.Upload{{Service: "eye", Kind: "jobs", Start: begin, End: begin, Raw: raw}}); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) do(secret, name, kind string, body []byte, edit ...func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", "http://hone.example"+service+name, bytes.NewReader(body))
	r.Header.Set("Content-Type", kind)
	if secret != "" {
		r.Header.Set("Authorization", "Bearer "+secret)
	}
	for _, e := range edit {
		e(r)
	}
	w := httptest.NewRecorder()
	b.mux.ServeHTTP(w, r)
	return w
}

// ask makes a call as protocol buffers and as JSON, which have to give the same, and returns the answer as JSON.
func (b *bench) ask(name string, m, answer any) string {
	b.t.Helper()
	j := b.do(b.reader, name, "application/json", message.MarshalJSON(m))
	p := b.do(b.reader, name, "application/proto", message.Marshal(m))
	if j.Code != 200 || p.Code != 200 {
		b.t.Fatalf("%s: %d %.300q; %d %.300q", name, j.Code, j.Body, p.Code, p.Body)
	}
	if got := j.Header().Get("Content-Type") + p.Header().Get("Content-Type"); got != "application/jsonapplication/proto" {
		b.t.Errorf("%s: the answers are of %s", name, got)
	}
	if err := message.Unmarshal(p.Body.Bytes(), answer, message.Limits{Memory: 1 << 30}); err != nil {
		b.t.Fatalf("%s: %v", name, err)
	}
	text := string(message.MarshalJSON(answer))
	if text != j.Body.String() {
		b.t.Errorf("%s: JSON says\n%s\nand protocol buffers\n%s", name, j.Body, text)
	}
	return text
}

var update = flag.Bool("update", false, "write the answers anew")

// TestCalls holds what Grafana and profilecli ask and what they are answered. The requests have the form in which these clients send them
// as JSON; protocol buffers have to give the same.
func TestCalls(t *testing.T) {
	b := newBench(t)
	at := fmt.Sprintf(`"start":"%d","end":"%d"`, begin.UnixMilli(), end.UnixMilli())
	one := func(typ, sel string) string {
		return fmt.Sprintf(`{"profileTypeID":%q,"labelSelector":%q,%s}`, typ, sel, at)
	}
	tests := []struct{ name, call, request string }{
		{"grafana health", "ProfileTypes", `{"start":"` + fmt.Sprint(begin.UnixMilli()) + `","end":"` + fmt.Sprint(end.UnixMilli()) + `"}`},
		{"grafana label names", "LabelNames", `{"matchers":["` + cpuType + `{}"],` + at + `}`},
		{"grafana label values", "LabelValues", `{"name":"version","matchers":["` + cpuType + `{service_name=\"service-1\"}"],` + at + `}`},
		{"drilldown services", "Series", `{"matchers":[],"labelNames":["service_name","__profile_type__"],` + at + `}`},
		{"drilldown types", "LabelValues", `{"name":"__profile_type__","matchers":["{service_name=\"eye\"}"],` + at + `}`},
		{"profilecli series", "Series", `{"matchers":["{__name__=\"memory\", service_name=\"service-0\"}"],` + at + `}`},
		{"grafana graph", "SelectSeries", `{"profileTypeID":"` + cpuType + `","labelSelector":"{}","groupBy":["service_name"],"step":120,"limit":"1",` + at + `}`},
		{"grafana average", "SelectSeries", `{"profileTypeID":"` + cpuType + `","label_selector":"{}","step":600,"aggregation":"TIME_SERIES_AGGREGATION_TYPE_AVERAGE",` + at + `}`},
		{"grafana flame", "SelectMergeStacktraces", one("jobs:samples:count::", "{}")},
		{"grafana pruned", "SelectMergeStacktraces", strings.Replace(one("jobs:samples:count::", "{}"), "{", `{"maxNodes":"3",`, 1)},
		{"grafana nothing", "SelectMergeStacktraces", one(cpuType, `{service_name="none"}`)},
		{"grafana call site", "SelectMergeStacktraces", strings.Replace(one("jobs:samples:count::", "{}"), "{", `{"stackTraceSelector":{"callSite":[{"name":"main"},{"name":"a"}]},`, 1)},
		{"grafana spans", "SelectMergeSpanProfile", strings.Replace(one("jobs:samples:count::", "{}"), "{", `{"spanSelector":["9a517183f26a089d"],`, 1)},
		{"profilecli tree", "SelectMergeStacktraces", strings.Replace(one("jobs:samples:count::", "{}"), "{", `{"format":"PROFILE_FORMAT_TREE",`, 1)},
		{"profilecli profile", "SelectMergeProfile", one("jobs:samples:count::", `{service_name="eye"}`)},
		{"drilldown diff", "Diff", `{"left":` + one("jobs:samples:count::", "{}") + `,"right":` + one("jobs:samples:count::", `{service_name="none"}`) + `}`},
		{"drilldown stats", "GetProfileStats", `{}`},
	}
	var got bytes.Buffer
	for _, tt := range tests {
		w := b.do(b.reader, tt.call, "application/json", []byte(tt.request))
		var out bytes.Buffer
		if err := json.Indent(&out, w.Body.Bytes(), "", "  "); err != nil || w.Code != 200 {
			t.Errorf("%s: %d %s, %v", tt.name, w.Code, w.Body, err)
			continue
		}
		fmt.Fprintf(&got, "# %s: %s\n%s\n%s\n\n", tt.name, tt.call, tt.request, &out)
	}
	const golden = "testdata/calls.txt"
	if *update || os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(golden, got.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		a, b := strings.Split(got.String(), "\n"), strings.Split(string(want), "\n")
		for i := range min(len(a), len(b)) {
			if a[i] != b[i] {
				t.Fatalf("%s:%d: got %s; want %s", golden, i+1, a[i], b[i])
			}
		}
		t.Fatalf("%s has %d lines; got %d", golden, len(b), len(a))
	}
}

// TestTotals holds that flame graphs, series and profiles have the totals of the store, to the last unit.
func TestTotals(t *testing.T) {
	b := newBench(t)
	types := profileTypesResponse{}
	b.ask("ProfileTypes", &profileTypesRequest{begin.UnixMilli(), end.UnixMilli()}, &types)
	if len(types.ProfileTypes) < 8 {
		t.Fatalf("the types are %+v", types)
	}
	for _, typ := range types.ProfileTypes {
		for _, sel := range []string{"{}", `{service_name="service-1"}`, `{version="v0",service_name=~"service-.*"}`} {
			ref, err := parseType(typ.ID)
			if err != nil {
				t.Fatal(err)
			}
			selector, _ := store.ParseSelector(sel)
			m, err := b.store.Merge(context.Background(), store.Query{
				Tenant: "shop", Kind: ref.kind, Selector: selector, From: begin, To: end.Add(time.Millisecond),
			})
			want := int64(0)
			if err == nil {
				for _, v := range m.Profile.Values(slices.Index(m.Profile.SampleTypes, ref.typ)) {
					want += v
				}
			}
			req := stacktracesRequest{ProfileTypeID: typ.ID, LabelSelector: sel, Start: begin.UnixMilli(), End: end.UnixMilli()}
			for _, nodes := range []int64{0, 1, 7, 1 << 40} {
				req.MaxNodes = &nodes
				var flame stacktracesResponse
				b.ask("SelectMergeStacktraces", &req, &flame)
				if flame.Flamegraph.Total != want {
					t.Errorf("%s of %s with %d nodes: a total of %d; want %d", typ.ID, sel, nodes, flame.Flamegraph.Total, want)
				}
				checkGraph(t, flame.Flamegraph)
			}
			var p pprofProfile
			b.ask("SelectMergeProfile", &mergeProfileRequest{ProfileTypeID: typ.ID, LabelSelector: sel, Start: req.Start, End: req.End}, &p)
			sum := int64(0)
			for _, s := range p.Sample {
				sum += s.Value[0]
			}
			if sum != want {
				t.Errorf("%s of %s: a profile of %d; want %d", typ.ID, sel, sum, want)
			}
			if level := store.NatureOf(ref.kind, ref.typ.Type, false) == store.Level; !level {
				var series selectSeriesResponse
				b.ask("SelectSeries", &selectSeriesRequest{ProfileTypeID: typ.ID, LabelSelector: sel, Start: req.Start, End: req.End, Step: 60, GroupBy: []string{"version"}}, &series)
				total := 0.0
				for _, s := range series.Series {
					for _, p := range s.Points {
						total += p.Value
					}
				}
				if total != float64(want) {
					t.Errorf("%s of %s: series of %v; want %d", typ.ID, sel, total, want)
				}
			}
			var d diffResponse
			b.ask("Diff", &diffRequest{&req, &req}, &d)
			if d.Flamegraph.LeftTicks != want || d.Flamegraph.RightTicks != want || d.Flamegraph.Total != 2*want {
				t.Errorf("%s of %s: a difference of %d and %d; want %d", typ.ID, sel, d.Flamegraph.LeftTicks, d.Flamegraph.RightTicks, want)
			}
			for _, l := range d.Flamegraph.Levels {
				for i := 0; i < len(l.Values); i += 7 {
					if l.Values[i] != l.Values[i+3] || l.Values[i+1] != l.Values[i+4] || l.Values[i+2] != l.Values[i+5] {
						t.Errorf("%s of %s: the two sides differ: %v", typ.ID, sel, l.Values[i:i+7])
					}
				}
			}
		}
	}
}

// checkGraph holds that no frame is wider than the one it is on.
func checkGraph(t *testing.T, g *flameGraph) {
	t.Helper()
	type span struct{ from, to int64 }
	var above []span
	self := int64(0)
	for depth, l := range g.Levels {
		var here []span
		x := int64(0)
		for i := 0; i < len(l.Values); i += 4 {
			x += l.Values[i]
			s := span{x, x + l.Values[i+1]}
			x = s.to
			self += l.Values[i+2]
			if l.Values[i+3] >= int64(len(g.Names)) || l.Values[i+2] > l.Values[i+1] || l.Values[i+2] > g.MaxSelf {
				t.Errorf("level %d has %v", depth, l.Values[i:i+4])
			}
			if depth > 0 && !slices.ContainsFunc(above, func(a span) bool { return a.from <= s.from && s.to <= a.to }) {
				t.Errorf("level %d: %v is on no frame", depth, s)
			}
			here = append(here, s)
		}
		above = here
	}
	if self != g.Total {
		t.Errorf("frames have %d by themselves; the total is %d", self, g.Total)
	}
}

func TestPGO(t *testing.T) {
	b := newBench(t)
	req := mergeProfileRequest{ProfileTypeID: cpuType, LabelSelector: "{}", Start: begin.UnixMilli(), End: end.UnixMilli()}
	ask := func(s *stackSelector) *profile.Profile {
		req.Stacks = s
		w := b.do(b.reader, "SelectMergeProfile", "application/proto", message.Marshal(&req))
		p, err := profile.ParseBytes(w.Body.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	total := func(p *profile.Profile) (sum int64) {
		for _, v := range p.Values(0) {
			sum += v
		}
		return sum
	}
	all := ask(nil)
	trimmed := ask(&stackSelector{GoPGO: &goPGO{KeepLocations: 2, AggregateCallees: true}})
	if total(all) != total(trimmed) || trimmed.NumSamples() >= all.NumSamples() {
		t.Errorf("%d samples of %d became %d of %d", all.NumSamples(), total(all), trimmed.NumSamples(), total(trimmed))
	}
	var stack []uint32
	for i := range trimmed.NumSamples() {
		stack = trimmed.Stack(i, stack[:0])
		if l := trimmed.Locations[stack[0]]; len(stack) > 2 || l.Lines[0].Line != 0 {
			t.Errorf("sample %d has %d locations, the first one at %+v", i, len(stack), l)
		}
		if l := trimmed.Locations[stack[len(stack)-1]]; len(stack) == 2 && (l.Lines[0].Line == 0 || trimmed.Functions[l.Lines[0].Function].StartLine == 0) {
			t.Errorf("sample %d is called from a place without lines: %+v", i, l)
		}
	}
}

func TestProfileIDs(t *testing.T) {
	b := newBench(t)
	all, _, err := b.store.Entries(context.Background(), store.Query{Tenant: "shop", Kind: "cpu", From: begin, To: end}, 100)
	if err != nil {
		t.Fatal(err)
	}
	hex := all[0].ID.String()
	uuid := strings.Join([]string{hex[:8], hex[8:12], hex[12:16], hex[16:20], hex[20:]}, "-")
	req := stacktracesRequest{ProfileTypeID: cpuType, LabelSelector: "{}", Start: begin.UnixMilli(), End: end.UnixMilli(), IDs: []string{uuid, all[1].ID.String(), strings.Repeat("0", 32)}}
	var got stacktracesResponse
	b.ask("SelectMergeStacktraces", &req, &got)
	if want := all[0].Totals[1] + all[1].Totals[1]; got.Flamegraph.Total != want {
		t.Errorf("two profiles have %d; want %d", got.Flamegraph.Total, want)
	}
	w := b.do(b.tokens["other"], "SelectMergeStacktraces", "application/proto", message.Marshal(&req))
	got = stacktracesResponse{}
	if err := message.Unmarshal(w.Body.Bytes(), &got, message.Limits{}); err != nil || got.Flamegraph.Total != 0 {
		t.Errorf("another tenant's profiles, by their IDs: %d, %v", got.Flamegraph.Total, err)
	}
}

// TestOtherMetrics holds that profiles without the metric of the question keep no others from being read, also when their IDs are given.
func TestOtherMetrics(t *testing.T) {
	b := newBench(t)
	text := &store.Upload{Service: "text", Kind: "cpu", Start: begin, End: begin, Raw: []byte("main;a 3\n")}
	if _, err := b.store.Add(context.Background(), "shop", []*store.Upload{text}); err != nil {
		t.Fatal(err)
	}
	all, _, err := b.store.Entries(context.Background(), store.Query{Tenant: "shop", Kind: "cpu", From: begin, To: end}, 100)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	want := map[string]int64{}
	for _, e := range all {
		ids = append(ids, e.ID.String())
		for k, typ := range e.Types {
			want[typ.Type] += e.Totals[k]
		}
	}
	for typ, full := range map[string]string{"cpu": cpuType, "samples": "process_cpu:samples:count:cpu:nanoseconds"} {
		for _, named := range [][]string{nil, ids} {
			req := stacktracesRequest{ProfileTypeID: full, LabelSelector: "{}", Start: begin.UnixMilli(), End: end.UnixMilli(), IDs: named}
			var got stacktracesResponse
			b.ask("SelectMergeStacktraces", &req, &got)
			if got.Flamegraph.Total != want[typ] {
				t.Errorf("%s of %d named profiles: %d; want %d", typ, len(named), got.Flamegraph.Total, want[typ])
			}
			var p pprofProfile
			b.ask("SelectMergeProfile", &mergeProfileRequest{ProfileTypeID: full, LabelSelector: "{}", Start: begin.UnixMilli(), End: end.UnixMilli(), IDs: named}, &p)
			if sum := sumOf(&p); sum != want[typ] {
				t.Errorf("%s of the profile of %d named ones: %d; want %d", typ, len(named), sum, want[typ])
			}
		}
	}
}

// sumOf returns the sum of a profile with one sample type.
func sumOf(p *pprofProfile) (sum int64) {
	for _, s := range p.Sample {
		sum += s.Value[0]
	}
	return sum
}

func TestSpans(t *testing.T) {
	b := newBench(t)
	h := profile.Header{SampleTypes: []profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}}
	pb := profile.NewBuilder(h)
	pb.Functions = []profile.Function{{Name: "f"}}
	pb.Locations = []profile.Location{{Mapping: profile.NoMapping, Lines: []profile.Line{{}}}}
	pb.Renumber()
	for i, span := range []string{"s1", "s2", ""} {
		labels := uint32(0)
		if span != "" {
			labels = pb.Labels([]profile.Label{{Key: spanLabel, Str: span}})
		}
		pb.Add([]uint32{0}, labels, []int64{int64(1) << i})
	}
	p, err := pb.Profile()
	if err != nil {
		t.Fatal(err)
	}
	var raw bytes.Buffer
	if err := p.Write(&raw); err != nil {
		t.Fatal(err)
	}
	if _, err := b.store.Add(context.Background(), "shop", []*store.Upload{{Service: "spans", Kind: "cpu", Start: begin, End: begin, Raw: raw.Bytes()}}); err != nil {
		t.Fatal(err)
	}
	for want, spans := range map[int64][]string{0: nil, 1: {"s1"}, 2: {"s2"}, 3: {"s1", "s2", "s3"}} {
		var got stacktracesResponse
		b.ask("SelectMergeSpanProfile", &spanProfileRequest{
			ProfileTypeID: cpuType, LabelSelector: `{service_name="spans"}`, Spans: spans, Start: begin.UnixMilli(), End: end.UnixMilli(),
		}, &got)
		if got.Flamegraph.Total != want {
			t.Errorf("%q: %d; want %d", spans, got.Flamegraph.Total, want)
		}
	}
}

// TestRoutes holds that nobody is answered without the right token, and nobody about another tenant.
func TestRoutes(t *testing.T) {
	b := newBench(t)
	at := fmt.Sprintf(`"start":"%d","end":"%d"`, begin.UnixMilli(), end.UnixMilli())
	one := `{"profileTypeID":"` + cpuType + `","labelSelector":"{}","step":60,` + at + `}`
	calls := map[string]string{
		"ProfileTypes": `{` + at + `}`, "LabelNames": `{` + at + `}`, "LabelValues": `{"name":"service_name",` + at + `}`, "Series": `{` + at + `}`,
		"SelectSeries": one, "SelectMergeStacktraces": one, "SelectMergeSpanProfile": one, "SelectMergeProfile": one,
		"Diff": `{"left":` + one + `,"right":` + one + `}`, "GetProfileStats": `{}`,
	}
	if len(calls) != len(New(Options{}).calls) {
		t.Errorf("%d calls are tried of %d", len(calls), len(New(Options{}).calls))
	}
	for name, body := range calls {
		for who, want := range map[string]int{"": 401, "nobody": 401, "writer": 403, "reader": 200, "other": 200, "admin": 200} {
			secret := b.tokens[who]
			if who == "nobody" {
				secret = b.reader + "x"
			}
			w := b.do(secret, name, "application/json", []byte(body))
			if w.Code != want {
				t.Errorf("%s of %q: %d %.300q", name, who, w.Code, w.Body)
			}
			if (who == "other" || who == "admin") && (strings.Contains(w.Body.String(), "service-") || strings.Contains(w.Body.String(), "step") || strings.Contains(w.Body.String(), "process_cpu")) {
				t.Errorf("%s tells %s about another tenant: %.300s", name, who, w.Body)
			}
		}
		asShop := func(r *http.Request) { r.Header.Set(token.TenantHeader, "shop") }
		if w := b.do(b.tokens["other"], name, "application/json", []byte(body), asShop); strings.Contains(w.Body.String(), "service-") {
			t.Errorf("%s tells another tenant with a header: %.300s", name, w.Body)
		}
		if w := b.do(b.reader, name, "application/json", []byte(body), func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") }); w.Code != 403 {
			t.Errorf("%s for another page: %d", name, w.Code)
		}
		if w := b.do(b.reader, name, "application/json", []byte(body), func(r *http.Request) { r.Method = "GET" }); w.Code != 405 {
			t.Errorf("GET %s: %d", name, w.Code)
		}
	}
	w := b.do(b.tokens["admin"], "LabelValues", "application/json", []byte(calls["LabelValues"]), func(r *http.Request) { r.Header.Set(token.TenantHeader, "shop") })
	if !strings.Contains(w.Body.String(), "service-1") {
		t.Errorf("an admin of another tenant: %d %s", w.Code, w.Body)
	}
}

func TestErrors(t *testing.T) {
	b := newBench(t)
	for _, tt := range []struct {
		name, body   string
		status       int
		code, within string
	}{
		{"SelectHeatmap", `{}`, 501, "unimplemented", "no such call"},
		{"", `{}`, 501, "unimplemented", "no such call"},
		{"SelectSeries", `{"profileTypeID":"cpu"}`, 400, "invalid_argument", "<name>:<sample-type>"},
		{"SelectSeries", `{"profileTypeID":"` + cpuType + `"}`, 400, "invalid_argument", "step"},
		{"SelectSeries", `{"profileTypeID":"` + cpuType + `","step":"NaN"}`, 400, "invalid_argument", "step"},
		{"SelectSeries", `{"profileTypeID":"` + cpuType + `","step":0.001,"end":"9000000000000"}`, 400, "invalid_argument", "longer step"},
		{"SelectSeries", `{"profileTypeID":"` + cpuType + `","step":15,"stackTraceSelector":{"callSite":[{"name":"main"}]}}`, 501, "unimplemented", "leave stackTraceSelector out, or ask SelectMergeStacktraces"},
		{"SelectMergeStacktraces", `{"profileTypeID":"` + cpuType + `","labelSelector":"{a=~\"(\"}"}`, 400, "invalid_argument", "pattern"},
		{"SelectMergeStacktraces", `{"profileTypeID":"::::","labelSelector":"{}"}`, 400, "invalid_argument", "<name>:<sample-type>"},
		{"LabelValues", `{}`, 400, "invalid_argument", "name"},
		{"LabelNames", `{"matchers":["{"]}`, 400, "invalid_argument", "selector"},
		{"LabelNames", `{"matchers":1}`, 400, "invalid_argument", "matchers"},
		{"Diff", `{}`, 400, "invalid_argument", "left"},
		{"LabelNames", strings.Repeat(" ", maxRequest) + `{}`, 413, "invalid_argument", "larger"},
	} {
		w := b.do(b.reader, tt.name, "application/json", []byte(tt.body))
		var e struct{ Code, Message string }
		if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || w.Code != tt.status || e.Code != tt.code || !strings.Contains(e.Message, tt.within) {
			t.Errorf("%s %.80s: %d %s; want %d %s with %q", tt.name, tt.body, w.Code, w.Body, tt.status, tt.code, tt.within)
		}
	}
}

// TestPacked holds that questions and answers may be packed.
func TestPacked(t *testing.T) {
	b := newBench(t)
	var packed bytes.Buffer
	zw := gzip.NewWriter(&packed)
	zw.Write(message.Marshal(&stacktracesRequest{ProfileTypeID: cpuType, LabelSelector: "{}", Start: begin.UnixMilli(), End: end.UnixMilli()}))
	zw.Close()
	w := b.do(b.reader, "SelectMergeStacktraces", "application/proto", packed.Bytes(), func(r *http.Request) {
		r.Header.Set("Content-Encoding", "gzip")
		r.Header.Set("Accept-Encoding", "gzip")
	})
	if w.Header().Get("Content-Encoding") != "gzip" {
		t.Fatalf("the answer is not packed: %d %v", w.Code, w.Header())
	}
	zr, err := gzip.NewReader(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(zr)
	var got stacktracesResponse
	if err != nil || message.Unmarshal(raw, &got, message.Limits{}) != nil || got.Flamegraph.Total == 0 {
		t.Errorf("the answer has %d bytes, %v", len(raw), err)
	}
}

func FuzzCalls(f *testing.F) {
	b := newBench(f)
	names := []string{"ProfileTypes", "LabelNames", "LabelValues", "Series", "SelectSeries", "SelectMergeStacktraces", "SelectMergeSpanProfile", "SelectMergeProfile", "Diff", "GetProfileStats"}
	for i := range names {
		f.Add(uint8(i), true, []byte(`{"name":"a","matchers":["a:b{c=\"d\"}"],"labelNames":["a"],"profileTypeID":"jobs:samples:count::","labelSelector":"{}","start":"1","end":"2000000000000","step":3600,"groupBy":["a"]}`))
		f.Add(uint8(i), false, message.Marshal(&mergeProfileRequest{ProfileTypeID: cpuType, LabelSelector: "{}", End: 2e12, Stacks: &stackSelector{GoPGO: &goPGO{3, true}}}))
	}
	f.Fuzz(func(t *testing.T, call uint8, json bool, body []byte) {
		kind := "application/proto"
		if json {
			kind = "application/json"
		}
		if w := b.do(b.reader, names[int(call)%len(names)], kind, body); w.Code >= 500 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
}
