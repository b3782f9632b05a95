package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// The official SDK of the protocol is the oracle: its server gets the same requests as ours, and its client calls ours.

// A peer is a server that gets lines and answers with lines.
type peer struct {
	t   *testing.T
	in  io.WriteCloser
	out *bufio.Reader
}

func startPeer(t *testing.T, serve func(in io.ReadCloser, out io.WriteCloser)) *peer {
	in, inw := io.Pipe()
	outr, out := io.Pipe()
	ended := make(chan bool)
	go func() { serve(in, out); in.Close(); out.Close(); close(ended) }()
	t.Cleanup(func() { inw.Close(); outr.Close(); <-ended })
	return &peer{t, inw, bufio.NewReader(outr)}
}

// startOurs starts our server.
func startOurs(t *testing.T, o Options) *peer {
	return startPeer(t, func(in io.ReadCloser, out io.WriteCloser) { Serve(context.Background(), o, in, out) })
}

// startTheirs starts a server of the SDK with our tools.
func startTheirs(t *testing.T, o Options) *peer {
	s := newServer(context.Background(), o)
	answer, err := jsonschema.For[Answer](nil)
	if err != nil {
		t.Fatal(err)
	}
	answer.Properties["report"] = &jsonschema.Schema{Description: "in place of text, where json was asked for"}
	m := sdk.NewServer(&sdk.Implementation{Name: "hone", Title: "hone", Version: o.Version}, &sdk.ServerOptions{
		Instructions: instructions, Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}},
	})
	for _, tool := range s.tools {
		m.AddTool(&sdk.Tool{
			Name: tool.name, Description: tool.doc, InputSchema: theirSchema(tool), OutputSchema: answer,
			Annotations: &sdk.ToolAnnotations{ReadOnlyHint: !tool.runs, DestructiveHint: &tool.writes, OpenWorldHint: new(false)},
		}, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			var tell func(line string)
			if token := r.Params.GetProgressToken(); token != nil {
				n := 0.0
				tell = func(line string) {
					n++
					r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: n, Message: line})
				}
			}
			res := s.call(ctx, tool, r.Params.Arguments, tell)
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: res.Content[0].Text}}, StructuredContent: res.Answer, IsError: res.IsError}, nil
		})
	}
	return startPeer(t, func(in io.ReadCloser, out io.WriteCloser) {
		m.Run(context.Background(), &sdk.IOTransport{Reader: in, Writer: out, MaxLineLength: maxRequest})
	})
}

// theirSchema is what a tool takes, in the types of the library for JSON Schema.
func theirSchema(t *tool) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}, AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}}}
	for _, in := range t.all() {
		p := &jsonschema.Schema{Description: in.doc, Type: "string"}
		if in.with != "" {
			p.Description = "with " + in.with + ": " + in.doc
		}
		switch {
		case in.is == yes:
			p.Type = "boolean"
		case in.is == number, in.is == rows:
			p.Type = "integer"
		case in.list:
			p.Type, p.Types, p.Items = "", []string{"string", "array"}, &jsonschema.Schema{Type: "string"}
		}
		s.Properties[in.name] = p
		if in.need {
			s.Required = append(s.Required, in.name)
		}
	}
	return s
}

func (p *peer) send(line string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, line+"\n"); err != nil && err != io.ErrClosedPipe {
		p.t.Fatal(err)
	}
}

// next returns the next line, or "ended".
func (p *peer) next() string {
	line, err := p.out.ReadString('\n')
	if err != nil {
		return "ended"
	}
	return strings.TrimSuffix(line, "\n")
}

// nexts returns the next lines.
func (p *peer) nexts(n int) []string {
	var out []string
	for range n {
		out = append(out, p.next())
	}
	return out
}

