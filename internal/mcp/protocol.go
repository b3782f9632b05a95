package mcp

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/order"
)

// This file has the methods of the Model Context Protocol that a server of tools needs. Two kinds of callers use them. Up to revision 2025-11-25, a caller
// begins with initialize, where both agree on a revision. From 2026-07-28 on, there is no beginning: each request names its revision in _meta, and
// server/discover says which there are.

const (
	modernVersion = "2026-07-28" // the first without initialize
	newestOlder   = "2025-11-25" // the newest that initialize can agree on
)

// versions are the revisions that hone speaks, newest first.
var versions = []string{modernVersion, newestOlder, "2025-06-18", "2025-03-26", "2024-11-05"}

const (
	methodCall   = "tools/call"
	methodLevel  = "logging/setLevel"
	methodListen = "subscriptions/listen"
)

// Names in _meta.
const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaClient       = "io.modelcontextprotocol/clientInfo"
	metaServer       = "io.modelcontextprotocol/serverInfo"
	metaSubscription = "io.modelcontextprotocol/subscriptionId"
)

// A program says who speaks.
type program struct {
	Name    string `json:"name"`
	Title   string `json:"title"`
	Version string `json:"version"`
}

// capabilities are what a server offers: hone has tools, and the list of them does not change.
type capabilities struct {
	Tools struct{} `json:"tools"`
}

// A stamp is what results have in common since modernVersion; before, it is empty.
type stamp struct {
	Type string         `json:"resultType,omitempty"`
	Meta map[string]any `json:"_meta,omitempty"`
}

// A content is a part of the answer of a tool.
type content struct {
	Type string `json:"type"` // text
	Text string `json:"text"`
}

// A reply is the result of a call of a tool.
type reply struct {
	stamp
	Content []content `json:"content"`
	Answer  Answer    `json:"structuredContent"`
	IsError bool      `json:"isError,omitempty"`
}

// A listing describes a tool to callers.
type listing struct {
	Name        string      `json:"name"`
	Description string      `json:"description"`
	Annotations annotations `json:"annotations"`
	Input       *schema     `json:"inputSchema"`
	Output      *schema     `json:"outputSchema"`
}

type annotations struct {
	ReadOnly    bool `json:"readOnlyHint"`
	Destructive bool `json:"destructiveHint"`
	Idempotent  bool `json:"idempotentHint"`
	OpenWorld   bool `json:"openWorldHint"`
}

