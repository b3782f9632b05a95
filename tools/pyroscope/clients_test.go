package pyroscope

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	sdk "github.com/grafana/pyroscope-go"
	profilev1 "github.com/grafana/pyroscope/api/gen/proto/go/google/v1"
	pushv1 "github.com/grafana/pyroscope/api/gen/proto/go/push/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/push/v1/pushv1connect"
	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/querier/v1/querierv1connect"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"
	"github.com/grafana/pyroscope/api/model/labelset"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/hone-perf/hone/internal/fleet/querier"
	"github.com/hone-perf/hone/internal/fleet/receive"
	"github.com/hone-perf/hone/internal/fleet/token"
	"github.com/hone-perf/hone/internal/store"
	"github.com/hone-perf/hone/internal/store/storetest"
)

// A bench is a server on loopback.
type bench struct {
	store        *storetest.Memory
	url          string
	write, read  string
	pusher       pushv1connect.PusherServiceClient
	querier      querierv1connect.QuerierServiceClient
	json, packed querierv1connect.QuerierServiceClient
}

func newBench(t *testing.T) *bench {
	t.Helper()
	f, err := token.Open(filepath.Join(t.TempDir(), "tokens.json"))
	if err != nil {
		t.Fatal(err)
	}
	mk := func(name string, s token.Scope) string {
		secret, err := f.Make(token.Token{Name: name, Tenant: "shop", Scopes: []token.Scope{s}})
		if err != nil {
			t.Fatal(err)
		}
		return secret
	}
	b := &bench{store: storetest.NewMemory(), write: mk("w", token.Write), read: mk("r", token.Read)}
	gate := &token.Gate{Tokens: f}
	mux := http.NewServeMux()
	receive.New(receive.Options{Store: b.store, Gate: gate}).Register(mux)
	querier.New(querier.Options{Store: b.store, Gate: gate}).Register(mux)
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	b.url = srv.URL
	as := func(secret string) connect.ClientOption {
		return connect.WithInterceptors(connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc {
			return func(ctx context.Context, r connect.AnyRequest) (connect.AnyResponse, error) {
				r.Header().Set("Authorization", "Bearer "+secret)
				return next(ctx, r)
			}
		}))
	}
	b.pusher = pushv1connect.NewPusherServiceClient(http.DefaultClient, b.url, as(b.write))
	b.querier = querierv1connect.NewQuerierServiceClient(http.DefaultClient, b.url, as(b.read))
	b.json = querierv1connect.NewQuerierServiceClient(http.DefaultClient, b.url, as(b.read), connect.WithProtoJSON())
	b.packed = querierv1connect.NewQuerierServiceClient(http.DefaultClient, b.url, as(b.read), connect.WithSendGzip())
	return b
}