// short sums up lines: 5:result, 5:-32601, null:-32700, or the method of a notification. A batch is in brackets.
func short(lines ...string) string {
	var out []string
	for _, line := range lines {
		var batch []json.RawMessage
		var m struct {
			ID     json.RawMessage
			Method string
			Error  *struct{ Code int }
		}
		switch {
		case line == "ended":
			out = append(out, line)
		case json.Unmarshal([]byte(line), &batch) == nil:
			var each []string
			for _, one := range batch {
				each = append(each, string(one))
			}
			out = append(out, "["+short(each...)+"]")
		case json.Unmarshal([]byte(line), &m) != nil:
			out = append(out, "not JSON: "+line)
		case m.Method != "":
			out = append(out, m.Method)
		case m.Error != nil:
			out = append(out, fmt.Sprintf("%s:%d", m.ID, m.Error.Code))
		default:
			out = append(out, string(m.ID)+":result")
		}
	}
	return strings.Join(out, " ")
}

// meaning is what a line means: words and data of errors are left out.
func meaning(line string) any {
	var v any
	if json.Unmarshal([]byte(line), &v) != nil {
		return line
	}
	if m, ok := v.(map[string]any); ok {
		if e, ok := m["error"].(map[string]any); ok {
			delete(e, "message")
			if e["code"] != float64(unsupportedVersion) {
				delete(e, "data")
			}
		}
	}
	return v
}

func initializeWith(version string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`, version)
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// An exchange is a line and what comes back. Where the servers differ, ours and theirs say how.
type exchange struct {
	line         string
	lines        int // that come back; 0 is one, -1 none
	ours, theirs string
}

// Where our server differs from that of the SDK.
const (
	// Our answer to a wrong line is a fault, and the next line is read. The SDK ends.
	goesOn = "ended"
	// The SDK has no code for some faults.
	noCode = ":0"
)

func request(id, method, params string) string {
	if params != "" {
		params = `,"params":` + params
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q%s}`, id, method, params)
}

