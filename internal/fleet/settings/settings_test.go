package settings

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// shape reads a file that has one of everything.
type shape struct {
	Name   string
	Wait   Duration
	N      int
	On     bool
	Key    Secret
	List   []string
	Nested []shape
}

func (s *shape) read(v Value) {
	v.MappingBut(map[string]string{"old": "it is name now"},
		Key{"name", Name(&s.Name)},
		Key{"wait", Time(&s.Wait, time.Second, time.Hour)},
		Key{"n", Int(&s.N, 1, 10)},
		Key{"on", Bool(&s.On)},
		Key{"password", Hidden(&s.Key)},
		Key{"list", Texts(&s.List)},
		Key{"nested", func(v Value) {
			v.Each(func(v Value) {
				var one shape
				one.read(v)
				s.Nested = append(s.Nested, one)
			})
		}},
		Key{"color", Choice(new(string), "color", "red", "green")},
	)
}

func parse(text string) (*shape, error) {
	v, err := Parse("a.yml", []byte(text))
	if err != nil {
		return nil, err
	}
	s := &shape{}
	s.read(v)
	return s, v.Err()
}

func TestMistakes(t *testing.T) {
	tests := []struct{ in, want string }{
		{"nam: x", `a.yml:1:1: unknown key "nam"; did you mean name?; the choices are name, wait, n, on, password, list, nested, color`},
		{"\n\nnested:\n  - {on: maybe}", `a.yml:4:10: the value "maybe" is not known; the choices are true, false`},
		{"color: gren", `a.yml:1:8: color "gren" is not known; did you mean green?; the choices are red, green`},
		{"old: 1", `a.yml:1:1: unknown key "old": it is name now`},
		{"name: a\nname: b", `a.yml:2:1: the key "name" is there twice`},
		{"name:\n  - a", `a.yml:2:3: a list stands where a single value has to be`},
		{"name: ''", `a.yml:1:7: this must not be empty`},
		{"wait: 5", `a.yml:1:7: "5" is not a time such as 30s, 1h30m or 7d`},
		{"wait: 2h", `a.yml:1:7: 2h is not a time from 1s to 1h`},
		{"n: eleven", `a.yml:1:4: "eleven" is not a whole number from 1 to 10`},
		{"n: 99999999999999999999", `a.yml:1:4: "99999999999999999999" is not a whole number from 1 to 10`},
		{"list: a", `a.yml:1:7: a single value stands where a list has to be`},
		{"- a", `a.yml:1:1: a list stands where a mapping of keys to values has to be`},
		{"hunter2", `a.yml:1:1: a single value stands where a mapping of keys to values has to be`},
		{"? [a]\n: b", `a.yml:1:3: a list stands where a key has to be`},
		{"name: a\n---\nname: b", `a.yml:2:1: a second document begins; there can be one only`},
		{"name: a\n  wait: 1s", `a.yml:2:3: this is not YAML: mapping values are not allowed in this context`},
		{"name: a\nlist: [b", `a.yml:1:1: this is not YAML: did not find expected ',' or ']'`},
		{"name: \xff", `a.yml:1:1: the text is not UTF-8`},
		{"name: a\nn: 0\nwait: x", "a.yml:2:4: \"0\" is not a whole number from 1 to 10\na.yml:3:7: \"x\" is not a time such as 30s, 1h30m or 7d"},
	}
	for _, tt := range tests {
		_, err := parse(tt.in)
		if fmt.Sprint(err) != tt.want {
			t.Errorf("%q gives\n%v\nwant\n%v", tt.in, err, tt.want)
		}
	}
}

