package load

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

// An answer reads the same in one piece and byte by byte.
func TestAnswer(t *testing.T) {
	const big = 1 << 20
	tests := []struct {
		name, text string
		head       bool
		status     int
		body       int64
		old        bool // the request was HTTP/1.0
		reuse      bool
		err        error // nil is a whole answer
		ends       bool  // it is complete only when the connection is closed
	}{
		{name: "length", text: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", status: 200, body: 5, reuse: true},
		{name: "no reason", text: "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", status: 200, reuse: true},
		{name: "empty reason", text: "HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n", status: 200, reuse: true},
		{name: "bare LF", text: "HTTP/1.1 200 OK\nContent-Length: 2\n\nhi", status: 200, body: 2, reuse: true},
		{name: "case", text: "HTTP/1.1 200 OK\r\ncOnTent-lENGTH:2\r\nCONNECTION:  Close\t\r\n\r\nhi", status: 200, body: 2},
		{name: "1.0", text: "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", status: 200, body: 2},
		{name: "1.0 kept", text: "HTTP/1.0 200 OK\r\nContent-Length: 2\r\nConnection: foo, Keep-Alive\r\n\r\nhi", status: 200, body: 2, reuse: true},
		{name: "1.1 to 1.0", old: true, text: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", status: 200, body: 2},
		{name: "1.1 to 1.0 kept", old: true, text: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nhi", status: 200, body: 2, reuse: true},
		{name: "same lengths", text: "HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\nContent-Length: 2\r\n\r\nhi", status: 200, body: 2, reuse: true},
		{name: "chunked", text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n00A\r\n0123456789\r\n0\r\n\r\n", status: 200, body: 15, reuse: true},
		{name: "extensions and trailers", text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, Chunked\r\n\r\n2;a=b;c=\"d\"\r\nhi\r\n0;x\r\nA: b\r\nC: d\r\n\r\n", status: 200, body: 2, reuse: true},
		{name: "two fields of coding", text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", status: 200, reuse: true},
		{name: "interim", text: "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\nConnection: close\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", status: 200, body: 2, reuse: true},
		{name: "204", text: "HTTP/1.1 204 No Content\r\n\r\n", status: 204, reuse: true},
		{name: "204 length 0", text: "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", status: 204, reuse: true},
		{name: "304", text: "HTTP/1.1 304 Not Modified\r\nContent-Length: 100\r\n\r\n", status: 304, reuse: true},
		{name: "HEAD", head: true, text: "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n", status: 200, reuse: true},
		{name: "HEAD chunked", head: true, text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", status: 200, reuse: true},
		{name: "until closed", text: "HTTP/1.1 200 OK\r\n\r\nhello", status: 200, body: 5, ends: true},
		{name: "coded until closed", text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nhello", status: 200, body: 5, ends: true},
		{name: "not ASCII", text: "HTTP/1.1 200 D\xe9j\xe0 vu\r\nX: \xc3\xa9\r\nContent-Length: 0\r\n\r\n", status: 200, reuse: true},

		{name: "cut in the header", text: "HTTP/1.1 200 OK\r\nContent-Le", err: io.ErrUnexpectedEOF},
		{name: "cut in the body", text: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", err: io.ErrUnexpectedEOF},
		{name: "cut in a chunk", text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel", err: io.ErrUnexpectedEOF},
		{name: "no last chunk", text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n", err: io.ErrUnexpectedEOF},
		{name: "no end of trailers", text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n", err: io.ErrUnexpectedEOF},
		{name: "garbage", text: "\x16\x03\x01 hello", err: errStatusLine},
		{name: "long garbage", text: strings.Repeat("x", big), err: errStatusLine},
		{name: "words for status", text: "HTTP/1.1 abc OK\r\n\r\n", err: errStatusLine},
		{name: "status 99", text: "HTTP/1.1 099 OK\r\n\r\n", err: errStatusLine},
		{name: "four digits", text: "HTTP/1.1 2000 OK\r\n\r\n", err: errStatusLine},
		{name: "HTTP/2", text: "HTTP/2 200\r\n\r\n", err: errStatusLine},
		{name: "HTTP/1.2", text: "HTTP/1.2 200 OK\r\n\r\n", err: errStatusLine},
		{name: "no colon", text: "HTTP/1.1 200 OK\r\nhello\r\n\r\n", err: errFieldName},
		{name: "space before the colon", text: "HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nhi", err: errFieldName},
		{name: "no name", text: "HTTP/1.1 200 OK\r\n: x\r\n\r\n", err: errFieldName},
		{name: "folded length", text: "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n 2\r\n\r\n", err: errFolded},
		{name: "folded before any", text: "HTTP/1.1 200 OK\r\n A: b\r\n\r\n", err: errFolded},
		{name: "folded control character", text: "HTTP/1.1 200 OK\r\nA: b\r\n \x01\r\n\r\n", err: errFieldValue},
		{name: "NUL", text: "HTTP/1.1 200 OK\r\nA: b\x00c\r\n\r\n", err: errFieldValue},
		{name: "bare CR", text: "HTTP/1.1 200 OK\r\nA: b\rc: d\r\n\r\n", err: errBareCR},
		{name: "length of words", text: "HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\n", err: errLength},
		{name: "negative length", text: "HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\n", err: errLength},
		{name: "signed length", text: "HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nhi", err: errLength},
		{name: "empty length", text: "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n", err: errLength},
		{name: "huge length", text: "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n", err: errLength},
		{name: "two lengths", text: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nhi", err: errLengths},
		{name: "list of lengths", text: "HTTP/1.1 200 OK\r\nContent-Length: 2, 3\r\n\r\nhi", err: errLengths},
		{name: "both framings", text: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", err: errBothFramings},
		{name: "chunked twice", text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", err: errCoding},
		{name: "chunked first", text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: gzip\r\n\r\n0\r\n\r\n", err: errCoding},
		{name: "chunked in 1.0", text: "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", err: errOldCoding},
		{name: "chunk of words", text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", err: errChunkSize},
		{name: "negative chunk", text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-2\r\nhi\r\n", err: errChunkSize},
		{name: "0x chunk", text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0x2\r\nhi\r\n", err: errChunkSize},
		{name: "chunk of no size", text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n;a\r\nhi\r\n", err: errChunkSize},
		{name: "huge chunk", text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n", err: errChunkSize},
		{name: "bare LF behind a chunk", text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\nhi\r\n", err: errChunkSize},
		{name: "long chunk", text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhiho\r\n", err: errChunkEnd},
		{name: "long extension", text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;" + strings.Repeat("x", big), err: errChunkSize},
		{name: "204 with a body", text: "HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\nhi", err: errNoBody},
		{name: "100 with a body", text: "HTTP/1.1 100 Continue\r\nContent-Length: 2\r\n\r\nhi", err: errNoBody},
		{name: "101", text: "HTTP/1.1 101 Switching Protocols\r\n\r\n", err: errSwitched},
		{name: "endless interim", text: strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", 101), err: errInterim},
		{name: "too much body", text: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhiho", err: errBehind},
		{name: "body of HEAD", head: true, text: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", err: errBehind},
		{name: "endless header", text: "HTTP/1.1 200 OK\r\n" + strings.Repeat("A: b\r\n", big), err: errTooLarge},
		{name: "endless line", text: "HTTP/1.1 200 OK\r\nA: " + strings.Repeat("x", big), err: errTooLarge},
		{name: "endless status line", text: "HTTP/1.1 200 " + strings.Repeat("x", big), err: errTooLarge},
		{name: "endless trailers", text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + strings.Repeat("A: b\r\n", big), err: errTooLarge},
	}
	for _, test := range tests {
		for _, piece := range []int{len(test.text), 1, 7, 4096} {
			if piece > len(test.text) || piece < 100 && len(test.text) > 100_000 {
				continue
			}
			a := &answer{old: test.old}
			a.reset(test.head, nil)
			complete, err := inPieces(a, test.text, piece)
			if err == nil && !complete {
				if test.ends && a.ended() {
					complete = true
				} else {
					err = io.ErrUnexpectedEOF
				}
			}
			if piece == 1 && test.err == errBehind {
				continue // what comes later belongs to nothing
			}
			if !errors.Is(err, test.err) {
				t.Errorf("%s in pieces of %d: %v, want %v", test.name, piece, err, test.err)
				continue
			}
			if err == nil && (a.Status != test.status || a.Body != test.body || a.reusable() != test.reuse) {
				t.Errorf("%s in pieces of %d: status %d, body %d, reusable %v; want %d, %d, %v",
					test.name, piece, a.Status, a.Body, a.reusable(), test.status, test.body, test.reuse)
			}
		}
	}
}

// inPieces has text read until it is complete or wrong.
func inPieces(a *answer, text string, piece int) (bool, error) {
	for len(text) > 0 {
		n := min(piece, len(text))
		complete, err := a.read([]byte(text[:n]))
		if complete || err != nil {
			return complete, err
		}
		text = text[n:]
	}
	return false, nil
}

// The body that is expected is compared as it comes.
func TestExpectedBody(t *testing.T) {
	for _, test := range []struct {
		body    string
		differs bool
	}{{"hello", false}, {"hellO", true}, {"hell", true}, {"hello!", true}, {"", true}} {
		for _, piece := range []int{1, 100} {
			a := &answer{}
			a.reset(false, []byte("hello"))
			if _, err := inPieces(a, "HTTP/1.1 200 OK\r\n\r\n"+test.body, piece); err != nil || !a.ended() {
				t.Fatal(err)
			}
			if a.Differs != test.differs {
				t.Errorf("%q differs: %v, want %v", test.body, a.Differs, test.differs)
			}
		}
	}
}

// What is read does not depend on how it comes in pieces, nor is more kept than the limits say. Where both take an answer,
// it is what net/http makes of it.
func FuzzAnswer(f *testing.F) {
	f.Add("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", false, uint8(3))
	f.Add("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x\r\nhello\r\n0\r\nA: b\r\n\r\n", false, uint8(1))
	f.Add("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 404 Not Found\r\n\r\nhello", false, uint8(2))
	f.Add("HTTP/1.1 304 x\r\nContent-Length: 1, 1\r\n\r\n", true, uint8(5))
	f.Fuzz(func(t *testing.T, text string, head bool, piece uint8) {
		whole, parts := &answer{}, &answer{}
		whole.reset(head, nil)
		parts.reset(head, nil)
		done, err := inPieces(whole, text, len(text))
		done2, err2 := inPieces(parts, text, int(piece)+1)
		if cap(parts.partial) > 4*maxLine {
			t.Fatalf("%d bytes were kept", cap(parts.partial))
		}
		if errors.Is(err, errBehind) {
			return // only in one piece
		}
		if done != done2 || (err == nil) != (err2 == nil) || err == nil && (whole.Status != parts.Status || whole.Body != parts.Body || whole.reusable() != parts.reusable()) {
			t.Fatalf("in one piece: %v, %v, status %d, body %d; in pieces: %v, %v, status %d, body %d",
				done, err, whole.Status, whole.Body, done2, err2, parts.Status, parts.Body)
		}
		if !done {
			return
		}
		method := "GET"
		if head {
			method = "HEAD"
		}
		in := bufio.NewReader(strings.NewReader(text))
		for {
			res, err := http.ReadResponse(in, &http.Request{Method: method})
			if err != nil {
				return // it is strict about other things
			}
			if res.StatusCode < 200 {
				continue
			}
			n, err := io.Copy(io.Discard, res.Body)
			if err == nil && (res.StatusCode != whole.Status || n != whole.Body) {
				t.Fatalf("status %d, body %d; net/http says %d, %d", whole.Status, whole.Body, res.StatusCode, n)
			}
			return
		}
	})
}

// Reading an answer costs no memory.
func TestAnswerAllocates(t *testing.T) {
	a := &answer{}
	text := []byte("HTTP/1.1 200 OK\r\nServer: x\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\n2\r\nhi\r\n0\r\n\r\n")
	if n := testing.AllocsPerRun(100, func() {
		a.reset(false, nil)
		a.read(text[:20])
		if ok, err := a.read(text[20:]); !ok || err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("an answer allocates %v times", n)
	}
}

func BenchmarkAnswer(b *testing.B) {
	a := &answer{}
	text := []byte("HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nDate: Sat, 21 Nov 2026 21:46:33 GMT\r\nContent-Type: text/plain\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nhi")
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		a.reset(false, nil)
		if ok, err := a.read(text); !ok || err != nil {
			b.Fatal(err)
		}
	}
}
