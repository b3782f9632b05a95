package load

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/hone-perf/hone/internal/unit"
)

// Limits on lists of targets.
const (
	maxTargets    = 100_000
	maxTargetFile = 64 << 20
)

// ReadTargets reads a list of requests, in one of three forms: that of vegeta,
//
//	POST http://localhost:8080/items
//	Content-Type: application/json
//	@body.json
//
// with an empty line between two; its JSON, an object on each line; and HAR, which browsers save. name is for errors, and
// open reads the files that bodies are in.
func ReadTargets(in io.Reader, name string, open func(string) ([]byte, error)) ([]Target, error) {
	text, err := io.ReadAll(io.LimitReader(in, maxTargetFile+1))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	if len(text) > maxTargetFile {
		return nil, fmt.Errorf("%s is longer than %s", name, unit.Size(maxTargetFile))
	}
	var out []Target
	switch trimmed := bytes.TrimSpace(text); {
	case len(trimmed) == 0:
		return nil, fmt.Errorf("%s: the file is empty", name)
	case trimmed[0] != '{':
		out, err = readPlain(text, name, open)
	case isHAR(trimmed):
		out, err = readHAR(trimmed)
	default:
		out, err = readLines(text, name)
	}
	if err != nil {
		return nil, err
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: the file has no requests", name)
	}
	if len(out) > maxTargets {
		return nil, fmt.Errorf("%s has %d requests; the limit is %d", name, len(out), maxTargets)
	}
	for i := range out {
		if err := out[i].check(); err != nil {
			return nil, fmt.Errorf("%s: request %d: %w", name, i+1, err)
		}
	}
	return out, nil
}

// readPlain reads the form of vegeta.
func readPlain(text []byte, name string, open func(string) ([]byte, error)) ([]Target, error) {
	var out []Target
	inside := false // a target, so that a field may follow
	in := bufio.NewScanner(bytes.NewReader(text))
	in.Buffer(nil, 1<<20)
	for n := 1; in.Scan(); n++ {
		line := strings.TrimSpace(in.Text())
		wrong := func(what string) error { return fmt.Errorf("%s:%d: %s", name, n, what) }
		method, address, isRequest := strings.Cut(line, " ")
		switch {
		case line == "":
			inside = false
		case strings.HasPrefix(line, "#"):
		case isRequest && isToken(method) && strings.ToUpper(method) == method && strings.Contains(address, "://"):
			u, err := url.Parse(strings.TrimSpace(address))
			if err != nil {
				return nil, wrong(err.Error())
			}
			out = append(out, Target{Method: method, URL: u})
			inside = true
		case !inside:
			return nil, wrong(fmt.Sprintf("%.60q is not a request; want such as GET http://localhost:8080/", line))
		case strings.HasPrefix(line, "@"):
			body, err := open(line[1:])
			if err != nil {
				return nil, wrong(err.Error())
			}
			out[len(out)-1].Body = body
		default:
			field, value, ok := strings.Cut(line, ":")
			if !ok {
				return nil, wrong(fmt.Sprintf("%.60q is neither a header field nor the name of a file behind @", line))
			}
			t := &out[len(out)-1]
			t.Header = append(t.Header, Field{strings.TrimSpace(field), strings.TrimSpace(value)})
		}
	}
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	return out, nil
}

// readLines reads the JSON of vegeta.
func readLines(text []byte, name string) ([]Target, error) {
	var out []Target
	dec := json.NewDecoder(bytes.NewReader(text))
	for n := 1; ; n++ {
		var one struct {
			Method string
			URL    string
			Header map[string][]string
			Body   []byte
		}
		err := dec.Decode(&one)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: request %d: %w", name, n, err)
		}
		u, err := url.Parse(one.URL)
		if err != nil {
			return nil, fmt.Errorf("%s: request %d: %w", name, n, err)
		}
		t := Target{Method: one.Method, URL: u, Body: one.Body}
		for _, k := range sortedKeys(one.Header) {
			for _, v := range one.Header[k] {
				t.Header = append(t.Header, Field{k, v})
			}
		}
		if out = append(out, t); len(out) > maxTargets {
			return out, nil // and that is said
		}
	}
}

func sortedKeys(m map[string][]string) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// A har is what a browser saved.
type har struct {
	Log *struct {
		Entries []struct {
			Request struct {
				Method   string
				URL      string
				Headers  []struct{ Name, Value string }
				PostData struct{ Text string }
			}
		}
	}
}

func isHAR(text []byte) bool {
	var h har
	return json.Unmarshal(text, &h) == nil && h.Log != nil
}

// readHAR takes the requests of a browser. What it says about the connection is left out: ours is another.
func readHAR(text []byte) ([]Target, error) {
	var h har
	if err := json.Unmarshal(text, &h); err != nil {
		return nil, err
	}
	var out []Target
	for i, e := range h.Log.Entries {
		q := e.Request
		u, err := url.Parse(q.URL)
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", i+1, err)
		}
		t := Target{Method: q.Method, URL: u, Body: []byte(q.PostData.Text)}
		for _, f := range q.Headers {
			switch strings.ToLower(f.Name) {
			case "host", "connection", "content-length", "transfer-encoding", "keep-alive", "te", "upgrade":
			default:
				if !strings.HasPrefix(f.Name, ":") {
					t.Header = append(t.Header, Field{f.Name, f.Value})
				}
			}
		}
		out = append(out, t)
	}
	return out, nil
}