func (b *bench) series(t *testing.T) []store.Series {
	t.Helper()
	all, err := b.store.Series(context.Background(), store.Query{Tenant: "shop", From: time.Unix(0, 0), To: time.Now().Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

type logger struct{ t *testing.T }

func (l logger) Infof(string, ...any)  {}
func (l logger) Debugf(string, ...any) {}
func (l logger) Errorf(format string, args ...any) {
	l.t.Helper()
	l.t.Errorf("the SDK says: "+format, args...)
}

var sink [][]byte

// TestSDK holds that all that the Go SDK of Pyroscope sends is kept, as what it is.
func TestSDK(t *testing.T) {
	b := newBench(t)
	runtime.SetMutexProfileFraction(1)
	runtime.SetBlockProfileRate(1)
	p, err := sdk.Start(sdk.Config{
		ApplicationName: "shop.api", Tags: map[string]string{"version": "v2", "hostname": "h1"}, ServerAddress: b.url,
		BasicAuthUser: "anybody", BasicAuthPassword: b.write, TenantID: "someone-else", Logger: logger{t},
		ProfileTypes: []sdk.ProfileType{
			sdk.ProfileCPU, sdk.ProfileAllocObjects, sdk.ProfileAllocSpace, sdk.ProfileInuseObjects, sdk.ProfileInuseSpace,
			sdk.ProfileGoroutines, sdk.ProfileMutexCount, sdk.ProfileMutexDuration, sdk.ProfileBlockCount, sdk.ProfileBlockDuration,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		sink = append(sink, make([]byte, 64<<10))
	}
	p.Flush(true)
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	kinds := map[string]bool{}
	for _, s := range b.series(t) {
		kinds[s.Kind] = true
		if s.Service != "shop.api" || s.Labels.Get("version") != "v2" || s.Labels.Get("hostname") != "" || s.Labels.Get("__session_id__") != "" {
			t.Errorf("a series is %s %s %s", s.Service, s.Kind, s.Labels)
		}
	}
	if want := map[string]bool{"cpu": true, "heap": true, "goroutine": true, "mutex": true, "block": true}; !reflect.DeepEqual(kinds, want) {
		t.Errorf("the kinds are %v; want %v", kinds, want)
	}
	entries, _, err := b.store.Entries(context.Background(), store.Query{Tenant: "shop", From: time.Unix(0, 0), To: time.Now().Add(time.Hour)}, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Counters || e.Clock || e.Labels.Get("hostname") != "h1" || e.Labels.Get("__session_id__") == "" {
			t.Errorf("a profile is %+v", e)
		}
	}
}

// TestClients holds that the clients of Pyroscope read what the server answers, in each form.
func TestClients(t *testing.T) {
	b := newBench(t)
	ctx := context.Background()
	fleet := storetest.Small()
	fleet.Start, fleet.Rounds, fleet.Services = time.Now().Add(-time.Hour).Truncate(time.Second), 3, 2
	names := map[string]string{"cpu": "process_cpu", "heap": "memory", "goroutine": "goroutine", "mutex": "mutex"}
	for _, u := range fleet.All() {
		s := &pushv1.RawProfileSeries{
			Labels:  []*typesv1.LabelPair{{Name: "__name__", Value: names[u.Kind]}, {Name: "service_name", Value: u.Service}},
			Samples: []*pushv1.RawSample{{RawProfile: u.Raw, ID: "7c9e6679-7425-40de-944b-e07fc1f90ae7"}},
		}
		for _, l := range u.Labels.With(u.Row) {
			s.Labels = append(s.Labels, &typesv1.LabelPair{Name: l.Name, Value: l.Value})
		}
		for range 2 {
			if _, err := b.pusher.Push(ctx, connect.NewRequest(&pushv1.PushRequest{Series: []*pushv1.RawProfileSeries{s}})); err != nil {
				t.Fatal(err)
			}
		}
	}
	const cpu = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
	start, end := fleet.Start.UnixMilli(), time.Now().UnixMilli()
	nodes, top := int64(10), int64(1)
	ask := func(c querierv1connect.QuerierServiceClient) (out []proto.Message) {
		t.Helper()
		add := func(m proto.Message, err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			if len(m.ProtoReflect().GetUnknown()) > 0 {
				t.Errorf("%T has fields that Pyroscope does not know", m)
			}
			out = append(out, m)
		}
		types, err := c.ProfileTypes(ctx, connect.NewRequest(&querierv1.ProfileTypesRequest{Start: start, End: end}))
		add(types.Msg, err)
		labels, err := c.LabelNames(ctx, connect.NewRequest(&typesv1.LabelNamesRequest{Matchers: []string{cpu + "{}"}, Start: start, End: end}))
		add(labels.Msg, err)
		values, err := c.LabelValues(ctx, connect.NewRequest(&typesv1.LabelValuesRequest{Name: "service_name", Start: start, End: end}))
		add(values.Msg, err)
		series, err := c.Series(ctx, connect.NewRequest(&querierv1.SeriesRequest{LabelNames: []string{"service_name", "__profile_type__"}, Start: start, End: end}))
		add(series.Msg, err)
		points, err := c.SelectSeries(ctx, connect.NewRequest(&querierv1.SelectSeriesRequest{
			ProfileTypeID: cpu, LabelSelector: "{}", Start: start, End: end, Step: 15, GroupBy: []string{"service_name"}, Limit: &top,
			Aggregation: typesv1.TimeSeriesAggregationType_TIME_SERIES_AGGREGATION_TYPE_SUM.Enum(),
		}))
		add(points.Msg, err)
		one := &querierv1.SelectMergeStacktracesRequest{ProfileTypeID: cpu, LabelSelector: `{service_name="service-1"}`, Start: start, End: end, MaxNodes: &nodes}
		flame, err := c.SelectMergeStacktraces(ctx, connect.NewRequest(one))
		add(flame.Msg, err)
		spans, err := c.SelectMergeSpanProfile(ctx, connect.NewRequest(&querierv1.SelectMergeSpanProfileRequest{
			ProfileTypeID: cpu, LabelSelector: "{}", SpanSelector: []string{"9a517183f26a089d"}, Start: start, End: end,
		}))
		add(spans.Msg, err)
		profile, err := c.SelectMergeProfile(ctx, connect.NewRequest(&querierv1.SelectMergeProfileRequest{
			ProfileTypeID: cpu, LabelSelector: "{}", Start: start, End: end,
			StackTraceSelector: &typesv1.StackTraceSelector{GoPgo: &typesv1.GoPGO{KeepLocations: 5, AggregateCallees: true}},
		}))
		add(profile.Msg, err)
		diff, err := c.Diff(ctx, connect.NewRequest(&querierv1.DiffRequest{Left: one, Right: one}))
		add(diff.Msg, err)
		stats, err := c.GetProfileStats(ctx, connect.NewRequest(&typesv1.GetProfileStatsRequest{}))
		add(stats.Msg, err)
		return out
	}
	want := ask(b.querier)
	for name, c := range map[string]querierv1connect.QuerierServiceClient{"JSON": b.json, "gzip": b.packed} {
		for i, got := range ask(c) {
			if !proto.Equal(got, want[i]) {
				t.Errorf("%s: got %s; want %s", name, shorten(got), shorten(want[i]))
			}
		}
	}
	sums := map[string]int64{}
	for _, u := range fleet.All() {
		if err := u.Take("shop", store.Limits{}, time.Now()); err != nil {
			t.Fatal(err)
		}
		if u.Kind == "cpu" {
			for _, v := range u.Parsed.Values(1) {
				sums[u.Service] += v
				sums[""] += v
			}
		}
	}
	if got := want[5].(*querierv1.SelectMergeStacktracesResponse).Flamegraph.Total; got != sums["service-1"] {
		t.Errorf("the flame graph has %d; want %d", got, sums["service-1"])
	}
	total := int64(0)
	for _, s := range want[7].(*profilev1.Profile).Sample {
		total += s.Value[0]
	}
	if total != sums[""] {
		t.Errorf("the profile has %d; want %d", total, sums[""])
	}
	if got := len(want[0].(*querierv1.ProfileTypesResponse).ProfileTypes); got != 9 {
		t.Errorf("there are %d profile types; want 9", got)
	}
	if got := len(want[3].(*querierv1.SeriesResponse).LabelsSet); got != 18 {
		t.Errorf("there are %d series; want 9 types of 2 services", got)
	}
}

func shorten(m proto.Message) string {
	text := protojson.Format(m)
	return text[:min(len(text), 2000)]
}

// TestErrors holds that the clients of Pyroscope see errors as what they are.
func TestErrors(t *testing.T) {
	b := newBench(t)
	ctx := context.Background()
	nobody := querierv1connect.NewQuerierServiceClient(http.DefaultClient, b.url)
	_, err := nobody.ProfileTypes(ctx, connect.NewRequest(&querierv1.ProfileTypesRequest{}))
	wantCode(t, err, connect.CodeUnauthenticated, "token")
	_, err = b.querier.SelectHeatmap(ctx, connect.NewRequest(&querierv1.SelectHeatmapRequest{}))
	wantCode(t, err, connect.CodeUnimplemented, "no such call")
	_, err = b.querier.SelectSeries(ctx, connect.NewRequest(&querierv1.SelectSeriesRequest{ProfileTypeID: "x"}))
	wantCode(t, err, connect.CodeInvalidArgument, "profile-type")
	bad := &pushv1.PushRequest{Series: []*pushv1.RawProfileSeries{{
		Labels: []*typesv1.LabelPair{{Name: "service_name", Value: "a"}}, Samples: []*pushv1.RawSample{{RawProfile: []byte("x")}},
	}}}
	_, err = b.pusher.Push(ctx, connect.NewRequest(bad))
	wantCode(t, err, connect.CodeInvalidArgument, "profile")
	bad.Series[0].Labels[0].Value = strings.Repeat("a", 2000)
	_, err = b.pusher.Push(ctx, connect.NewRequest(bad))
	wantCode(t, err, connect.CodeInvalidArgument, "label-value-length")
}

func wantCode(t *testing.T, err error, code connect.Code, within string) {
	t.Helper()
	if connect.CodeOf(err) != code || !strings.Contains(fmt.Sprint(err), within) {
		t.Errorf("got %v (%v); want %v with %q", err, connect.CodeOf(err), code, within)
	}
}

// TestAppNames holds that names of applications are read as Pyroscope reads them, where it takes them.
func TestAppNames(t *testing.T) {
	b := newBench(t)
	for i, name := range []string{"app", "app{}", "app{a=b,c=d}", " app{ a = b c }", "app{a=b", "app.cpu{a=b}x", "a/b-c{d.e=f=g,h=}"} {
		k, err := labelset.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.NewRequest("POST", b.url+"/ingest?format=pprof&name="+strings.ReplaceAll(strings.ReplaceAll(name, " ", "%20"), "=", "%3D"), bytes.NewReader(cpuProfile()))
		if err != nil {
			t.Fatal(err)
		}
		r.URL.RawQuery += fmt.Sprintf("&from=%d", time.Now().Unix()-int64(i))
		r.Header.Set("Authorization", "Bearer "+b.write)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != 200 {
			t.Errorf("%s: %s", name, res.Status)
		}
		want := store.Labels{}
		for n, v := range k.Labels() {
			if n != "__name__" {
				want = append(want, store.Label{Name: n, Value: v})
			}
		}
		want = store.NewLabels(want...)
		found := false
		for _, s := range b.series(t) {
			found = found || s.Service == k.ServiceName() && s.Labels.String() == want.String()
		}
		if !found {
			t.Errorf("%q: no series %s%s", name, k.ServiceName(), want)
		}
	}
}

// cpuProfile returns a profile.
func cpuProfile() (raw []byte) {
	f := storetest.Small()
	f.Uploads(func(u *store.Upload) bool { raw = u.Raw; return false })
	return raw
}
