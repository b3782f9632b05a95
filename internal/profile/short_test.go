package profile

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	library "github.com/google/pprof/profile"
)

func TestLongNamesAreCutAndOthersStay(t *testing.T) {
	p, err := ParseBytes(labeled(t))
	if err != nil {
		t.Fatal(err)
	}
	if p.WithShortNames() != p {
		t.Error("a profile without long names is another one")
	}
	long := "a" + strings.Repeat("é", LongestName) + "z"
	lp, _ := library.ParseUncompressed(labeled(t))
	lp.Function[1].Name, lp.Function[0].Filename, lp.Mapping[0].File, lp.Comments[1] = long, long, long, long
	lp.Sample[0].Label = map[string][]string{long: {long}}
	var b bytes.Buffer
	if err := lp.WriteUncompressed(&b); err != nil {
		t.Fatal(err)
	}
	if p, err = ParseBytes(b.Bytes()); err != nil {
		t.Fatal(err)
	}
	q := p.WithShortNames()
	if p.Functions[1].Name != long || p.LabelSets()[p.Label(0)][0].Str != long {
		t.Error("the profile itself has changed")
	}
	for _, s := range []string{q.Functions[1].Name, q.Functions[0].File, q.Mappings[0].File, q.Comments[1], q.LabelSets()[q.Label(0)][0].Key, q.LabelSets()[q.Label(0)][0].Str} {
		if len(s) > LongestName || !utf8.ValidString(s) || !strings.HasPrefix(s, "aé") || !strings.HasSuffix(s, "éz") || !strings.Contains(s, "…") {
			t.Errorf("a name of %d bytes has become one of %d: %.20q", len(long), len(s), s)
		}
	}
	if q.Functions[0].Name != "hunter2" || q.Comments[0] != "one" || len(q.Notes) != len(p.Notes)+1 || q.NumSamples() != p.NumSamples() {
		t.Errorf("other names changed, or nobody says so: %+v, notes %q", q.Functions[0], q.Notes)
	}
}
