package web_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/source"
	"github.com/hone-perf/hone/internal/web"
)

// serve opens profiles in a server, which ends with the test, and returns the address of its first page.
func serve(t *testing.T, profiles ...[]byte) string {
	t.Helper()
	var in []*recording.Recording
	for i, n := range profiles {
		p, err := profile.Parse(bytes.NewReader(n))
		if err != nil {
			t.Fatal(err)
		}
		var o source.Options
		in = append(in, &recording.Recording{Ref: fmt.Sprintf("p%d.pb.gz", i), Profile: p, Sources: o.Sources(t.Context(), ".", nil, nil, ""), Code: o.Code()})
	}
	return serveRecordings(t, in...)
}

// serveRecordings opens recordings in a server, which ends with the test, and returns the address of its first page.
func serveRecordings(t *testing.T, in ...*recording.Recording) string {
	t.Helper()
	_, url := serveWith(t, web.Options{}, nil, in...)
	return url
}

// serveWith is serveRecordings with options, and a change to the server before it answers anything.
func serveWith(t *testing.T, opt web.Options, change func(*web.Server), in ...*recording.Recording) (*web.Server, string) {
	t.Helper()
	l, err := web.Listen("", false)
	if err != nil {
		t.Fatal(err)
	}
	opt.Version, opt.Hosts = "test", web.HostsOf(l)
	s := web.New(in, opt)
	if change != nil {
		change(s)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s, s.URL(l, "/overview")
}
