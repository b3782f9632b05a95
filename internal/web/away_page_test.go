package web_test

import (
	"bytes"
	"context"
	"net"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/web"
)

// TestPageServerStopped holds that a page keeps its picture when its server has stopped, says so and how to go on, and goes
// on when the server is back.
func TestPageServerStopped(t *testing.T) {
	parsed, err := profile.Parse(bytes.NewReader(kinds(t)["cpu"]))
	if err != nil {
		t.Fatal(err)
	}
	l, err := web.Listen("", false)
	if err != nil {
		t.Fatal(err)
	}
	s := web.New([]*recording.Recording{{Ref: "cpu.pprof", Profile: parsed}}, web.Options{Version: "test", Hosts: web.HostsOf(l)})
	serving := func(s *web.Server, l net.Listener) (stop func()) {
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- s.Serve(ctx, l) }()
		return func() {
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	}
	again := func() net.Listener {
		other, err := web.Listen(l.Addr().String(), false)
		if err != nil {
			t.Fatal(err)
		}
		return other
	}
	stop := serving(s, l)
	p := open(t, s.URL(l, "/overview"), 1280, 800)
	p.pardon = "Failed to load resource"
	p.visit("/flame")
	stop()

	// Zooming is done with what is there.
	p.point(0.2, 2, 2)
	p.wait(`document.querySelector(".away") !== null`)
	p.settled()
	p.wait(`document.querySelector(".breadcrumb li:nth-child(2)") !== null`)
	if n := p.colors(); n < 4 {
		t.Errorf("the picture has %d colors", n)
	}
	if got := p.text(".problem"); got != "" {
		t.Errorf("in the place of the picture is %q", got)
	}
	// A filter and a metric are not, and what is there is not shown as theirs.
	p.key("f")
	p.wait(`document.querySelector(".pill") !== null && document.querySelector(".problem") !== null && document.querySelector("main canvas") === null`)
	p.back()
	p.wait(`document.querySelector(".pill") === null && document.querySelector(".problem") === null`)
	eval[bool](p, `(() => { const s = document.querySelector(".pick.narrow select"); s.value = "samples"; return s.dispatchEvent(new Event("change", { bubbles: true })); })()`)
	p.wait(`location.search.includes("metric=samples") && document.querySelector(".problem") !== null`)
	if n := eval[int](p, `document.querySelectorAll("main canvas").length`); n > 0 {
		t.Error("the picture of one metric is below the name of another one")
	}
	p.back()
	p.wait(`location.search.includes("root=") && document.querySelector(".problem") === null`)
	p.settled()
	if n := p.colors(); n < 4 {
		t.Errorf("going back from another metric, the picture has %d colors", n)
	}
	for _, want := range []string{"Hone web does not answer", "has stopped", "stays as it was", "Start hone web again, and open the address that it prints"} {
		if got := p.text(".away"); !strings.Contains(got, want) {
			t.Errorf("the page says %q, want %q", got, want)
		}
	}
	if got := p.text(".away"); strings.Contains(got, "reload") {
		t.Errorf("it advises to reload the page, which would be lost: %q", got)
	}

	// What was never asked for is not there; what was is there again.
	p.click(".tabs a", "Top")
	p.wait(`document.querySelector(".problem") !== null`)
	if got := p.text(".problem"); !strings.Contains(got, "open the address that it prints") || strings.Contains(got, "Remove all filters") {
		t.Errorf("a view that was not asked for says %q", got)
	}
	p.back()
	p.wait(`location.pathname === "/flame" && location.search.includes("root=") && document.querySelector(".problem") === null`)
	p.settled()
	if n := p.colors(); n < 4 {
		t.Errorf("going back, the picture has %d colors", n)
	}

	// Another server at the address does not know this page. That is said where nothing is missing, too.
	p.back()
	p.wait(`location.pathname === "/flame" && !location.search.includes("root=")`)
	p.settled()
	other := web.New([]*recording.Recording{{Ref: "other.pprof", Profile: parsed}}, web.Options{Version: "test", Hosts: web.HostsOf(l)})
	stop = serving(other, again())
	p.click(".away button", "Try again")
	p.wait(`document.querySelector(".away")?.innerText.includes("another one runs at its address") === true`)
	if n := p.colors(); n < 4 {
		t.Errorf("beside another server the picture has %d colors", n)
	}
	stop()

	// A connection that was lost may come back, which the page notices by itself.
	stop = serving(s, again())
	defer stop()
	p.wait(`document.querySelector(".away") === null`)
	p.settled()
	if n := p.colors(); n < 4 {
		t.Errorf("with its server, the picture has %d colors", n)
	}
}
