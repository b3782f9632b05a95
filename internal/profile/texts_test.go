package profile

import (
	"bytes"
	"strings"
	"testing"

	library "github.com/google/pprof/profile"

	"github.com/hone-perf/hone/internal/profile/profiletest"
)

// labeled is a profile in which one text stands in every kind of place.
func labeled(t testing.TB) []byte {
	t.Helper()
	m := &library.Mapping{ID: 1, Start: 0x1000, Limit: 0x2000, File: "/home/bob/app", BuildID: "abc", HasFunctions: true}
	f := &library.Function{ID: 1, Name: "hunter2", SystemName: "hunter2", Filename: "/home/bob/main.go", StartLine: 3}
	g := &library.Function{ID: 2, Name: "main.main", SystemName: "main.main", Filename: "/home/bob/main.go"}
	l := &library.Location{ID: 1, Mapping: m, Address: 0x1100, Line: []library.Line{{Function: f, Line: 7}, {Function: g, Line: 9}}}
	p := &library.Profile{
		SampleType: []*library.ValueType{{Type: "cpu", Unit: "nanoseconds"}}, PeriodType: &library.ValueType{Type: "cpu", Unit: "nanoseconds"},
		DropFrames: "drop", KeepFrames: "keep", Comments: []string{"one", "two"}, DocURL: "http://doc",
		Mapping: []*library.Mapping{m}, Function: []*library.Function{f, g}, Location: []*library.Location{l},
		Sample: []*library.Sample{
			{Location: []*library.Location{l}, Value: []int64{1}, Label: map[string][]string{"token": {"hunter2"}, "user": {"hunter2"}}, NumLabel: map[string][]int64{"bytes": {8}, "n": {1}}},
			{Location: []*library.Location{l}, Value: []int64{2}, Label: map[string][]string{"token": {"only here"}}},
			{Location: []*library.Location{l}, Value: []int64{3}},
		},
	}
	var b bytes.Buffer
	if err := p.WriteUncompressed(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func edited(t testing.TB, raw []byte, e Edit) (*library.Profile, []byte) {
	t.Helper()
	out, err := EditTexts(raw, e)
	if err != nil {
		t.Fatal(err)
	}
	p, err := library.ParseUncompressed(out)
	if err != nil {
		t.Fatalf("what was edited is not a profile: %v", err)
	}
	return p, out
}

func TestEditedTextsKeepTheOtherUsesOfTheirWords(t *testing.T) {
	raw := labeled(t)
	p, out := edited(t, raw, Edit{Label: func(key, value string) (string, bool) {
		if key == "token" {
			return "…", true
		}
		return value, true
	}})
	want, _ := library.ParseUncompressed(raw)
	for _, s := range want.Sample[:2] {
		s.Label["token"] = []string{"…"}
	}
	if got, want := p.String(), want.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if bytes.Contains(out, []byte("only here")) {
		t.Error("the text that no label has any longer is still there")
	}
}

func TestEditedProfileStaysAsItIsWhenNoTextChanges(t *testing.T) {
	same := func(s string) string { return s }
	e := Edit{
		Label: func(key, value string) (string, bool) { return value, true }, Number: func(string) bool { return true },
		Comment: func(text string) (string, bool) { return text, true }, Doc: same, Frames: same, Mapping: same, Unused: same,
		Function: func(name, file string) string { return file },
	}
	for name, raw := range map[string][]byte{"labels": labeled(t), "cpu": profiletest.Bytes(profiletest.Config{Samples: 500, Raw: true})} {
		out, err := EditTexts(raw, e)
		if err != nil || &out[0] != &raw[0] || len(out) != len(raw) {
			t.Errorf("%s: changed, error %v", name, err)
		}
	}
}

func TestEditedProfileLosesAllThatGoes(t *testing.T) {
	p, out := edited(t, labeled(t), Edit{
		Label:    func(key, value string) (string, bool) { return "", false },
		Number:   func(key string) bool { return key == "bytes" },
		Comment:  func(string) (string, bool) { return "", false },
		Doc:      func(string) string { return "" },
		Frames:   func(string) string { return "" },
		Mapping:  func(file string) string { return file[strings.LastIndex(file, "/")+1:] },
		Function: func(name, file string) string { return name + "/main.go" },
		Unused:   func(string) string { return "" },
	})
	for _, gone := range []string{"/home", "token", "user", "only here", "one", "two", "doc", "drop", "keep"} {
		if bytes.Contains(out, []byte(gone)) {
			t.Errorf("%q is still there", gone)
		}
	}
	if len(p.Comments) != 0 || p.Mapping[0].File != "app" || p.Function[0].Filename != "hunter2/main.go" || p.Function[1].Filename != "main.main/main.go" {
		t.Errorf("got\n%s", p)
	}
	if len(p.Sample) != 3 || len(p.Sample[0].Label) != 0 || len(p.Sample[0].NumLabel) != 1 || p.Sample[2].Value[0] != 3 || p.Location[0].Line[1].Line != 9 {
		t.Errorf("got\n%s", p)
	}
}

func FuzzEditTexts(f *testing.F) {
	f.Add(labeled(f))
	f.Add(profiletest.Bytes(profiletest.Config{Samples: 5, Raw: true}))
	f.Fuzz(func(t *testing.T, raw []byte) {
		data, ok := normal(raw)
		if !ok {
			EditTexts(raw, Edit{Unused: func(string) string { return "" }}) // must not crash
			return
		}
		out, err := EditTexts(data, Edit{Label: func(key, value string) (string, bool) { return key + "=" + value, true }})
		if err != nil {
			t.Fatal(err)
		}
		got, err := library.ParseUncompressed(out)
		if err != nil {
			t.Fatal(err)
		}
		want, _ := library.ParseUncompressed(data)
		for _, s := range want.Sample {
			for key, values := range s.Label {
				for i := range values {
					if values[i] != "" {
						values[i] = key + "=" + values[i]
					}
				}
			}
		}
		if got.String() != want.String() {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
}
