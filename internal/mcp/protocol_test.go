package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// waits is a hone that does nothing until it is told to stop.
func waits(ctx context.Context, _ []string, _, _ io.Writer) (int, error) {
	<-ctx.Done()
	return 130, nil
}

// serving runs a server in a bubble, in which a goroutine that goes on after the test is an error. end returns what Serve returned, after in has ended or ctx.
func serving(t *testing.T, ctx context.Context, o Options) (p *peer, end func() error) {
	t.Helper()
	in, inw := io.Pipe()
	outr, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, o, in, out) }()
	return &peer{t, inw, bufio.NewReader(outr)}, func() error { return <-ended }
}

func begin(p *peer, version string) {
	p.send(initializeWith(version))
	p.next()
}

// What is asked before the end is answered, and what cannot be any more is stopped.
func TestEnd(t *testing.T) {
	work := folder(t)
	synctest.Test(t, func(t *testing.T) {
		p, end := serving(t, t.Context(), Options{Folder: work, Run: waits})
		p.send(initializeWith("2025-11-25"))
		p.send(request("1", "tools/list", ""))
		p.send(request("2", "tools/call", `{"name":"race"}`))
		synctest.Wait()
		io.WriteString(p.in, request("3", "ping", "")) // without the end of the line
		p.in.Close()
		if got := short(p.nexts(4)...); got != "0:result 1:result 3:result ended" {
			t.Error(got)
		}
		if err := end(); err != nil {
			t.Error(err)
		}
	})
}

// A caller that is gone, does not read, or does not stop: the server ends when it should, with all that it started.
func TestDeafCaller(t *testing.T) {
	work := folder(t)
	talks := func(_ context.Context, _ []string, out, said io.Writer) (int, error) {
		for range 1000 {
			io.WriteString(said, "hone: building…\n")
		}
		io.WriteString(out, "well\n")
		return 0, nil
	}
	ask := func(p *peer, n int) {
		for i := range n {
			io.WriteString(p.in, request(fmt.Sprint(i), "tools/call", fmt.Sprintf(`{"name":"top","arguments":{"ref":"cpu.pprof"},"_meta":{"progressToken":%d}}`, i))+"\n")
		}
	}
	for _, test := range []struct {
		name  string
		calls int
		then  func(p *peer, stop context.CancelFunc)
	}{
		{"in ends", 50, func(p *peer, _ context.CancelFunc) { p.in.Close() }},
		{"the context ends", 50, func(_ *peer, stop context.CancelFunc) { stop() }},
		{"it asks without end", 5000, func(_ *peer, stop context.CancelFunc) { stop() }},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				p, end := serving(t, ctx, Options{Folder: work, Run: talks})
				begin(p, "2025-11-25")
				asked := make(chan bool)
				go func() { ask(p, test.calls); close(asked) }()
				synctest.Wait()
				if n := runtime.NumGoroutine(); n > 3*mostRequests {
					t.Errorf("%d goroutines for a caller that does not read", n)
				}
				if test.calls < mostRequests {
					<-asked
				}
				test.then(p, stop)
				end()
				<-asked
			})
		})
	}
	t.Run("out is closed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			in, inw := io.Pipe()
			outr, out := io.Pipe()
			outr.Close()
			ended := make(chan error)
			go func() { ended <- Serve(t.Context(), Options{Folder: work, Run: waits}, in, out) }()
			io.WriteString(inw, request("1", "ping", "")+"\n")
			if err := <-ended; err == nil {
				t.Error("nobody says that the answer was not written")
			}
		})
	})
}

// A caller reads late, and gets all answers.
func TestLateReader(t *testing.T) {
	work := folder(t)
	synctest.Test(t, func(t *testing.T) {
		p, end := serving(t, t.Context(), Options{Folder: work})
		const pings = 10 * mostUnread
		go func() {
			for i := range pings {
				p.send(request(fmt.Sprint(i), "ping", ""))
			}
			p.in.Close()
		}()
		synctest.Wait()
		for i := range pings {
			if got, want := short(p.next()), fmt.Sprintf("%d:result", i); got != want {
				t.Fatalf("%s, want %s", got, want)
			}
		}
		p.next()
		end()
	})
}

