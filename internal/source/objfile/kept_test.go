package objfile

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"github.com/hone-perf/hone/internal/recording"
)

// checkKept checks that functions that a recording keeps are the same when they are read again, without the file.
func checkKept(t *testing.T, f *File, fns []recording.Function) {
	t.Helper()
	keeper, err := f.Keep("/bin/p")
	if err != nil {
		t.Fatal(err)
	}
	for _, fn := range fns {
		if err := keeper.Add(fn, 1<<20); err != nil {
			t.Fatal(err)
		}
	}
	text, err := json.Marshal(recording.KeptCode{Objects: []recording.KeptObject{keeper.Object()}})
	if err != nil {
		t.Fatal(err)
	}
	m, err := recording.ParseCode(text)
	if err != nil {
		t.Fatal(err)
	}
	k, err := OpenKept(&m.Objects[0])
	if err != nil {
		t.Fatal(err)
	}
	if got := k.Functions(func(*recording.Function) bool { return true }); !slices.Equal(got, fns) {
		t.Errorf("%d functions were kept: %v, want %v", len(got), got, fns)
	}
	if got, want := k.Base(1<<40), f.Base(1<<40); got != want {
		t.Errorf("the base is %#x, want %#x", got, want)
	}
	for _, fn := range fns {
		want, err := f.Instructions(fn.Start, fn.End, true)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := k.Instructions(&fn)
		if !ok || len(got) != len(want) {
			t.Errorf("%s has %d instructions, want %d", fn.Name, len(got), len(want))
			continue
		}
		for i := range want {
			if !reflect.DeepEqual(got[i], want[i]) {
				t.Errorf("%s: instruction %d is %+v, want %+v", fn.Name, i, got[i], want[i])
				break
			}
		}
	}
}

// FuzzKept holds that what is read from a recording of unknown origin can be shown, and that it stays as large as its code.
func FuzzKept(f *testing.F) {
	f.Add(`{"objects":[{"file":"/bin/p","arch":"amd64","texts":["main.f","/src/a.go"],"frames":[[0,1,3,0],[0,1,9,1]],` +
		`"symbols":[{"name":"main.g","addr":4096,"size":16}],` +
		`"functions":[{"name":"main.f","start":8192,"end":8208,"code":"6Pvv//+Qww==","runs":[5,2,1,0]}]}]}`)
	f.Add(`{"objects":[{"arch":"arm64","frames":[[0,0,0,1]],"texts":["x"],"functions":[{"start":0,"end":18446744073709551615,"code":"AAAA","runs":[3,1]}]}]}`)
	f.Add(`{"objects":[{"arch":"s390x","functions":[{"start":18446744073709551600,"end":18446744073709551615,"code":"AAAAAAAAAAAAAA==","runs":[]}]}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		m, err := recording.ParseCode([]byte(text))
		if err != nil {
			return
		}
		for i := range m.Objects {
			k, err := OpenKept(&m.Objects[i])
			if err != nil {
				continue
			}
			for _, fn := range k.Functions(func(*recording.Function) bool { return true }) {
				list, ok := k.Instructions(&fn)
				if !ok || uint64(len(list)) > fn.End-fn.Start {
					t.Errorf("%d instructions in %d bytes, %t", len(list), fn.End-fn.Start, ok)
				}
			}
		}
	})
}

// TestKeptRefused has what no writer makes.
func TestKeptRefused(t *testing.T) {
	for _, text := range []string{
		`{"objects":[{"texts":[],"frames":[[0,0,1,0]]}]}`,
		`{"objects":[{"texts":["a"],"frames":[[0,0,1,1]]}]}`,
		`{"objects":[{"functions":[{"start":2,"end":2}]}]}`,
		`{"objects":[{"functions":[{"start":0,"end":2,"code":"AAAA"}]}]}`,
		`{"objects":[{"functions":[{"start":0,"end":9,"code":"AAAA","runs":[3]}]}]}`,
		`{"objects":[{"functions":[{"start":0,"end":9,"code":"AAAA","runs":[0,0]}]}]}`,
		`{"objects":[{"functions":[{"start":0,"end":9,"code":"AAAA","runs":[2,0,2,0]}]}]}`,
		`{"objects":[{"functions":[{"start":0,"end":9,"code":"AAAA","runs":[3,1]}]}]}`,
	} {
		if _, err := recording.ParseCode([]byte(text)); err == nil {
			t.Errorf("%s was read", text)
		}
	}
}
