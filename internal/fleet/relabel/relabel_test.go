package relabel

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/fleet/settings"
	"github.com/hone-perf/hone/internal/store"
	"github.com/hone-perf/hone/internal/testrun"
)

// A question is labels and rules, and what Prometheus makes of them.
type question struct {
	Rules  string            `json:"rules"`
	Labels map[string]string `json:"labels"`

	Refused bool              `json:"refused,omitempty"`
	Keep    bool              `json:"keep,omitempty"`
	Out     map[string]string `json:"out,omitempty"`
}

func parse(text string) ([]Rule, error) {
	v, err := settings.Parse("rules.yml", []byte(text))
	if err != nil {
		return nil, err
	}
	var rules []Rule
	ReadAll(&rules)(v)
	return rules, v.Err()
}

func asMap(labels store.Labels) map[string]string {
	out := map[string]string{}
	for _, l := range labels {
		out[l.Name] = l.Value
	}
	return out
}

func (q question) check(t *testing.T) {
	t.Helper()
	rules, err := parse(q.Rules)
	if (err != nil) != q.Refused {
		t.Errorf("rules %s: error %v; Prometheus refuses them: %v", q.Rules, err, q.Refused)
	}
	if err != nil || q.Refused {
		return
	}
	l := NewLabels(q.Labels)
	keep := Apply(rules, l)
	if keep != q.Keep || keep && !maps.Equal(asMap(l.Sorted()), q.Out) {
		t.Errorf("rules %s\nlabels %v\ngive %v %v\nwant %v %v", q.Rules, q.Labels, keep, l.Sorted(), q.Keep, q.Out)
	}
}

const golden = "testdata/prometheus.json"

// TestPrometheus compares with what Prometheus answered. A nightly run asks it again, also about made-up rules; UPDATE=1 keeps its answers.
func TestPrometheus(t *testing.T) {
	text, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	var all []question
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	if len(all) < 40 {
		t.Errorf("%s has %d cases", golden, len(all))
	}
	for _, q := range all {
		q.check(t)
	}
}

func TestPrometheusToday(t *testing.T) {
	testrun.Nightly(t, "builds a part of Prometheus, whose answers TestPrometheus has")
	text, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	answers := askPrometheus(t, text)
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(golden, answers, 0o666); err != nil {
			t.Fatal(err)
		}
	} else if !bytes.Equal(answers, text) {
		t.Errorf("%s is stale: UPDATE=1 go test -tags nightly -run TestPrometheusToday rewrites it", golden)
	}

	rnd := rand.New(rand.NewPCG(1, 2))
	made := make([]question, 5000)
	for i := range made {
		made[i] = randomQuestion(rnd)
	}
	asked, err := json.Marshal(made)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(askPrometheus(t, asked), &made); err != nil {
		t.Fatal(err)
	}
	refused, kept := 0, 0
	for _, q := range made {
		q.check(t)
		if q.Refused {
			refused++
		} else if q.Keep {
			kept++
		}
	}
	if t.Logf("%d refused, %d kept, of %d", refused, kept, len(made)); kept < len(made)/4 || refused < len(made)/50 {
		t.Error("the made-up rules do not test much")
	}
}

func askPrometheus(t *testing.T, questions []byte) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "-C", "../../../tools/relabel", "run", ".")
	cmd.Stdin = bytes.NewReader(questions)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("running tools/relabel, whose modules come from GOPROXY: %v\n%s", err, stderr.Bytes())
	}
	return out
}