// Only so many calls run or wait at once, and an id belongs to one of them. A canceled call gets no answer; then there is room, and the id is free.
func TestManyCalls(t *testing.T) {
	work := folder(t)
	synctest.Test(t, func(t *testing.T) {
		p, end := serving(t, t.Context(), Options{Folder: work, Run: waits})
		begin(p, "2025-03-26")
		race := func(id string) { p.send(request(id, "tools/call", `{"name":"race"}`)) }
		for i := range mostRequests {
			race(fmt.Sprint(i))
		}
		synctest.Wait()
		cancel := func(id string) {
			p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`)
			synctest.Wait()
		}
		for _, step := range []struct {
			do   func()
			want string
		}{
			{func() { race(`"more"`) }, fmt.Sprintf(`"more":%d`, tooMany)},
			{func() { p.send("[" + request("200", "ping", "") + "]") }, fmt.Sprintf("null:%d", tooMany)},
			{func() { p.send(request("200", "ping", "")) }, "200:result"},
			{func() { p.send(request("5", "ping", "")) }, "null:-32600"},
			{func() { p.send(request(`"5"`, "ping", "")) }, `"5":result`},
			{func() { cancel(`"5"`); cancel("500"); cancel("null"); race("200") }, fmt.Sprintf("200:%d", tooMany)},
			{func() { cancel("5"); p.send(request("5", "ping", "")) }, "5:result"},
			{func() { race("7") }, "null:-32600"},
			{func() { race("5"); race("6") }, fmt.Sprintf("6:%d", tooMany)},
			{func() {
				cancel("0")
				cancel("1")
				p.send("[" + request(`"a"`, "ping", "") + "," + request("2", "ping", "") + "]")
			}, `["a":result null:-32600]`},
			{func() {
				p.send("[" + request("0", "ping", "") + "," + request("1", "tools/call", `{"name":"race"}`) + "]")
				p.send("[" + request("300", "ping", "") + "]")
			}, fmt.Sprintf("null:%d", tooMany)},
			{func() { cancel("1") }, "[0:result]"},
			{func() { p.send("[" + strings.Repeat(request("1", "ping", "")+",", mostRequests) + "{}]") }, fmt.Sprintf("null:%d", tooMany)},
		} {
			step.do()
			if got := short(p.next()); got != step.want {
				t.Errorf("%s, want %s", got, step.want)
			}
		}
		p.in.Close()
		if got := p.next(); got != "ended" {
			t.Errorf("a canceled call is answered with %s", got)
		}
		end()
	})
}

// A caller hears of its calls every 15 seconds, while they wait for each other and while a program has standard error, and nothing after the answer.
func TestSilence(t *testing.T) {
	work := folder(t)
	synctest.Test(t, func(t *testing.T) {
		p, end := serving(t, t.Context(), Options{Folder: work, Run: func(_ context.Context, args []string, _, said io.Writer) (int, error) {
			if args[0] == "record" {
				io.WriteString(said, Progress+"hone: building ./codec… (0s)\n")
			}
			time.Sleep(40 * time.Second)
			return 0, nil
		}})
		begin(p, "2025-11-25")
		p.send(request("1", "tools/call", `{"name":"record","arguments":{"test":"./codec"},"_meta":{"progressToken":"r"}}`))
		synctest.Wait()
		p.send(request("2", "tools/call", `{"name":"race","_meta":{"progressToken":2}}`))
		time.Sleep(10 * time.Minute)
		p.in.Close()
		var told []string
		for line := p.next(); line != "ended"; line = p.next() {
			var m struct {
				ID     json.RawMessage
				Params struct {
					Token    any `json:"progressToken"`
					Progress int
					Message  string
				}
			}
			if err := json.Unmarshal([]byte(line), &m); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			if m.ID != nil {
				told = append(told, "answer "+string(m.ID))
				continue
			}
			told = append(told, fmt.Sprint(m.Params.Token, " ", m.Params.Progress, " ", m.Params.Message))
		}
		want := []string{
			"r 1 hone: building ./codec… (0s)",
			"r 2 hone: running record… (15s)", "2 1 hone: waiting for another call to end… (15s)",
			"r 3 hone: running record… (30s)", "2 2 hone: waiting for another call to end… (30s)",
			"answer 1",
			"2 3 hone: running race… (45s)", "2 4 hone: running race… (60s)", "2 5 hone: running race… (75s)",
			"answer 2",
		}
		// What happens at the same moment comes in any order.
		slices.Sort(told[1:3])
		slices.Sort(told[3:5])
		slices.Sort(want[1:3])
		slices.Sort(want[3:5])
		if !slices.Equal(told, want) {
			t.Errorf("told\n%s\nwant\n%s", strings.Join(told, "\n"), strings.Join(want, "\n"))
		}
		end()
	})
}

// A line may be as long as it likes: what is too long is not kept.
func TestLongLines(t *testing.T) {
	work := folder(t)
	synctest.Test(t, func(t *testing.T) {
		p, end := serving(t, t.Context(), Options{Folder: work})
		begin(p, "2025-11-25")
		whole := request("1", "ping", `{"x":"`)
		fits := whole[:len(whole)-1] + strings.Repeat("x", maxRequest-len(whole)-3) + `"}}`
		p.send(fits)
		if got := short(p.next()); got != "1:result" {
			t.Errorf("a line of %d bytes: %s", len(fits)+1, got)
		}
		for range 2 {
			part := strings.Repeat("[", 1<<20)
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			for range 64 {
				io.WriteString(p.in, part)
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			if more := int64(after.HeapAlloc) - int64(before.HeapAlloc); more > 16<<20 {
				t.Errorf("a line of 64 MiB keeps %d bytes", more)
			}
			p.send("")
			p.send(request("2", "ping", ""))
			if got := short(p.nexts(2)...); got != "null:-32600 2:result" {
				t.Error(got)
			}
		}
		p.in.Close()
		p.next()
		end()
	})
}

// FuzzServe holds that whatever a caller sends, each line that comes back is JSON-RPC, and the server ends when the caller does.
func FuzzServe(f *testing.F) {
	for _, seed := range []string{
		initializeWith("2025-03-26") + "\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" + request("1", "tools/list", "") + "\n[" + request("2", "ping", "") + ",{}]",
		initializeWith("2025-11-25") + "\r\n" + request(`"a\ud800"`, "tools/call", `{"name":"top","arguments":{"ref":"cpu.pprof"},"_meta":{"progressToken":"\u2028"}}`) + "\n" + request("1.50", "resources/list", `{"cursor":null}`),
		request("1", "server/discover", "{"+modernMeta+"}") + "\n" + request("-1e999", "subscriptions/listen", `{"notifications":{},`+modernMeta+"}") + "\n" + request("3", "tools/call", `{"name":"more","arguments":{"result":"r1","page":1},`+modernMeta+"}"),
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}` + "\n[]\n[[]]\nnull\n\"\x00\"\n\xff\n{\"id\":\"\x7f<>&\"}\n",
	} {
		f.Add([]byte(seed))
	}
	work := f.TempDir()
	f.Fuzz(func(t *testing.T, in []byte) {
		var out bytes.Buffer
		o := Options{Folder: work, Version: "v1", Run: func(_ context.Context, _ []string, out, said io.Writer) (int, error) {
			io.WriteString(said, "hone: building…\n")
			out.Write(in)
			return 0, nil
		}}
		if err := Serve(t.Context(), o, io.NopCloser(bytes.NewReader(in)), closing{&out}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			var all []map[string]json.RawMessage
			text := []byte(line)
			if text[0] != '[' {
				text = fmt.Appendf(nil, "[%s]", text)
			}
			if err := json.Unmarshal(text, &all); err != nil || len(all) == 0 || !strings.HasSuffix(line, "\n") {
				t.Fatalf("%q: %v", line, err)
			}
			for _, m := range all {
				has := func(names ...string) bool {
					for _, name := range names {
						if m[name] == nil {
							return false
						}
					}
					return len(m) == len(names)+1 && string(m["jsonrpc"]) == `"2.0"`
				}
				if !has("id", "result") && !has("id", "error") && !has("method", "params") {
					t.Errorf("%q is no message", line)
				}
			}
		}
	})
}

type closing struct{ io.Writer }

func (closing) Close() error { return nil }
