package recording

import (
	"slices"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/profile"
)

// stacked returns a profile of one sample for each stack, from the leaf to the root.
func stacked(t *testing.T, stacks ...[]string) *profile.Profile {
	t.Helper()
	b := profile.NewBuilder(profile.Header{SampleTypes: []profile.ValueType{{Type: "goroutine", Unit: "count"}}})
	at := map[string]uint32{}
	for _, names := range stacks {
		var stack []uint32
		for _, name := range names {
			if _, ok := at[name]; !ok {
				i := uint32(len(b.Functions))
				at[name] = i
				file := "/src/x.go"
				if strings.Contains(name, "recorder") {
					file = "/goroot/src/container/ring/zz_hone_agent.go"
				}
				b.Functions = append(b.Functions, profile.Function{Name: name, SystemName: name, File: file})
				b.Locations = append(b.Locations, profile.Location{
					Mapping: profile.NoMapping, Address: uint64(i + 1), Lines: []profile.Line{{Function: i}},
				})
			}
			stack = append(stack, at[name])
		}
		b.Add(stack, 0, []int64{1})
	}
	b.Renumber()
	p, err := b.Profile()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestApart(t *testing.T) {
	const loop, end = "container/ring.(*recorder).loop", "container/ring.(*recorder).end"
	own := []string{"runtime/pprof.writeGoroutine", loop, "runtime.honeRecorder"}
	exit := []string{"runtime/pprof.writeGoroutine", end, "os.Exit", "main.main"}
	theirs := []string{"runtime.chansend", "main.send"}
	p := stacked(t, own, exit, theirs)

	// A goroutine that ends the program is told from main, which has returned.
	returned := []string{"runtime/pprof.writeGoroutine", end, "internal/runtime/exithook.Run", "runtime.main"}
	left, err := apart(Goroutine, stacked(t, own, exit, returned, theirs))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range left.NumSamples() {
		stack := left.Stack(i, nil)
		got = append(got, left.Functions[left.Locations[stack[0]].Lines[0].Function].Name)
	}
	if want := []string{"os.Exit", "runtime.chansend"}; !slices.Equal(got, want) {
		t.Errorf("goroutines stand in %q, want %q", got, want)
	}

	for _, kind := range []string{Block, Mutex} {
		waits, err := apart(kind, p)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i := range waits.NumSamples() {
			stack := waits.Stack(i, nil)
			label := ""
			if waits.LabelSets()[waits.Label(i)].Has(OverheadLabel, Recorder) {
				label = " of the recorder"
			}
			got = append(got, waits.Functions[waits.Locations[stack[len(stack)-1]].Lines[0].Function].Name+label)
		}
		if want := []string{"main.main of the recorder", "main.send"}; !slices.Equal(got, want) {
			t.Errorf("%s: waits are those of %q, want %q", kind, got, want)
		}
	}

	labeled, err := apart(Heap, p)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{true, true, false} {
		if has := labeled.LabelSets()[labeled.Label(i)].Has(OverheadLabel, Recorder); has != want {
			t.Errorf("sample %d is labeled: %v, want %v", i, has, want)
		}
	}
	if got := labeled.Functions[labeled.Locations[labeled.Stack(0, nil)[1]].Lines[0].Function].Name; got != "hone/recorder.(*recorder).loop" {
		t.Errorf("the recorder is called %s", got)
	}
	if same, _ := apart(CPU, stacked(t, theirs)); same.NumSamples() != 1 || len(same.LabelSets()) > 1 {
		t.Error("a profile without a recorder got a label")
	}
}
