package prove

import (
	"testing"

	"github.com/hone-perf/hone/internal/profile"
)

func TestRenamed(t *testing.T) {
	p := &profile.Profile{Tables: profile.Tables{Functions: []profile.Function{{Name: "m/v1.f"}, {Name: "m/v1.(*T).g"}, {Name: "m/v10.f"}, {Name: "fmt.Print"}}}}
	q := renamed(p, map[string]string{"m/v1": "m/v2"})
	for i, want := range []string{"m/v2.f", "m/v2.(*T).g", "m/v10.f", "fmt.Print"} {
		if got := q.Functions[i].Name; got != want {
			t.Errorf("%s became %s; want %s", p.Functions[i].Name, got, want)
		}
	}
	if p.Functions[0].Name != "m/v1.f" {
		t.Error("the profile itself was changed")
	}
}
