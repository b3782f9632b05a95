package capture

import (
	"math"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/capture/agent"
	"github.com/hone-perf/hone/internal/recording"
)

func TestParseConditions(t *testing.T) {
	for _, tt := range []struct {
		text string
		want agent.Condition
	}{
		{"rss>50%", agent.Condition{Of: "rss", Limit: 50, Share: true}},
		{" RSS > 1.5 GB ", agent.Condition{Of: "rss", Limit: 1.5 * (1 << 30)}},
		{"rss>300MiB", agent.Condition{Of: "rss", Limit: 300 << 20}},
		{"cgroup>80%", agent.Condition{Of: "cgroup", Limit: 80, Share: true}},
		{"heap>90%", agent.Condition{Of: "heap", Limit: 90, Share: true}},
		{"heap>512k", agent.Condition{Of: "heap", Limit: 512 << 10}},
		{"goroutines>10000", agent.Condition{Of: "goroutines", Limit: 10000}},
		{"cpu>180%", agent.Condition{Of: "cpu", Limit: 180}},
		{"gc>2.5%", agent.Condition{Of: "gc", Limit: 2.5}},
		{"latency > 200 ms", agent.Condition{Of: "latency", Limit: 200e6}},
		{"Latency>1m1.5S", agent.Condition{Of: "latency", Limit: 61.5e9}},
		{"latency>50µs", agent.Condition{Of: "latency", Limit: 50e3}},
	} {
		got, err := ParseConditions(tt.text)
		if err != nil || len(got) != 1 || got[0].Condition != tt.want {
			t.Errorf("%q is %+v, %v; want %+v", tt.text, got, err, tt.want)
		}
	}
	if got, err := ParseConditions("rss>50%,goroutines>5"); err != nil || len(got) != 2 || got[1].Text != "goroutines>5" {
		t.Errorf("two conditions are %+v, %v", got, err)
	}
	for text, want := range map[string]string{
		"":                "such as rss>50% or rss>300MB, cgroup>80%, ",
		"rss":             "such as rss>50%",
		"rss>":            "such as rss>50%",
		"rss<50%":         "such as rss>50%",
		"res>50%":         `unknown quantity "res"; the quantities are rss, cgroup, heap, goroutines, cpu, gc, latency`,
		"rss>=50%":        "not a number: want one such as in rss>50% or rss>300MB",
		"rss>0":           "not a number",
		"rss>-4MB":        "not a number",
		"rss>nan":         "not a number",
		"rss>0x10MB":      "not a number",
		"rss>50":          `"50" is not a limit of rss`,
		"rss>50parsecs":   "is not a limit of rss",
		"rss>200%":        "no more than 100% of the machine's memory",
		"goroutines>50%":  "is not a limit of goroutines",
		"goroutines>10MB": "is not a limit of goroutines",
		"cpu>2":           `"2" is not a limit of cpu: want one such as in cpu>180%`,
		"gc>101%":         "no more than 100% of the CPU time",
		"rss>50%,":        "such as rss>50%",
		"latency":         "gc>20%, or latency>200ms",
		"latency>200":     `"200" is not a limit of latency: want one such as in latency>200ms`,
		"latency>0s":      "is not a limit of latency",
		"latency>-1s":     "is not a limit of latency",
		"latency>50%":     "is not a limit of latency",
	} {
		if _, err := ParseConditions(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gives %v, want an error with %q", text, err, want)
		}
	}
}

func TestCanSee(t *testing.T) {
	for text, want := range map[string][]recording.How{
		"rss>50%":      {recording.Built, recording.Ran, recording.Watched},
		"rss>1GB":      {recording.Built, recording.Ran, recording.Watched, recording.Fetched},
		"cgroup>50%":   {recording.Built, recording.Ran, recording.Watched},
		"heap>50%":     {recording.Built},
		"heap>1GB":     {recording.Built, recording.Fetched},
		"goroutines>1": {recording.Built, recording.Fetched},
		"cpu>1%":       {recording.Built, recording.Ran, recording.Watched, recording.Fetched},
		"gc>1%":        {recording.Built, recording.Ran, recording.Watched, recording.Fetched},
		"latency>1s":   {recording.Built},
	} {
		list, err := ParseConditions(text)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[recording.How]bool{}
		for _, how := range want {
			seen[how] = true
		}
		for _, how := range anywhere {
			if err := CanSee(how, list); (err == nil) != seen[how] {
				t.Errorf("%s of what is %s: %v", text, how, err)
			}
		}
	}
}

func FuzzParseConditions(f *testing.F) {
	for _, text := range []string{"rss>50%", "heap>1.5GB,goroutines>10", "cpu > 180 %", "gc>>1%", "rss>1e9", "latency>1h2m3.5s", "cgroup>\xff%"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, err := ParseConditions(text)
		if err != nil {
			return
		}
		for _, c := range list {
			if !(c.Limit > 0) || math.IsInf(c.Limit, 0) || measureOf(c.Of) == nil {
				t.Fatalf("%q is %+v", text, c)
			}
			again, err := ParseConditions(c.Text)
			if err != nil || len(again) != 1 || again[0] != c {
				t.Fatalf("%q became %+v, and that %+v, %v", text, c, again, err)
			}
		}
	})
}
