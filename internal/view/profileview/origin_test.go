package profileview

import (
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
)

func TestOrigins(t *testing.T) {
	const mod = "/home/u/go/pkg/mod/"
	tests := []struct {
		name      string
		functions string // name, file and origin of each
	}{
		{"modules", `
			runtime.main /usr/local/go/src/runtime/proc.go runtime
			internal/runtime/maps.(*Map).getWithKey /usr/local/go/src/internal/runtime/maps/map.go runtime
			runtime/pprof.profileWriter /usr/local/go/src/runtime/pprof/pprof.go std
			net/http.(*conn).serve /usr/local/go/src/net/http/server.go std
			vendor/golang.org/x/net/http2/hpack.f /usr/local/go/src/vendor/golang.org/x/net/http2/hpack/x.go std
			golang.org/x/net/html.Parse ` + mod + `golang.org/x/net@v0.1.0/html/parse.go dep
			main.main /home/u/shop/main.go own
			example.com/shop/cart.Total /home/u/shop/cart/cart.go own
			example.com/shop/cart.Total.func1  own
			hone/recorder.(*recorder).loop /tmp/build/goroot/src/runtime/pprof/zz_hone_agent.go dep
			clock_gettime  other`},
		{"trimmed", `
			main.main example.com/shop/main.go own
			example.com/shop/cart.Total example.com/shop/cart/cart.go own
			github.com/a/b.F github.com/a/b@v1.0.0/f.go dep
			fmt.Println fmt/print.go std`},
		{"gopath", `
			main.main /go/src/github.com/me/shop/cmd/shop/main.go own
			github.com/me/shop/cart.Total /go/src/github.com/me/shop/cart/cart.go own
			github.com/other/lib.F /go/src/github.com/other/lib/f.go dep
			github.com/other/vendored.F /go/src/github.com/me/shop/vendor/github.com/other/vendored/f.go dep`},
		{"a module with a file tree of its own", `
			main.main /srv/src/build.corp/tree/main.go own
			example.com/shop/cart.Total /srv/src/build.corp/tree/cart/cart.go own`},
		{"tests of a module", `
			testing.tRunner /usr/local/go/src/testing/testing.go std
			main.main _testmain.go own
			example.com/shop/cart.TestTotal /home/u/shop/cart/cart_test.go own`},
		{"tools of Go", `
			main.main /usr/local/go/src/cmd/compile/main.go own
			cmd/compile/internal/ssa.Compile /usr/local/go/src/cmd/compile/internal/ssa/compile.go own
			strings.Index /usr/local/go/src/strings/strings.go std`},
	}
	for _, tt := range tests {
		var functions []profile.Function
		var want []report.Origin
		for line := range strings.Lines(strings.TrimSpace(tt.functions)) {
			fields := strings.Fields(line)
			f := profile.Function{Name: fields[0]}
			if len(fields) == 3 {
				f.File = fields[1]
			}
			functions = append(functions, f)
			want = append(want, report.Origin(fields[len(fields)-1]))
		}
		for i, got := range originsOf(functions) {
			if got != want[i] {
				t.Errorf("%s: %s is %q, want %q", tt.name, functions[i].Name, got, want[i])
			}
		}
	}
}

// TestFlameOrigins looks at frames that stand for several functions.
func TestFlameOrigins(t *testing.T) {
	b := profile.NewBuilder(profile.Header{SampleTypes: []profile.ValueType{{Type: "cpu", Unit: "count"}}})
	for i, name := range []string{"main.main", "runtime.mallocgc", "fmt.Println", "memcpy"} {
		b.Functions = append(b.Functions, profile.Function{Name: name, SystemName: name, File: []string{"/a.go", "/b.go", "/b.go", "/a.go"}[i]})
		b.Locations = append(b.Locations, profile.Location{
			Mapping: profile.NoMapping, Address: uint64(i + 1), Lines: []profile.Line{{Function: uint32(i), Line: 1}},
		})
	}
	b.Add([]uint32{3, 2, 1, 0}, b.Labels(nil), []int64{1})
	b.Renumber()
	p, err := b.Profile()
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct{ by, want string }{
		{"function", "main.main=own runtime.mallocgc=runtime fmt.Println=std memcpy=other"},
		{"package", "main=own runtime=runtime fmt=std <unknown>=other"},
		{"module", "main=own std=std <unknown>=other"},
		{"file", "/a.go= /b.go=std /a.go="}, // of several
		{"label:user", "(no user)="},
	}
	for _, tt := range tests {
		r, err := Flame([]*recording.Recording{{Ref: "x", Profile: p}}, query.Query{View: "flame", By: tt.by, Min: -1})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for n := r.(*report.Flame).Root; len(n.Children) > 0; {
			n = n.Children[0]
			got = append(got, n.Frame.String()+"="+string(n.Origin))
		}
		if got := strings.Join(got, " "); got != tt.want {
			t.Errorf("by %s: %s, want %s", tt.by, got, tt.want)
		}
	}
}
