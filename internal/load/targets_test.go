package load

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

func open(name string) ([]byte, error) {
	if name == "body.json" {
		return []byte(`{"a":1}`), nil
	}
	return nil, errors.New("no such file")
}

func TestReadTargets(t *testing.T) {
	tests := []struct{ name, text, want, err string }{
		{
			name: "plain",
			text: "# the shop\nGET http://localhost/a\nX-A: b: c\n\nPOST http://localhost/b?c=d\nContent-Type: application/json\n@body.json\nDELETE http://localhost/c",
			want: `GET http://localhost/a [{X-A b: c}] ""|POST http://localhost/b?c=d [{Content-Type application/json}] "{\"a\":1}"|DELETE http://localhost/c [] ""`,
		},
		{
			name: "JSON",
			text: `{"method":"POST","url":"http://localhost/a","header":{"B":["1","2"],"A":["3"]},"body":"aGk="}` + "\n" + `{"url":"http://localhost/b"}`,
			want: `POST http://localhost/a [{A 3} {B 1} {B 2}] "hi"|GET http://localhost/b [] ""`,
		},
		{
			name: "HAR",
			text: `{"log":{"entries":[{"request":{"method":"PUT","url":"http://localhost/a","headers":[{"name":":authority","value":"x"},{"name":"Host","value":"x"},{"name":"Cookie","value":"a=b"}],"postData":{"text":"hi"}}}]}}`,
			want: `PUT http://localhost/a [{Cookie a=b}] "hi"`,
		},
		{name: "empty", text: " \n", err: "file is empty"},
		{name: "comments", text: "# a\n", err: "no request"},
		{name: "no request", text: "hello\n", err: "targets:1: "},
		{name: "field first", text: "A: b\n", err: "targets:1: "},
		{name: "no field", text: "GET http://localhost/\nhello\n", err: "targets:2: "},
		{name: "no file", text: "GET http://localhost/\n@nothing\n", err: "targets:2: no such file"},
		{name: "no URL", text: "GET http://[::1\n", err: "targets:1: "},
		{name: "other scheme", text: "GET ftp://localhost/\n", err: "request 1: "},
		{name: "bad JSON", text: "{\"url\":\"http://localhost/\"}\n{\n", err: "request 2: "},
		{name: "JSON of another kind", text: "{\"a\":1}", err: "request 1: "},
		{name: "empty HAR", text: `{"log":{"entries":[]}}`, err: "no request"},
	}
	for _, test := range tests {
		got, err := ReadTargets(strings.NewReader(test.text), "targets", open)
		if test.err != "" {
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("%s: %v, want an error with %q", test.name, err, test.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if said := say(got); said != test.want {
			t.Errorf("%s:\n%s\nwant\n%s", test.name, said, test.want)
		}
	}
}

func say(list []Target) string {
	var out []string
	for _, t := range list {
		out = append(out, strings.Join([]string{t.method(), t.URL.String(), fmt.Sprint(t.Header), strconv.Quote(string(t.Body))}, " "))
	}
	return strings.Join(out, "|")
}

func FuzzTargets(f *testing.F) {
	f.Add("GET http://localhost/a\nX-A: b\n@body.json\n")
	f.Add(`{"url":"http://localhost/","header":{"a":["b"]},"body":"aGk="}`)
	f.Add(`{"log":{"entries":[{"request":{"method":"GET","url":"http://localhost/"}}]}}`)
	f.Fuzz(func(t *testing.T, text string) {
		one, err := ReadTargets(strings.NewReader(text), "fuzz", open)
		if err != nil {
			return
		}
		two, err := ReadTargets(strings.NewReader(text), "fuzz", open)
		if err != nil || !reflect.DeepEqual(one, two) {
			t.Errorf("%v, then %v, %v", one, two, err)
		}
		p := Plan{Targets: one}
		for i := range one {
			if wire, err := p.wire(&one[i]); err == nil && strings.Count(string(wire), "\r\n\r\n") < 1 {
				t.Errorf("a request without an end: %q", wire)
			}
		}
	})
}