func TestOracle(t *testing.T) {
	work := folder(t)
	r := func(_ context.Context, args []string, out, said io.Writer) (int, error) {
		io.WriteString(said, "hone: building…\nhone: <running>\n")
		if slices.Contains(args, "--json") {
			io.WriteString(out, "{\"a\": [1, \"<b>\"]}\n")
		} else {
			io.WriteString(out, "<b> & é\u2028\x00\n")
		}
		return 3, nil
	}
	o := Options{Folder: work, Run: r, Version: "hone v1 <x>"}
	call := func(id, params string) string { return request(id, "tools/call", params) }
	for _, session := range []struct {
		name  string
		begin []string // each has one answer, if it is a request
		lines []exchange
	}{
		{"before initialize", nil, []exchange{
			{line: request(`"a"`, "ping", "")},
			{line: request("1", "logging/setLevel", `{"level":"info"}`)},
			{line: request("1", "tools/list", ""), ours: "1:-32600", theirs: "1" + noCode},
			{line: call("1", `{"name":"top"}`), ours: "1:-32600", theirs: "1" + noCode},
			{line: request("1", "nope", ""), ours: "1:-32600", theirs: "1" + noCode},
			{line: request("1", "server/discover", "")},
			{line: request("1", "initialize", ""), ours: "1:-32602", theirs: "1:-32600"},
			{line: request("1", "initialize", "[]"), ours: "1:-32602", theirs: "1" + noCode},
			{line: request("1", "initialize", `{"protocolVersion":5}`), ours: "1:-32602", theirs: "1" + noCode},
			{line: request("1", "initialize", `{"protocolVersion":"2025-11-25",`+modernMeta+`}`)},
			{line: `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, ours: "null:-32600", theirs: "[1:result]"}, // nothing says yet that there are batches
			{line: initializeWith("1999-01-01")},
			{line: initializeWith("2025-06-18"), ours: "0:-32600", theirs: "0" + noCode},
		}},
		{"the newest for initialize", nil, []exchange{{line: request("1", "initialize", `{}`)}, {line: request("2", "tools/list", "")}}},
		{"a newer one", nil, []exchange{{line: initializeWith("2026-07-28")}, {line: request("2", "tools/list", `{"cursor":null}`)}}},
		{"2025-11-25", []string{initializeWith("2025-11-25"), `{"jsonrpc":"2.0","method":"notifications/initialized"}`}, []exchange{
			{line: request("1", "ping", "")},
			{line: request(`"x\u00e9<\u0000>"`, "ping", "null")},
			{line: request("-5", "ping", "{}")},
			{line: request("10", "ping", "5")},
			{line: request("9.5", "ping", ""), ours: "9.5:result", theirs: "9:result"},
			{line: request("1e3", "ping", ""), ours: "1e3:result", theirs: "1000:result"},
			{line: request("12345678901234567890123", "ping", ""), ours: "12345678901234567890123:result", theirs: "-9223372036854775808:result"},
			{line: request(`"\ud800"`, "ping", ""), ours: `"\ud800":result`, theirs: `"` + "\uFFFD" + `":result`},
			{line: request("null", "ping", ""), ours: "null:-32600", theirs: ""}, // the SDK takes it for a notification
			{line: `{"jsonrpc":"2.0","method":"ping"}`, lines: -1},
			{line: request("2", "tools/list", "")},
			{line: request("2", "tools/list", `{"cursor":"","_meta":{}}`)},
			{line: request("2", "tools/list", `{"cursor":"zzz"}`)},
			{line: request("2", "tools/list", `{"cursor":5}`)},
			{line: request("2", "tools/list", `[]`)},
			{line: request("3", "resources/list", "")},
			{line: request("3", "resources/templates/list", "{}")},
			{line: request("3", "prompts/list", "")},
			{line: request("3", "prompts/get", `{"name":"x"}`), ours: "3:-32601", theirs: "3:-32602"}, // there are none to get
			{line: request("3", "resources/read", `{"uri":"x:y"}`), ours: "3:-32601", theirs: "3:-32602"},
			{line: request("3", "resources/subscribe", `{"uri":"x:y"}`)},
			{line: request("3", "completion/complete", `{"ref":{"type":"ref/prompt","name":"x"},"argument":{"name":"a","value":"b"}}`)},
			{line: request("3", "roots/list", "")},
			{line: request("3", "logging/setLevel", `{"level":"info"}`)},
			{line: request("3", "nope", "")},
			{line: request("3", "", "")},
			{line: `{"jsonrpc":"2.0","method":"nope"}`, lines: -1},
			{line: `{"jsonrpc":"2.0","method":"notifications/nope","params":[]}`, lines: -1},
			{line: `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}}`, lines: -1},
			{line: `{"jsonrpc":"2.0","method":"notifications/cancelled"}`, lines: -1},
			{line: `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}`, lines: -1},
			{line: `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`, lines: -1},
			{line: `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`, lines: -1},
			{line: request("3", "notifications/initialized", "")},
			{line: request("3", "notifications/cancelled", `{"requestId":77}`)},
			{line: request("3", "server/discover", "")},
			{line: request("3", "subscriptions/listen", `{"notifications":{}}`), ours: "3:-32601", theirs: "notifications/subscriptions/acknowledged 3:result"}, // that revision has none
			{line: call("4", ""), ours: "4:-32602", theirs: "4:-32600"},
			{line: call("4", "null"), ours: "4:-32602", theirs: "4:-32600"},
			{line: call("4", "[]")},
			{line: call("4", `{}`)},
			{line: call("4", `{"name":5}`)},
			{line: call("4", `{"name":"nope"}`)},
			{line: call("4", `{"Name":"top","arguments":{"ref":"cpu.pprof"}}`)},
			{line: call("4", `{"name":"top","Arguments":{"ref":"cpu.pprof"}}`)},
			{line: call("4", `{"name":"more","arguments":[]}`)},
			{line: call("4", `{"name":"more","arguments":null}`)},
			{line: call("4", `{"name":"more","arguments":{"result":"r99","page":1}}`)},
			{line: call("4", `{"name":"top","arguments":{"ref":"cpu.pprof"}}`)},
			{line: call("4", `{"name":"top","arguments":{"ref":"cpu.pprof","json":true}}`)},
			{line: call("4", `{"name":"top","arguments":{"ref":"cpu.pprof"},"_meta":{"progressToken":"p<"}}`), lines: 3},
			{line: call("4", `{"name":"race","_meta":{"progressToken":7}}`), lines: 3},
			{line: call("4", `{"name":"race","_meta":{"progressToken":null}}`)},
			{line: call("4", `{"name":"race","_meta":{"progressToken":{}}}`), ours: "4:result", theirs: "notifications/progress notifications/progress 4:result"}, // nobody is told
			{line: `{"jsonrpc":"2.0","id":77,"result":{}}`, lines: -1},
			{line: `{"jsonrpc":"2.0","id":77,"error":{"code":1,"message":"x"}}`, lines: -1},
			{line: `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}`, ours: "", theirs: goesOn},
			{line: `{"jsonrpc":"2.0","id":5,"method":"ping","method":"tools/list"}`},
			{line: `{"jsonrpc":"2.0","id":5,"method":"ping","Method":"tools/list","ID":6,"JSONRPC":"1.0"}`},
			{line: `{"jsonrpc":"2.0","id":5,"Method":"ping"}`, ours: "5:-32600", theirs: ""}, // the SDK takes it for an answer
			{line: `{"jsonrpc":"2.0","id":5}`, ours: "5:-32600", theirs: ""},
			{line: "", lines: -1}, {line: "  \t", lines: -1}, {line: "\r", lines: -1},
			{line: request("6", "ping", "") + "\r"},
			{line: "  " + request("6", "ping", ` { "x" : 1 } `) + " \r", ours: "6:result", theirs: goesOn},
			{line: "{\"jsonrpc\":\"2.0\",\n\"id\":6,\"method\":\"ping\"}", ours: "null:-32700 null:-32700", theirs: "6:result"}, // a message is one line
			{line: "garbage", ours: "null:-32700", theirs: goesOn},
			{line: "\x00", ours: "null:-32700", theirs: goesOn},
			{line: "\ufeff" + request("6", "ping", ""), ours: "null:-32700", theirs: goesOn},
			{line: request("6", "ping", "") + request("6", "ping", ""), ours: "null:-32700", theirs: goesOn},
			{line: `{"jsonrpc":"2.0","id":"` + "\xff" + `","method":"ping"}`, ours: "null:-32700", theirs: `"` + "\uFFFD" + `":result`},
			{line: `{"jsonrpc":"1.0","id":6,"method":"ping"}`, ours: "6:-32600", theirs: goesOn},
			{line: `{"id":6,"method":"ping"}`, ours: "6:-32600", theirs: goesOn},
			{line: "5", ours: "null:-32600", theirs: goesOn},
			{line: "null", ours: "null:-32600", theirs: goesOn},
			{line: "{}", ours: "null:-32600", theirs: goesOn},
			{line: request("{}", "ping", ""), ours: "null:-32600", theirs: goesOn},
			{line: request("true", "ping", ""), ours: "null:-32600", theirs: goesOn},
			{line: `{"jsonrpc":"2.0","id":6,"method":5}`, ours: "6:-32600", theirs: goesOn},
			{line: `{"jsonrpc":"2.0","id":6,"method":null}`, ours: "6:-32600", theirs: "6:-32601"},
			{line: `[` + request("6", "ping", "") + `]`, ours: "null:-32600", theirs: goesOn},
			{line: request("6", "ping", strings.Repeat("[", 2000)+strings.Repeat("]", 2000)), ours: "6:-32602", theirs: goesOn},
			{line: request("6", "ping", strings.Repeat("[", 20_000)+strings.Repeat("]", 20_000)), ours: "null:-32700", theirs: goesOn},
			{line: request("6", "ping", `{"x":"`+strings.Repeat("a", maxRequest)+`"}`), ours: "null:-32600", theirs: goesOn},
			{line: request(`"`+strings.Repeat("a", maxID)+`"`, "ping", ""), ours: "null:-32600", theirs: `"` + strings.Repeat("a", maxID) + `":result`},
			{line: request("6", "ping", "")},
		}},
		{"2025-03-26", []string{initializeWith("2025-03-26")}, []exchange{
			{line: `[` + request("1", "ping", "") + `,` + request(`"b"`, "tools/list", "") + `]`},
			{line: `[` + request("1", "ping", "") + `,{"jsonrpc":"2.0","method":"notifications/initialized"}]`, ours: "[1:result]", theirs: ""}, // the SDK waits for an answer to the notification
			{line: `[5]`, ours: "[null:-32600]", theirs: goesOn},
			{line: `[]`, ours: "null:-32600", theirs: goesOn},
			{line: `[{"jsonrpc":"2.0","method":"nope"}]`, lines: -1},
			{line: `[1,`, ours: "null:-32700", theirs: ""}, // the SDK waits for the rest
		}},
		{"2024-11-05", []string{initializeWith("2024-11-05")}, []exchange{
			{line: request("2", "tools/list", "")},
			{line: call("4", `{"name":"race","_meta":{"progressToken":7}}`), lines: 3},
			{line: `[` + request("1", "ping", "") + `]`},
		}},
		{"2026-07-28", nil, []exchange{
			{line: request("1", "tools/list", "{"+modernMeta+"}")},
			{line: request("1", "server/discover", "{"+modernMeta+"}")},
			{line: request("1", "server/discover", "{"+strings.Replace(modernMeta, "2026-07-28", "2027-01-01", 1)+"}")},
			{line: request("1", "server/discover", "{"+strings.Replace(modernMeta, "2026-07-28", "2025-11-25", 1)+"}")},
			{line: request("1", "tools/list", "{"+strings.Replace(modernMeta, "/clientCapabilities", "/x", 1)+"}")},
			{line: request("1", "tools/list", "{"+strings.Replace(modernMeta, "{}", "5", 1)+"}")},
			{line: request("1", "tools/list", "{"+strings.Replace(modernMeta, "{}}", `{},"io.modelcontextprotocol/clientInfo":5}`, 1)+"}")},
			{line: request("1", "tools/list", "{"+strings.Replace(modernMeta, "{}}", `{},"io.modelcontextprotocol/clientInfo":{"name":"a","version":"1"}}`, 1)+"}")},
			{line: request("1", "tools/list", `{"cursor":"x",`+modernMeta+"}")},
			{line: request("1", "tools/list", "")}, // it has said which version it speaks
			{line: request("1", "ping", "{"+modernMeta+"}")},
			{line: request("1", "ping", "")},
			{line: request("1", "logging/setLevel", `{"level":"info",`+modernMeta+"}")},
			{line: request("1", "nope", "{"+modernMeta+"}")},
			{line: request("1", "prompts/list", "{"+modernMeta+"}")},
			{line: request("1", "resources/list", "{"+modernMeta+"}")},
			{line: request("1", "resources/templates/list", "{"+modernMeta+"}")},
			{line: request("1", "resources/subscribe", `{"uri":"x:y",`+modernMeta+"}")},
			{line: request("1", "subscriptions/listen", `{"notifications":{"toolsListChanged":true},`+modernMeta+"}"), lines: 2},
			{line: request(`"s"`, "subscriptions/listen", `{"notifications":{},`+modernMeta+"}"), lines: 2},
			{line: request("1", "subscriptions/listen", "{"+modernMeta+"}")},
			{line: call("1", `{"name":"nope",`+modernMeta+"}")},
			{line: call("1", `{"name":"top","arguments":{"ref":"cpu.pprof"},`+modernMeta+"}")},
			{line: call("1", `{"name":"top","arguments":{"ref":"b.hone"},`+modernMeta+"}")},
			{line: call("1", `{"name":"top","arguments":{"ref":"cpu.pprof"},`+strings.Replace(modernMeta, "{}}", `{},"progressToken":"p"}`, 1)+"}"), lines: 3},
			{line: initializeWith("2025-11-25"), ours: "0:result", theirs: "0" + noCode}, // a caller may try what there is, and then begin
		}},
	} {
		t.Run(session.name, func(t *testing.T) {
			begun := func(p *peer) *peer {
				for _, line := range session.begin {
					p.send(line)
					if strings.Contains(line, `"id"`) {
						p.next()
					}
				}
				return p
			}
			ours, theirs := begun(startOurs(t, o)), begun(startTheirs(t, o))
			for _, x := range session.lines {
				ours.send(x.line)
				theirs.send(x.line)
				if x.ours+x.theirs == "" {
					got, want := ours.nexts(max(x.lines, 1)*min(x.lines+1, 1)), theirs.nexts(max(x.lines, 1)*min(x.lines+1, 1))
					for i := range got {
						if !reflect.DeepEqual(meaning(got[i]), meaning(want[i])) {
							t.Errorf("%.300s\nours   %.2000s\ntheirs %.2000s", x.line, got[i], want[i])
						}
					}
					continue
				}
				got, want := ours.nexts(len(strings.Fields(x.ours))), theirs.nexts(len(strings.Fields(x.theirs)))
				if short(got...) != x.ours || short(want...) != x.theirs {
					t.Errorf("%.300s\nours   %.1000s, want %.1000s\ntheirs %.1000s, want %.1000s", x.line, short(got...), x.ours, short(want...), x.theirs)
				}
				if x.theirs == goesOn {
					theirs = begun(startTheirs(t, o))
				}
			}
		})
	}
}

// The client of the SDK, in each revision that it speaks.
func TestVersions(t *testing.T) {
	if want := sdk.SupportedProtocolVersions(); !slices.Equal(versions, want) {
		t.Errorf("hone speaks %v, the SDK %v", versions, want)
	}
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			told := make(chan string, 10)
			begun := make(chan bool, 1)
			c := connectWith(t, Options{Folder: folder(t), Version: "v1", Run: func(ctx context.Context, args []string, out, said io.Writer) (int, error) {
				if args[0] == "race" {
					begun <- true
					<-ctx.Done()
					return 130, nil
				}
				io.WriteString(said, "hone: building…\n")
				io.WriteString(out, "well\n")
				return 0, nil
			}}, &sdk.ClientOptions{
				ProgressNotificationHandler: func(_ context.Context, n *sdk.ProgressNotificationClientRequest) { told <- n.Params.Message },
			}, &sdk.ClientSessionOptions{ProtocolVersion: version})
			got := c.InitializeResult()
			if got.ProtocolVersion != version || got.ServerInfo.Version != "v1" || got.Instructions != instructions || got.Capabilities.Tools == nil {
				t.Errorf("initialize: %+v", got)
			}
			ctx := context.Background()
			tools, err := c.ListTools(ctx, nil)
			if err != nil || len(tools.Tools) != len(knownTools())+1 || tools.NextCursor != "" {
				t.Errorf("tools/list: %+v %v", tools, err)
			}
			if _, err := c.ListTools(ctx, &sdk.ListToolsParams{Cursor: "x"}); err == nil {
				t.Error("there is a second page of tools")
			}
			if prompts, err := c.ListPrompts(ctx, nil); err != nil || len(prompts.Prompts) != 0 {
				t.Errorf("prompts/list: %+v %v", prompts, err)
			}
			if err := c.Ping(ctx, nil); err != nil {
				t.Errorf("ping: %v", err)
			}
			params := &sdk.CallToolParams{Name: "top", Arguments: map[string]any{"ref": "cpu.pprof"}}
			params.SetProgressToken("p")
			res, err := c.CallTool(ctx, params)
			if err != nil || res.IsError || res.Content[0].(*sdk.TextContent).Text != "hone: building…\nwell\n" {
				t.Errorf("tools/call: %+v %v", res, err)
			}
			if line := <-told; line != "hone: building…" {
				t.Errorf("told %q", line)
			}
			if _, err := c.CallTool(ctx, &sdk.CallToolParams{Name: "nope"}); err == nil || !strings.Contains(err.Error(), `there is no tool "nope"`) {
				t.Errorf("a tool that is not there: %v", err)
			}
			ctx, stop := context.WithCancel(ctx)
			ended := make(chan error)
			go func() {
				_, err := c.CallTool(ctx, &sdk.CallToolParams{Name: "race"})
				ended <- err
			}()
			<-begun
			stop()
			if err := <-ended; err == nil {
				t.Error("a call was not canceled")
			}
			// The next call that measures has its turn when the one before has ended.
			if res, err := c.CallTool(context.Background(), &sdk.CallToolParams{Name: "prove"}); err != nil || res.IsError {
				t.Errorf("after a canceled call: %+v %v", res, err)
			}
		})
	}
}
