package scrape

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/fleet/receive"
	"github.com/hone-perf/hone/internal/fleet/relabel"
	"github.com/hone-perf/hone/internal/fleet/settings"
)

func mustParse(t testing.TB, text string) *Config {
	t.Helper()
	cfg, err := Parse("hone.yml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// TestConfig holds what a file means that has all keys, and that what is shown of it can be read and means the same.
func TestConfig(t *testing.T) {
	if filepath.Separator != '/' {
		t.Skip("what is shown has names of files of this system")
	}
	text, err := os.ReadFile("testdata/all.yml")
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := Parse("/etc/hone/all.yml", text)
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.MarshalIndent(cfg, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	golden := filepath.Join("testdata", "all.json")
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(golden, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("all.yml means\n%s\nwant\n%s", got, want)
	}
	for _, secret := range []string{"hunter2", "s3cr3t", "4Fz9kQ2mX7vB1nW8"} {
		if strings.Contains(string(got), secret) || strings.Contains(fmt.Sprintf("%+v", cfg.Jobs[0].HTTP.TLS), secret) {
			t.Errorf("%q is shown", secret)
		}
	}
	again, err := Parse("/etc/hone/all.json", got)
	if err != nil {
		t.Fatalf("what is shown is no configuration: %v", err)
	}
	if twice, _ := json.MarshalIndent(again, "", "  "); string(twice)+"\n" != string(got) {
		t.Errorf("what is shown means\n%s", twice)
	}
}

// TestMistakes holds what is said about files that cannot be used.
func TestMistakes(t *testing.T) {
	job := func(text string) string { return "scrape_configs:\n- job_name: a\n  " + text }
	tests := []struct{ in, want string }{
		{"scrape_config: []", `hone.yml:1:1: unknown key "scrape_config"; did you mean scrape_configs?; the choices are global, scrape_configs`},
		{"rule_files: []", `unknown key "rule_files": put rules into rules`},
		{"scrape_configs:\n- {}", "hone.yml:2:3: the job has no job_name"},
		{"scrape_configs:\n- job_name: a\n- job_name: a", `hone.yml:3:3: job_name "a" is already the name of the job in line 2`},
		{job("scrape_intervall: 1m"), `hone.yml:3:3: unknown key "scrape_intervall"; did you mean scrape_interval?; the choices are job_name, tenant, scrape_interval,`},
		{job("metrics_path: /x"), `unknown key "metrics_path": for request counts and memory, use metrics with path`},
		{job("kubernetes_sd_configs: []"), `use http_sd_configs or file_sd_configs`},
		{job("scheme: htttp"), `hone.yml:3:11: scheme "htttp" is not known; did you mean http?; the choices are http, https`},
		{job("scrape_interval: 2h"), `2h is not a time from 1s to 1h`},
		{job("scrape_interval: 5s\n  scrape_timeout: 6s"), `scrape_timeout 6s is longer than scrape_interval 5s`},
		{"global: {scrape_interval: 5s, scrape_timeout: 7s}", `scrape_timeout 7s is longer than scrape_interval 5s`},
		{job("profiles: [cpu, hepa]"), `hone.yml:3:19: a profile without a path: "hepa" is not known; did you mean heap?; the choices are cpu, heap, goroutine, mutex, block, allocs, threadcreate`},
		{job("profiles: [cpu, cpu]"), `profile "cpu" is there twice`},
		{job("profiles: {cpu: {second: 3}}"), `unknown key "second"; did you mean seconds?; the choices are interval, seconds, delta, path`},
		{job("profiles: {cpu: {seconds: 30, interval: 30s}}"), `kind cpu takes 30 seconds, which is not less than its interval 30s`},
		{job("profiles: {cpu: {interval: 5s}}"), `with an interval of 5s, kind cpu needs seconds`},
		{job("profiles: {heap: {seconds: 5}}"), `seconds of a profile of kind heap needs delta: true`},
		{job("profiles: {goroutine: {delta: true}}"), `a profile of kind goroutine cannot be a delta`},
		{job("profiles: {cpu: {delta: true}}"), `hone.yml:3:19: delta is not for kind cpu: a CPU profile always covers only its seconds`},
		{job("profiles: {cpu: {path: debug}}"), `"debug" is not a path such as /debug/pprof/heap`},
		{job("profiling_config: {pprof_config: {memory: {keep_sample_type: []}}}"), `unknown key "keep_sample_type": all values of a profile are kept`},
		{job("profiling_config: {pprof_config: {}}\n  profiles: [cpu]"), `the job has both profiles and profiling_config`},
		{job("static_configs: [{targets: ['http://u:hunter2@api:6060/x']}]"), `hone.yml:3:31: a target is host:port, not a URL; use scheme, path_prefix, params and basic_auth for the rest`},
		{job("static_configs: [{targets: ['a:1', 'a:99999']}]"), `hone.yml:3:38: the port of a target is a number from 1 to 65535`},
		{job("static_configs: [{targets: ['[::1]:0']}]"), `the port of a target is a number from 1 to 65535`},
		{job("static_configs: [{target: [a]}]"), `unknown key "target"; did you mean targets?; the choices are targets, labels`},
		{job("static_configs: {targets: [a]}"), `hone.yml:3:19: a mapping stands where a list has to be`},
		{job("file_sd_configs: [{files: [a.txt]}]"), `"a.txt" is not the name of a .json, .yml or .yaml file`},
		{job("file_sd_configs: [{files: []}]"), `file_sd_configs needs files`},
		{job("http_sd_configs: [{url: 'ftp://hunter2@x'}]"), `this is not a URL that begins with http:// or https://`},
		{job("http_sd_configs: [{url: 'http://a:70000/'}]"), `the port of a URL is a number from 1 to 65535`},
		{job("http_sd_configs: [{}]"), `http_sd_configs needs url`},
		{job("dns_sd_configs: [{names: [a], type: A}]"), `dns_sd_configs of type A needs a port`},
		{job("dns_sd_configs: [{names: [a], type: CNAME}]"), `type "CNAME" is not known; the choices are SRV, A, AAAA`},
		{job("basic_auth: {username: u, password: hunter2, password_file: f}"), `there can be either password or password_file`},
		{job("basic_auth: {user: u, passwd: hunter2}"), `unknown key "passwd"; did you mean password?; the choices are username, username_file, password, password_file`},
		{job("basic_auth: {}\n  authorization: {}"), `there can be either basic_auth or authorization`},
		{job("authorization: {type: Basic, credentials: hunter2}"), `for authorization of type basic, use basic_auth`},
		{job("authorization: {type: 'Bearer hunter2'}"), `the type of an authorization is one word, such as Bearer`},
		{job("bearer_token: hunter2"), `use authorization with credentials`},
		{job("tls_config: {cert_file: a}"), `a certificate needs its key, and a key its certificate`},
		{job("tls_config:\n    ca: hunter2"), `hone.yml:4:9: there is no certificate in PEM here`},
		{job("tls_config: {cert: hunter2, key_file: a}"), `hone.yml:3:22: there is no certificate in PEM here`},
		{job("tls_config: {min_version: TLS9}"), `version "TLS9" is not known`},
		{job("relabel_configs: [{action: drp}]"), `hone.yml:3:30: action "drp" is not known; did you mean drop?; the choices are replace, keep, drop,`},
		{job("relabel_configs: [{action: keep, regex: '('}]"), `hone.yml:3:43: error parsing regexp: missing closing )`},
		{job("relabel_configs: [{source_labels: [a]}]"), `hone.yml:3:21: action replace needs target_label`},
		{job("target_limit: 0"), `"0" is not a whole number from 1 to 1000000`},
	}
	for _, tt := range tests {
		_, err := Parse("hone.yml", []byte(tt.in))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s\ngives\n%v\nwant\n%s", tt.in, err, tt.want)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s\nshows the password: %v", tt.in, err)
		}
	}
}

// A mistake is reported once, without what follows from it.
func TestOneMistake(t *testing.T) {
	job := func(text string) string { return "scrape_configs:\n- job_name: a\n  " + text }
	for in, want := range map[string]string{
		job("relabel_configs: [{action: foo}]"): `hone.yml:3:30: action "foo" is not known; the choices are replace, keep, drop, keepequal, dropequal, hashmod, labelmap, ` +
			`labeldrop, labelkeep, lowercase, uppercase`,
		job("relabel_configs: [{action: keep, regex: 'a('}]"): "hone.yml:3:43: error parsing regexp: missing closing ): `a(`",
		job("file_sd_configs: [{files: [y.txt]}]"):            `hone.yml:3:30: "y.txt" is not the name of a .json, .yml or .yaml file, with one * in its last part at most`,
		job("http_sd_configs: [{url: 'ftp://x'}]"):            `hone.yml:3:27: this is not a URL that begins with http:// or https:// and a host`,
		"scrape_configs: [a]":                                 `hone.yml:1:18: a single value stands where a mapping of keys to values has to be`,
	} {
		if _, err := Parse("hone.yml", []byte(in)); err == nil || err.Error() != want {
			t.Errorf("%s\ngives\n%v\nwant\n%s", in, err, want)
		}
	}
}

// TestRates holds how often targets are asked where little is said: for a CPU profile of a sixth of the time at most.
func TestRates(t *testing.T) {
	tests := []struct{ global, job, want string }{
		{"", "", "cpu 1m/10 heap 1m/0 goroutine 1m/0 mutex 1m/0 block 1m/0"},
		{"scrape_interval: 15s", "", "cpu 1m/10 heap 15s/0 goroutine 15s/0 mutex 15s/0 block 15s/0"},
		{"", "scrape_interval: 5m", "cpu 5m/10 heap 5m/0 goroutine 5m/0 mutex 5m/0 block 5m/0"},
		{"", "profiles: [cpu]", "cpu 1m/10"},
		{"", "profiles: {cpu: , allocs: {delta: true}}", "cpu 1m/10 allocs 1m/10 delta"},
		{"", "profiles: {cpu: {seconds: 30}}", "cpu 3m/30"},
		{"", "profiles: {cpu: {interval: 30s}}", "cpu 30s/5"},
		{"", "profiles: {cpu: {interval: 15s, seconds: 14}}", "cpu 15s/14"},
		{"", "profiles: {heap: {interval: 30s, delta: true, seconds: 29}}", "heap 30s/29 delta"},
		{"", "profiles: {fgprof: {path: /debug/fgprof, seconds: 5}}", "fgprof 1m/5"},
		{"", "profiling_config: {pprof_config: {memory: {enabled: false}, process_cpu: {delta: true, seconds: 5}, block: {enabled: false}, threadcreate: {}}}",
			"cpu 1m/5 goroutine 1m/0 mutex 1m/0 threadcreate 1m/0"},
	}
	for _, tt := range tests {
		cfg := mustParse(t, "global: {"+tt.global+"}\nscrape_configs:\n- job_name: a\n  "+tt.job)
		var got []string
		for _, p := range cfg.Jobs[0].Profiles {
			s := fmt.Sprintf("%s %s/%d", p.Kind, p.Interval, p.Seconds)
			if p.Delta {
				s += " delta"
			}
			got = append(got, s)
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("%s %s means %s, want %s", tt.global, tt.job, s, tt.want)
		}
	}
	cfg := mustParse(t, "global: {scrape_interval: 2m, scrape_timeout: 30s}\nscrape_configs: [{job_name: a, scrape_interval: 20s}]")
	if d := cfg.Jobs[0].Timeout; d != settings.Duration(20*time.Second) {
		t.Errorf("the timeout of a job that asks more often is %s, want its interval", d)
	}
}

// FuzzConfig holds that no configuration makes the program panic, and that what is shown of one can be read.
func FuzzConfig(f *testing.F) {
	text, err := os.ReadFile("testdata/all.yml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text))
	for i := 0; i < len(text); i += 200 {
		f.Add(string(text[:i]))
	}
	f.Add("scrape_configs: [{job_name: a, profiling_config: {pprof_config: {memory: {}, x: {path: /x, seconds: 1, delta: true}}}}]")
	f.Fuzz(func(t *testing.T, text string) {
		cfg, err := Parse("hone.yml", []byte(text))
		if err != nil {
			return
		}
		shown, err := json.Marshal(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Parse("hone.yml", shown); err != nil && !strings.Contains(string(shown), "…") {
			t.Fatalf("%s\ncannot be read: %v", shown, err)
		}
		found := set{addressLabel: "a:1", "__meta_x": "y"}
		for _, j := range cfg.Jobs {
			for _, p := range j.Profiles {
				tg, err := j.target(found, p)
				if err != nil {
					continue
				}
				if tg.url.Host == "" || tg.offset("") >= tg.interval || tg.service == "" {
					t.Fatalf("target %+v", tg)
				}
			}
		}
	})
}

// TestPage holds that the page about the configuration has all keys and labels, and that its examples can be read.
func TestPage(t *testing.T) {
	b, err := os.ReadFile("../../../docs/format/scrape.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	examples := 0
	for _, part := range strings.Split(page, "```yaml\n")[1:] {
		example, _, _ := strings.Cut(part, "```")
		examples++
		if _, err := Parse("scrape.md", []byte(example), receive.NewConfig().Keys()...); err != nil {
			t.Errorf("%s\n%v", example, err)
		}
	}
	if examples == 0 {
		t.Error("the page has no example")
	}
	words := slices.Concat(UsualRowLabels, relabel.Actions, []string{addressLabel, schemeLabel, prefixLabel, pathLabel, kindLabel, intervalLabel, timeoutLabel})
	for _, k := range usualKinds {
		words = append(words, k.kind)
	}
	for _, unknown := range []string{
		"nokey: 1", "global: {nokey: 1}", "scrape_configs: [{nokey: 1}]", "scrape_configs: [{basic_auth: {nokey: 1}}]", "scrape_configs: [{authorization: {nokey: 1}}]",
		"scrape_configs: [{tls_config: {nokey: 1}}]", "scrape_configs: [{profiles: {cpu: {nokey: 1}}}]", "scrape_configs: [{static_configs: [{nokey: 1}]}]",
		"scrape_configs: [{file_sd_configs: [{nokey: 1}]}]", "scrape_configs: [{http_sd_configs: [{nokey: 1}]}]", "scrape_configs: [{dns_sd_configs: [{nokey: 1}]}]",
		"scrape_configs: [{relabel_configs: [{nokey: 1}]}]", "scrape_configs: [{profiling_config: {nokey: 1}}]",
		"scrape_configs: [{profiling_config: {pprof_config: {memory: {nokey: 1}}}}]",
	} {
		_, err := Parse("hone.yml", []byte(unknown))
		var mistake *settings.Mistake
		for _, line := range strings.Split(fmt.Sprint(err), "\n") {
			if strings.Contains(line, "nokey") {
				_, choices, _ := strings.Cut(line, "the choices are ")
				words = append(words, strings.Split(choices, ", ")...)
			}
		}
		if !errors.As(err, &mistake) {
			t.Errorf("%s gives %v", unknown, err)
		}
	}
	for _, w := range words {
		if !strings.Contains(page, "`"+w) {
			t.Errorf("the page does not have `%s`", w)
		}
	}
}