// randomQuestion makes up rules over few labels and patterns, so that they meet often.
func randomQuestion(rnd *rand.Rand) question {
	pick := func(of ...string) string { return of[rnd.IntN(len(of))] }
	name := func() string { return pick("a", "b", "c", "__meta_x", "__meta_y", "__address__", "né") }
	value := func() string { return pick("1", "two", "A;b", "x:80", "Ünï", "a\nb", "__meta_z") }
	q := question{Labels: map[string]string{}}
	for range rnd.IntN(5) {
		q.Labels[name()] = value()
	}
	var b strings.Builder
	for range 1 + rnd.IntN(4) {
		action := pick(Actions...)
		if rnd.IntN(3) == 0 {
			action = Replace
		}
		fmt.Fprintf(&b, "- action: %s\n", pick(action, action, strings.ToUpper(action)))
		some := func(of int, format string, args ...any) {
			if rnd.IntN(of) == 0 {
				fmt.Fprintf(&b, "  "+format+"\n", args...)
			}
		}
		// Prometheus refuses the pattern that it takes when there is none, where there must be none.
		anything := "(.*)"
		if action == KeepEqual || action == DropEqual {
			anything = "(.+)"
		}
		only := action == LabelDrop || action == LabelKeep
		equal := action == KeepEqual || action == DropEqual
		few := 1
		if only {
			few = 30
		}
		names := []string{name(), name()}[:1+rnd.IntN(2)]
		list, _ := json.Marshal(names)
		some(few, "source_labels: %s", list)
		if !equal || rnd.IntN(20) == 0 {
			some(2, "regex: %q", pick(anything, "(.+)", "", "__meta_(.*)", "__meta_.(.*)", "([^:]+)(?::\\\\d+)?", "a|b|1|two", "(?i)(a).*", "(.)(.)?.*", ".*"))
		}
		if !only || rnd.IntN(20) == 0 {
			some(max(1, few-3), "target_label: %q", pick(name(), name(), "$1", "${1}_x", "t_$2"))
		}
		if !only && !equal && action != Lowercase && action != Uppercase || rnd.IntN(20) == 0 {
			some(2, "replacement: %q", pick("$1", "$2", "${1}x", "", "new", "$0", "${name}", "$$", "$1_$2"))
			some(4, "separator: %q", pick("", ",", "--"))
		}
		if action == HashMod || rnd.IntN(30) == 0 {
			some(1, "modulus: %s", pick("1", "7", "0", "18446744073709551615", "0x10"))
		}
	}
	q.Rules = strings.ReplaceAll(b.String(), `\\\\`, `\\`)
	return q
}

// FuzzApply holds that no rules and labels make the program panic or use endless memory.
func FuzzApply(f *testing.F) {
	f.Add("- {action: labelmap, regex: __meta_(.*)}", "__meta_a", "1", "b", "2")
	f.Add("- {source_labels: [a, a], target_label: a, separator: '', regex: (.*)}\n- {action: hashmod, source_labels: [a], modulus: 3, target_label: m}", "a", "x", "m", "")
	f.Add("- {source_labels: [a], target_label: '${1}', replacement: '$0$0', regex: '(.)(.*)'}", "a", "xy", "é", "\xff")
	f.Fuzz(func(t *testing.T, text, n1, v1, n2, v2 string) {
		rules, err := parse(text)
		if err != nil {
			return
		}
		l := NewLabels(map[string]string{n1: v1, n2: v2})
		for range 3 {
			if !Apply(rules, l) {
				return
			}
		}
		for _, one := range l.Sorted() {
			if len(one.Value) > maxValue && len(one.Value) > len(v1)+len(v2) {
				t.Errorf("label %q has %d bytes", one.Name, len(one.Value))
			}
		}
	})
}

// TestNoEndlessGrowth holds that rules cannot double a label until memory is full.
func TestNoEndlessGrowth(t *testing.T) {
	rules, err := parse("- {source_labels: [a], target_label: a, replacement: '$1$1$1$1$1$1$1$1$1$1$1$1$1$1$1$1'}\n")
	if err != nil {
		t.Fatal(err)
	}
	l := NewLabels(map[string]string{"a": "0123456789"})
	for range 10 { // the fourth would be too long
		Apply(rules, l)
	}
	if n := len(l.Get("a")); n > maxValue {
		t.Errorf("the label has %d bytes", n)
	}
}
