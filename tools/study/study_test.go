package study

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

type aCase struct {
	Name string `json:"name"`
	What string `json:"what"`
	Gone bool   `json:"gone"`
}

func (c aCase) Called() string { return c.Name }
func (c aCase) Left() bool     { return c.Gone }
func (c aCase) Wrong() string {
	if c.What == "" {
		return "it says nothing"
	}
	return ""
}

type aResult struct {
	Case string `json:"case"`
	N    int    `json:"n"`
}

func (r *aResult) Of() string { return r.Case }

// TestReadCases holds that mistakes in a list are said.
func TestReadCases(t *testing.T) {
	if all, err := ReadCases[aCase]("", []byte(`[{"name": "a", "what": "x"}, {"name": "b", "what": "x"}]`), "list"); err != nil || len(all) != 2 {
		t.Errorf("%v, %v", all, err)
	}
	for _, text := range []string{
		`[{"what": "x"}]`,
		`[{"name": "a"}]`,
		`[{"name": "a", "what": "x", "waht": ""}]`,
		`[{"name": "a", "what": "x"}, {"name": "a", "what": "x"}]`,
	} {
		if _, err := ReadCases[aCase]("", []byte(text), "list"); err == nil {
			t.Errorf("no error for %s", text)
		}
	}
}

// TestResults holds which cases are looked at, that one which cannot be measured does not end the others, and what the log has then.
func TestResults(t *testing.T) {
	all := []aCase{{Name: "a1"}, {Name: "a2", Gone: true}, {Name: "a3"}, {Name: "b"}, {Name: "a4"}}
	var wrong bytes.Buffer
	o := &Options{Name: "astudy", Only: regexp.MustCompile("^a"), Log: filepath.Join(t.TempDir(), "log"), Stderr: &wrong}
	look := func(_ context.Context, c aCase) (*aResult, error) {
		if c.Name == "a3" {
			return nil, errors.New("does not build")
		}
		return &aResult{Case: c.Name}, nil
	}
	got, code := Results(t.Context(), o, all, look)
	if len(got) != 2 || got[0].Case != "a1" || got[1].Case != "a4" || code != 1 {
		t.Errorf("%v, exit code %d", got, code)
	}
	if !bytes.Contains(wrong.Bytes(), []byte("astudy: a3: does not build")) {
		t.Errorf("said %s", &wrong)
	}
	o.Table, o.Files = true, []string{o.Log}
	if got, code = Results(t.Context(), o, all, look); len(got) != 2 || got[1].Case != "a4" || code != 0 {
		t.Errorf("from the log: %v, exit code %d", got, code)
	}
}

// TestLog holds that what was measured again replaces what was measured before.
func TestLog(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log.json")
	for _, r := range []*aResult{{"a", 1}, {"b", 2}, {"a", 3}} {
		if err := WriteResult(file, r); err != nil {
			t.Fatal(err)
		}
	}
	all, err := ReadResults[aResult]([]string{file})
	if err != nil || len(all) != 2 || all[0].N != 3 || all[1].Case != "b" {
		t.Errorf("read %+v, %v", all, err)
	}
	if err := os.WriteFile(file, []byte(`{"case":`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadResults[aResult]([]string{file}); err == nil {
		t.Error("no error for half a line")
	}
}

// A module that the proxy has without the other modules of its repository builds all the same.
func TestDropMissing(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "go.mod")
	if err := os.Mkdir(filepath.Join(dir, "there"), 0o755); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{
		name:                                  "module example.com/m\n\ngo 1.26\n\nreplace example.com/gone => ../gone\n\nreplace (\n\texample.com/there => ./there\n\texample.com/v => example.com/w v1.0.0\n)\n",
		filepath.Join(dir, "there", "go.mod"): "module example.com/there\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := dropMissing(dir); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if want := "module example.com/m\n\ngo 1.26\n\nreplace (\n\texample.com/there => ./there\n\texample.com/v => example.com/w v1.0.0\n)\n"; string(got) != want {
		t.Errorf("go.mod is\n%s\nwant\n%s", got, want)
	}
}
