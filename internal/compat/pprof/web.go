package pprof

import (
	"errors"
	"fmt"
	"net"

	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/source"
	"github.com/hone-perf/hone/internal/web"
)

// listen opens the socket that -http asks for: [host]:[port], where an empty host is this machine and an empty port a
// free one. Unlike in pprof, 0 is a free port as well.
func listen(addr string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("could not split http address: %v", err)
	}
	if port == "" {
		port = "0"
	}
	l, err := web.Listen(net.JoinHostPort(host, port), false)
	if remote := (*web.RemoteError)(nil); errors.As(err, &remote) {
		return nil, fmt.Errorf("%w; hone web --listen %s --remote lets them", err, addr)
	}
	return l, err
}

// serve shows the profile in a browser until it is interrupted.
func (s *session) serve(l net.Listener, browser bool) error {
	q := (&command{name: "flame"}).query(s.cfg, "")
	q.Limit, q.Min, q.MinEdge = 0, 0, 0 // a picture has limits of its own
	q.SourcePath, q.TrimPath = "", ""   // which the files know
	rec := &recording.Recording{
		Ref: "profile", Profile: s.profile,
		Sources: newFiles(s.cfg.sourcePath, s.cfg.trimPath),
		Code:    (&source.Options{}).Code(s.recordings()...),
	}
	server := web.New([]*recording.Recording{rec}, web.Options{Version: "hone pprof"})
	url := server.URL(l, q.URL())
	s.ui.Say("Serving web UI on " + url)
	if browser {
		if err := web.OpenBrowser(s.ctx, url); err != nil {
			s.complain("%s", url)
		}
	}
	return server.Serve(s.ctx, l)
}
