package receive

import (
	"net/http"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/fleet/settings"
)

func readConfig(t *testing.T, text string) (*Config, error) {
	t.Helper()
	v, err := settings.Parse("serve.yml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	c := NewConfig()
	v.Mapping(c.Keys()...)
	return c, v.Err()
}

func TestConfig(t *testing.T) {
	c, err := readConfig(t, `
limits:
  - {tenant: shop, profile_size: 16MB, rate: 128MB}
  - {series: 7, stack_depth: 50}
pushed: {row_labels: [shard]}
`)
	if err != nil {
		t.Fatal(err)
	}
	shop, other := c.Of("shop"), c.Of("other")
	if shop.Bytes != 16<<20 || shop.Rate != 128<<20 || shop.Burst != 128<<20 || shop.Series != 7 || shop.Depth != 50 || shop.Labels != DefaultLimits.Labels {
		t.Errorf("limits of shop are %+v", shop)
	}
	if other.Bytes != DefaultLimits.Bytes || other.Series != 7 || other.Burst != DefaultLimits.Burst {
		t.Errorf("limits of other are %+v", other)
	}
	if len(c.row) != 1 || c.row[0] != "shard" {
		t.Errorf("labels of processes are %q", c.row)
	}
	for text, want := range map[string]string{
		"limits: [{serie: 7}]":                          `serve.yml:1:11: unknown key "serie"; did you mean series?`,
		"limits: [{series: 0}]":                         `serve.yml:1:19: "0" is not a whole number from 1 to 10000000`,
		"limits: [{rate: fast}]":                        `serve.yml:1:17: "fast" is not a size such as 512MB or 2GB`,
		"limits: [{profile_size: 5GB}]":                 "serve.yml:1:25: 5GB is not a size from 1B to 4GB",
		"limits: [{rate: 1MB}, {rate: 2MB}]":            "serve.yml:1:23: the limits of every tenant are there twice",
		"limits: [{tenant: a}, {tenant: a}]":            "serve.yml:1:23: the limits of tenant a are there twice",
		"pushed: {row_label: [a]}":                      `unknown key "row_label"; did you mean row_labels?`,
		"limits: {series: 7}":                           "serve.yml:1:",
		"limits: [{tenant: a, label_values: 99999999}]": "is not a whole number from 1 to 10000000",
	} {
		if _, err := readConfig(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
	}
}

// TestRecordingSize holds that a recording may be larger than a profile, and that the answer names its limit where it is too large.
func TestRecordingSize(t *testing.T) {
	b := newBench(t, withLimits(func(l *Limits) { l.Bytes, l.Recording = 100, 200 }))
	for size, want := range map[int]string{150: "not a recording of hone", 250: `"limit":"pushed-recording-size"`} {
		text := append([]byte("PK\x03\x04"), make([]byte, size)...)
		if w := b.do(call{path: "/api/v1/profiles?service=api", token: b.shop, body: text}); !strings.Contains(w.Body.String(), want) {
			t.Errorf("a recording of %d bytes: %d %s; want %s", size, w.Code, w.Body, want)
		}
	}
	if w := b.do(call{path: "/api/v1/profiles?service=api", token: b.shop, body: make([]byte, 150)}); !strings.Contains(w.Body.String(), `"limit":"profile-size"`) {
		t.Errorf("a profile that is too large: %d %s", w.Code, w.Body)
	}
}

// TestConfigure holds that new limits are those of the next request, also of tenants that have sent before.
func TestConfigure(t *testing.T) {
	b := newBench(t, nil)
	send := func(label string) (int, string) {
		w := b.do(call{path: "/api/v1/profiles?service=api&kind=cpu&label=" + label, token: b.shop, body: []byte("main;work 3\n")})
		return w.Code, w.Body.String()
	}
	if code, said := send("shard=1"); code != http.StatusOK {
		t.Fatal(code, said)
	}
	c, err := readConfig(t, "limits: [{tenant: shop, series: 1}]")
	if err != nil {
		t.Fatal(err)
	}
	b.server.Configure(c)
	if code, said := send("shard=2"); code != http.StatusTooManyRequests || !strings.Contains(said, `"limit":"series"`) {
		t.Errorf("a second series where one is allowed: %d %s", code, said)
	}
	if c, err = readConfig(t, "limits: [{tenant: shop, series: 1}]\npushed: {row_labels: [shard]}"); err != nil {
		t.Fatal(err)
	}
	b.server.Configure(c)
	b.do(call{path: "/api/v1/profiles?service=api&kind=cpu", token: b.shop, body: []byte("main;work 3\n")})
	if code, said := send("shard=3"); code == http.StatusOK {
		t.Errorf("the series without shard is new, and one is allowed: %d %s", code, said)
	}
	b.server.Configure(NewConfig())
	if code, said := send("shard=4"); code != http.StatusOK {
		t.Errorf("after the limits went: %d %s", code, said)
	}
}
