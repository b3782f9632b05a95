package receive

import (
	"mime"
	"net/url"
	"testing"

	"github.com/hone-perf/hone/internal/fleet/connect"
	"github.com/hone-perf/hone/internal/fleet/message"
)

// small are limits that let a fuzzer go on.
var small = Limits{Unpacked: 1 << 20, Samples: 1000, Depth: 100, Labels: 10, Name: 50, Value: 100}

// tryAll makes uploads of what was parsed.
func tryAll(in []sent) {
	s := New(Options{})
	t := newTenant(small)
	for i := range in {
		if u, err := s.upload(t, &in[i]); err == nil {
			_ = t.admit(u, now)
		}
	}
}

func FuzzIngest(f *testing.F) {
	cpu := upload(f, "mutex")
	kind, data := form(f, "profile", string(cpu.Raw), "sample_type_config", `{"a":{"display-name":"b"}}`)
	f.Add("name=a.cpu{b=c}&from=1&until=2&sampleRate=7", "", []byte("a;b 1\nc 2\n"))
	f.Add("name=a&format=lines", "", []byte("a;b\na;b\n"))
	f.Add("name=a&format=pprof", "", cpu.Raw)
	f.Add("name=a", kind, data)
	_, params, _ := mime.ParseMediaType(kind)
	f.Add("name=a", "multipart/form-data; boundary="+params["boundary"], data[:len(data)-20])
	f.Fuzz(func(t *testing.T, query, contentType string, data []byte) {
		q, _ := url.ParseQuery(query)
		in, err := parseIngest(q, contentType, data, small, now)
		if err == nil {
			tryAll(in)
		}
	})
}

func FuzzPush(f *testing.F) {
	m := pushOf(upload(f, "cpu"), "process_cpu", labelPair{"__delta__", "false"})
	f.Add(false, message.Marshal(m))
	f.Add(true, message.MarshalJSON(m))
	f.Fuzz(func(t *testing.T, json bool, data []byte) {
		form := connect.Proto
		if json {
			form = connect.JSON
		}
		if in, err := parsePush(form, data, small); err == nil {
			tryAll(in)
		}
	})
}

func FuzzPlain(f *testing.F) {
	f.Add("service=a&label=b=c&from=1&delta=true", []byte("a;b 1\n"))
	f.Add("service=a&kind=heap", upload(f, "heap").Raw)
	f.Fuzz(func(t *testing.T, query string, data []byte) {
		if in, err := parsePlain(query, data, small); err == nil {
			tryAll(in)
		}
	})
}