// list returns all tools, by name.
func (s *server) list() []listing {
	var out []listing
	for _, t := range s.tools {
		out = append(out, listing{
			Name: t.name, Description: t.doc, Input: t.schema(), Output: answerSchema,
			Annotations: annotations{ReadOnly: !t.runs, Destructive: t.writes},
		})
	}
	order.Stable(out, func(a, b listing) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func (s *server) tool(name string) *tool {
	if i := slices.IndexFunc(s.tools, func(t *tool) bool { return t.name == name }); i >= 0 {
		return s.tools[i]
	}
	return nil
}

// stamped returns what a result begins with.
func (c *conn) stamped(modern bool) stamp {
	if !modern {
		return stamp{}
	}
	return stamp{Type: "complete", Meta: map[string]any{metaServer: c.s.program()}}
}

func (s *server) program() program { return program{Name: "hone", Title: "hone", Version: s.Version} }

// refuseBatch says why no batch may come now, if that is so. Batches came with JSON-RPC and left the protocol with 2025-06-18. Before initialize, which is in none,
// it is not known whether they may come.
func (c *conn) refuseBatch() *fault {
	if c.version == "" {
		return faultf(invalidRequest, "no batch may come before initialize")
	}
	if c.version >= "2025-06-18" {
		return faultf(invalidRequest, "version %s of the protocol has no batches", c.version)
	}
	return nil
}

// notified handles a notification. Those that it does not know are ignored, as JSON-RPC demands.
func (c *conn) notified(m message) {
	if m.method != "notifications/cancelled" {
		return
	}
	if params, ok := isObject(m.params); ok {
		c.cancel(idKey(params["requestId"]))
	}
}

// request answers a request.
func (c *conn) request(m message, send func(line []byte)) {
	params, f := readParams(m)
	if f == nil && c.inUse(m.key) {
		m.id, f = nil, faultf(invalidRequest, "a request with this id is running") // the answer with this id is that of the other one
	}
	modern := false
	if f == nil {
		modern, f = isModern(params)
	}
	if f == nil {
		f = c.expected(m.method, modern)
	}
	if f == nil && m.method == methodCall {
		if f = c.call(m, params, modern, send); f == nil {
			return
		}
	}
	var result any
	if f == nil {
		result, f = c.answer(m, params, modern)
	}
	send(answerLine(m.id, result, f))
}

// readParams returns the parameters, which are an object in all methods.
func readParams(m message) (object, *fault) {
	if m.params == nil {
		return nil, nil
	}
	params, ok := isObject(m.params)
	if !ok {
		return nil, faultf(invalidParams, "params: want an object")
	}
	return params, nil
}

// isModern reports whether a request names its revision, and checks what it then has to say besides.
func isModern(params object) (bool, *fault) {
	meta, _ := isObject(params["_meta"])
	version, ok := meta.text(metaVersion)
	if !ok || version < modernVersion {
		return false, nil
	}
	if !slices.Contains(versions, version) {
		f := faultf(unsupportedVersion, "unsupported protocol version")
		f.Data = map[string]any{"supported": versions, "requested": clip(version)}
		return false, f
	}
	if _, ok := isObject(meta[metaCapabilities]); !ok {
		return false, faultf(invalidParams, "_meta: want an object as %s", metaCapabilities)
	}
	if client, ok := meta[metaClient]; ok {
		if _, ok := isObject(client); !ok {
			return false, faultf(invalidParams, "_meta: want an object as %s", metaClient)
		}
	}
	return true, nil
}

// expected refuses a method that does not belong to the revision, or comes too early.
func (c *conn) expected(method string, modern bool) *fault {
	if strings.HasPrefix(method, "notifications/") {
		return faultf(invalidRequest, "%s is a notification, which has no id", method)
	}
	switch method {
	case "initialize", "ping", methodLevel:
		if modern {
			return faultf(noMethod, "version %s of the protocol has no %s", modernVersion, method)
		}
		return nil
	case "server/discover", methodListen:
		if !modern {
			return faultf(noMethod, "versions of the protocol before %s have no %s", modernVersion, method)
		}
	}
	c.known = c.known || modern
	if !c.known {
		return faultf(invalidRequest, "initialize has to come before %q", clip(method))
	}
	return nil
}

// answer answers all requests but calls of tools.
func (c *conn) answer(m message, params object, modern bool) (any, *fault) {
	switch m.method {
	case "initialize":
		return c.initialize(params)
	case "ping", methodLevel: // hone logs nothing, whatever the level
		return struct{}{}, nil
	case "server/discover":
		return c.uncached(modern, map[string]any{"supportedVersions": versions, "capabilities": capabilities{}, "instructions": instructions}), nil
	case methodListen:
		return c.listen(m, params)
	case "tools/list":
		return c.listed(params, modern, "tools", c.s.list())
	// Some callers ask for these though hone does not say that it has any.
	case "prompts/list":
		return c.listed(params, modern, "prompts", []int{})
	case "resources/list":
		return c.listed(params, modern, "resources", []int{})
	case "resources/templates/list":
		return c.listed(params, modern, "resourceTemplates", []int{})
	}
	return nil, faultf(noMethod, "there is no method %q", clip(m.method))
}

// listed returns a list, which is always one page.
func (c *conn) listed(params object, modern bool, name string, all any) (any, *fault) {
	if cursor, ok := params.text("cursor"); !ok || cursor != "" {
		return nil, faultf(invalidParams, "cursor: there is only one page")
	}
	return c.uncached(modern, map[string]any{name: all}), nil
}

// uncached adds to a result that callers may keep, that they should not: the next hone may have other tools.
func (c *conn) uncached(modern bool, result map[string]any) map[string]any {
	result["ttlMs"], result["cacheScope"] = 0, "public"
	if s := c.stamped(modern); modern {
		result["resultType"], result["_meta"] = s.Type, s.Meta
	}
	return result
}

// initialize agrees on a revision: the one that the caller wants, or the newest that there is for initialize.
func (c *conn) initialize(params object) (any, *fault) {
	version, ok := params.text("protocolVersion")
	switch {
	case params == nil:
		return nil, faultf(invalidParams, "params are missing")
	case !ok:
		return nil, faultf(invalidParams, "protocolVersion: want a text")
	case c.version != "":
		return nil, faultf(invalidRequest, "initialize came before")
	}
	if version == modernVersion || !slices.Contains(versions, version) {
		version = newestOlder
	}
	c.version, c.known = version, true
	return struct {
		Version      string       `json:"protocolVersion"`
		Capabilities capabilities `json:"capabilities"`
		Server       program      `json:"serverInfo"`
		Instructions string       `json:"instructions"`
	}{version, capabilities{}, c.s.program(), instructions}, nil
}

// listen answers a caller that wants to hear of changes: there are none to hear of, and so nothing to wait for.
func (c *conn) listen(m message, params object) (any, *fault) {
	if _, ok := isObject(params["notifications"]); !ok {
		return nil, faultf(invalidParams, "notifications: want an object")
	}
	type told struct {
		Meta          map[string]any `json:"_meta"`
		Notifications struct{}       `json:"notifications"`
	}
	c.notify(c.send, "notifications/subscriptions/acknowledged", told{Meta: map[string]any{metaSubscription: m.id}})
	out := c.stamped(true)
	out.Meta[metaSubscription] = m.id
	return out, nil
}

// notify sends a notification.
func (c *conn) notify(send func(line []byte), method string, params any) {
	line, err := wire(struct {
		Version string `json:"jsonrpc"`
		Method  string `json:"method"`
		Params  any    `json:"params"`
	}{"2.0", method, params})
	if err != nil {
		panic(err) // the types are ours
	}
	send(line)
}

// call starts a call of a tool, or says why it cannot. A call that the caller canceled gets no answer.
func (c *conn) call(m message, params object, modern bool, send func(line []byte)) *fault {
	name, ok := params.text("name")
	if !ok {
		return faultf(invalidParams, "name: want a text")
	}
	t := c.s.tool(name)
	if t == nil {
		return faultf(invalidParams, "there is no tool %q", clip(name))
	}
	ctx, stop := context.WithCancel(c.life)
	if !c.begin(m.key, stop) {
		stop()
		send(nil)
		return nil
	}
	meta, _ := isObject(params["_meta"])
	tell := c.progress(ctx, meta["progressToken"])
	go func() {
		defer c.calls.Done()
		defer stop()
		r := c.s.call(ctx, t, params["arguments"], tell)
		c.finish(m.key)
		if ctx.Err() != nil {
			send(nil)
			return
		}
		r.stamp = c.stamped(modern)
		send(answerLine(m.id, r, nil))
	}()
	return nil
}

// progress returns what tells a caller how its call is going, or nil where it did not ask.
func (c *conn) progress(ctx context.Context, token json.RawMessage) func(line string) {
	if idKey(token) == "" {
		return nil
	}
	n := 0
	return func(line string) {
		if ctx.Err() != nil {
			return
		}
		n++
		c.notify(c.tell, "notifications/progress", struct {
			Token    json.RawMessage `json:"progressToken"`
			Progress int             `json:"progress"`
			Message  string          `json:"message"`
		}{token, n, line})
	}
}