func TestSecretsAreNotShown(t *testing.T) {
	for _, text := range []string{
		"password: [hunter2]", "password: {hunter2: 1}", "password: *hunter2", "password: \"hunter2", "passwort: hunter2", "name: x\n password: hunter2",
		"password: hunter2\npassword: hunter2", "password: |2hunter2", "password: %hunter2", "password: @hunter2", "password: &hunter2 [*hunter2]",
	} {
		_, err := parse(text)
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q gives %v", text, err)
		}
	}
	s, err := parse("password: $HOME-hunter2")
	if err != nil || string(s.Key) != "$HOME-hunter2" {
		t.Fatalf("the password is %q, %v", string(s.Key), err)
	}
	text, _ := json.Marshal(s)
	for _, shown := range []string{string(text), fmt.Sprint(s), fmt.Sprintf("%v %+v %#v %s %q %x", *s, *s, *s, s.Key, s.Key, s.Key)} {
		if strings.Contains(shown, "hunter2") || strings.Contains(shown, fmt.Sprintf("%x", "hunter2")) {
			t.Errorf("shown: %s", shown)
		}
	}
}

func TestAliases(t *testing.T) {
	s, err := parse("x-usual: &usual {n: 3, wait: 1m, list: &l [a, b]}\nnested:\n - <<: *usual\n   n: 4\n - {<<: [{n: 5}, *usual], list: *l}")
	if err != nil {
		t.Fatal(err)
	}
	if a, b := s.Nested[0], s.Nested[1]; a.N != 4 || a.Wait != Duration(time.Minute) || b.N != 5 || !slices.Equal(b.List, []string{"a", "b"}) {
		t.Errorf("got %+v and %+v", a, b)
	}

	bomb := "x-a: &a {n: 1}\n"
	for c := 'b'; c <= 'j'; c++ {
		bomb += fmt.Sprintf("x-%c: &%c {nested: [%s]}\n", c, c, strings.TrimSuffix(strings.Repeat("*"+string(c-1)+", ", 10), ", "))
	}
	for text, want := range map[string]string{
		bomb + "nested: [*j]":                                      "with aliases expanded",
		"nested: &a [{nested: *a}]":                                "nested more than",
		"nested: &a\n- &b {<<: *b, n: 1}\n":                        "nested more than",
		strings.Repeat("nested:\n", 1) + strings.Repeat("[", 9000): "not YAML",
		strings.Repeat("x", 5<<20):                                 "the limit is",
	} {
		if _, err := parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q gives %.200v, want %q", text, err, want)
		}
	}
}

func TestDuration(t *testing.T) {
	tests := []struct {
		in, out string
		want    time.Duration
	}{
		{"30s", "30s", 30 * time.Second}, {"1h30m", "1h30m", 90 * time.Minute}, {"1d", "1d", 24 * time.Hour}, {"90m", "1h30m", 90 * time.Minute},
		{"1w", "7d", 7 * 24 * time.Hour}, {"1500ms", "1s500ms", 1500 * time.Millisecond}, {"0", "0s", 0}, {"1y2d", "367d", 367 * 24 * time.Hour},
	}
	for _, tt := range tests {
		d, err := ParseDuration(tt.in)
		if err != nil || time.Duration(d) != tt.want || d.String() != tt.out {
			t.Errorf("ParseDuration(%q) = %s, %v; want %s", tt.in, d, err, tt.out)
		}
	}
	for _, in := range []string{"", "s", "1", "-1s", "1.5s", "1 s", "1sec", "999999999999999999999s", "101y", "99y99y"} {
		if d, err := ParseDuration(in); err == nil {
			t.Errorf("ParseDuration(%q) = %s", in, d)
		}
	}
}

// FuzzParse holds that no file makes the program panic, run on, or show a password.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"name: a\nnested: [{n: 3, <<: {wait: 1s}}]", "x: &a [*a]", "<<: &a {<<: *a}", "{a: b, ? c}", "--- |\n a\n...\n---", "!!binary x: !!map {}", "\t", "%YAML 1.1\n---\na",
		"&a a: &b b\n*a : *b", "? |\n a\n: b", "a: >-\n  b\n\n c",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, err := parse(text)
		if err != nil && !strings.HasPrefix(err.Error(), "a.yml:") {
			t.Errorf("the mistake has no place: %v", err)
		}
		if _, err := parse("password: hunter2\n" + text); err != nil && strings.Contains(err.Error(), "hunter2") && !strings.Contains(text, "hunter2") {
			t.Errorf("%v", err)
		}
	})
}
