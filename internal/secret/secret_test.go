package secret_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hone-perf/hone/internal/secret"
)

const (
	jwt    = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
	random = "x9F2kLm8Qa7Zp3Rt5Yv1Bn6Wc4De0Gh2JsKu"
	block  = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA75\nabc=\n-----END RSA PRIVATE KEY-----"
)

func TestNamesOfSecrets(t *testing.T) {
	for name, want := range map[string]bool{
		"password": true, "PASSWD": true, "db-password": true, "PGPASSWORD": true, "MYSQL_PWD": true, "passphrase": true, "DB_PASS": true,
		"secret": true, "client_secret": true, "AWS_SECRET_ACCESS_KEY": true, "clientSecret": true,
		"token": true, "GITHUB_TOKEN": true, "accessToken": true, "accesstoken": true, "X-Auth-Token": true, "main.token": true, "access_tokens": true,
		"apikey": true, "api-key": true, "API_KEY": true, "X-Api-Key": true, "apiKey": true,
		"Authorization": true, "Proxy-Authorization": true, "Cookie": true, "Set-Cookie": true, "credentials": true,
		"private_key": true, "privateKey": true, "session": true, "session_id": true, "JSESSIONID": true, "X-Amz-Signature": true, "sig": true, "jwt": true,

		"request_id": false, "trace_id": false, "build_id": false, "user": false, "path": false, "file": false, "key": false, "hash": false,
		"tokenizer": false, "max_tokens": false, "tokens": false, "token_count": false, "token-file": false, "cookie_name": false, "session_timeout": false,
		"pass": false, "first_pass": false, "bypass": false, "author": false, "monkey": false, "tls-key": false, "token.go": false, "assign": false, "": false,
	} {
		if got := secret.Name(name); got != want {
			t.Errorf("Name(%q) = %v", name, got)
		}
	}
}

func TestSecretArgumentsAreReplaced(t *testing.T) {
	for _, c := range []struct{ in, want []string }{
		{[]string{"app", "--password=hunter2", "-v"}, []string{"app", "--password=…", "-v"}},
		{[]string{"app", "--api-key", "abc", "in.txt"}, []string{"app", "--api-key", "…", "in.txt"}},
		{[]string{"app", "-token", "abc"}, []string{"app", "-token", "…"}},
		{[]string{"app", "--token", "--verbose"}, []string{"app", "--token", "--verbose"}},
		{[]string{"env", "DB_PASSWORD=a b=c", "GOGC=50"}, []string{"env", "DB_PASSWORD=…", "GOGC=50"}},
		{[]string{"hone", "load", "-H", "Authorization: Bearer abc def"}, []string{"hone", "load", "-H", "Authorization: …"}},
		{[]string{"hone", "load", "-HX-Api-Key: abc", "--header=Cookie: a=1; b=2"}, []string{"hone", "load", "-HX-Api-Key: …", "--header=Cookie: …"}},
		{[]string{"hone", "load", "-H", "Accept: text/html"}, []string{"hone", "load", "-H", "Accept: text/html"}},
		{[]string{"hone", "load", "--auth", "bob:hunter2", "--cookie", "id=1"}, []string{"hone", "load", "--auth", "…", "--cookie", "…"}},
		{[]string{"hone", "load", "--body", `{"user":"bob","password":"hunter2","n":1}`}, []string{"hone", "load", "--body", `{"user":"bob","password":"…","n":1}`}},
		{[]string{"hone", "load", "--body", `user=bob&password=hunter2&n=1`}, []string{"hone", "load", "--body", `user=bob&password=…&n=1`}},
		{[]string{"app", "https://bob:hunter2@example.com/x?token=abc&n=1#access_token=abc"}, []string{"app", "https://bob:…@example.com/x?token=…&n=1#access_token=…"}},
		{[]string{"app", "-dsn", "bob:hunter2@tcp(db:3306)/x"}, []string{"app", "-dsn", "bob:…@tcp(db:3306)/x"}},
		{[]string{"app", random, block}, []string{"app", "…", "…\n\n\n"}},
		{[]string{"sh", "-c", "curl --token abc1 -H 'Cookie: a=1; b' http://x/"}, []string{"sh", "-c", "curl --token … -H 'Cookie: …' http://x/"}},
		{[]string{"app", "-ldflags=-X main.apiKey=abc -X main.version=1.2"}, []string{"app", "-ldflags=-X main.apiKey=… -X main.version=1.2"}},
		{[]string{"app", "-test.run=^TestDecodeXyZ9Aa8Bb7Cc6Dd5Ee4Ff3Gg2Hh1$", "--token-file", "/etc/token"}, []string{"app", "-test.run=^TestDecodeXyZ9Aa8Bb7Cc6Dd5Ee4Ff3Gg2Hh1$", "--token-file", "/etc/token"}},
		{[]string{"app", "http://localhost:8080/?request_id=" + random}, []string{"app", "http://localhost:8080/?request_id=" + random}},
		{[]string{}, []string{}},
	} {
		if got := new(secret.Hider).Args(c.in); !slices.Equal(got, c.want) {
			t.Errorf("Args(%q)\n got %q\nwant %q", c.in, got, c.want)
		}
		if got := (*secret.Hider)(nil).Args(c.in); !slices.Equal(got, c.in) {
			t.Errorf("nobody hides anything: Args(%q) = %q", c.in, got)
		}
	}
}

func TestTextsWithSecretsKeepTheRest(t *testing.T) {
	for in, want := range map[string]string{
		"login with " + jwt + " failed":                         "login with … failed",
		"ghp_0123456789abcdefghijABCDEFGHIJ":                    "…",
		"key AKIAIOSFODNN7EXAMPLE.":                             "key ….",
		"sk-proj-0123456789abcdefghij xoxb-1234567890-abcdefgh": "… …",
		"a\n" + block + "\nb":                                   "a\n…\n\n\n\nb",
		`{"key":"-----BEGIN PRIVATE KEY-----\nMIIEpAIBAAKCAQEA75\n-----END PRIVATE KEY-----\n"}`: `{"key":"…\n"}`,
		"GET /?a=1&api_key=abc HTTP/1.1":                             "GET /?a=1&api_key=… HTTP/1.1",
		"Authorization: Basic Ym9iOmh1bnRlcjI=\nAccept: */*":         "Authorization: …\nAccept: */*",
		"sent Bearer abcdef123456":                                   "sent Bearer …",
		"map[Authorization:[Bearer abc] Accept:[*/*]]":               "map[Authorization:[…] Accept:[*/*]]",
		"{User:bob Password:hunter2}":                                "{User:bob Password:…}",
		`time=1 msg="hi" token=abc n=2`:                              `time=1 msg="hi" token=… n=2`,
		`password = "a b" # x`:                                       `password = "…" # x`,
		`{\"token\":\"abc\",\"n\":1}`:                                `{\"token\":\"…\",\"n\":1}`,
		"password: hunter2":                                          "password: …",
		`# labels: {"token":"abc", "endpoint":"/a"}`:                 `# labels: {"token":"…", "endpoint":"/a"}`,
		"redis://:hunter2@db:6379/0":                                 "redis://:…@db:6379/0",
		"pinging postgres://app:pa/ss7Wq@db:5432/x failed":           "pinging postgres://app:…@db:5432/x failed",
		"to amqp://a:p?s#7@mq, http://a.b/@c":                        "to amqp://a:…@mq, http://a.b/@c",
		"redis://:p/w@db,redis://:y@db2":                             "redis://:…@db,redis://:…@db2",
		"mongodb://app:p/s@h1:27017,h2:27017/x":                      "mongodb://app:…@h1:27017,h2:27017/x",
		`{"password": 1234, "tokens": 5, "secret": null}`:            `{"password": …, "tokens": 5, "secret": null}`,
		"\xff password=hunter2 \xfe":                                 "\xff password=… \xfe",
		"already masked: https://bob:xxxxx@example.com/?token=…&n=1": "already masked: https://bob:xxxxx@example.com/?token=…&n=1",
	} {
		if got := new(secret.Hider).Text(in); got != want {
			t.Errorf("Text(%q)\n got %q\nwant %q", in, got, want)
		}
	}
}

func TestHarmlessTextStays(t *testing.T) {
	h := new(secret.Hider)
	for _, in := range []string{
		"panic: invalid token: unexpected end of input",
		"\t/home/bob/src/session/token.go:12 +0x1d",
		"main.(*Session).Token(0xc000123456, {0xc000, 0x10})",
		"goroutine 7 [chan receive, 3 minutes]:",
		"550e8400-e29b-41d4-a716-446655440000",
		"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
		"golang.org/x/tools@v0.0.0-20230103131024-0123456789ab",
		"h1:Cb+HdqDPBPGfjMxzTHA1xNYJHvdFD2L1u2iWDCNGnEM=",
		"/usr/local/go/src/internal/runtime/maps/runtime_fast64_swiss.go",
		"TestParserReadsVeryLongNamesWithManyWords2AndSha256Sums",
		"my-service-7d9f8b6c5d-x2k4z",
		"https://example.com/a/b?page=2&token_count=3",
		"http://host:80/path@x", "http://host:80?to=a@b.c", "http://[::1]:80/@x", "mongodb://h1:27017,h2:27017/x@y", "http://host/a:b@c", "file:///c:/a@b",
		"https://host:$PORT/x@y", "http://127.0.0.1:%d/@v", "http://host:/@x", "https://modules.example/github.com/a/b/@v/list", "see http://host:80/a@b, c:d@e",
		"-addr=localhost:8080", "git@github.com:hone-perf/hone.git",
		"max_tokens=4096 tokens=12 basic authentication is used",
		"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
		"token = scanner.Next()", "if password == other {",
		"BenchmarkEncode/size=1024-8   	 1000	 123 ns/op",
	} {
		if got := h.Plain(in); got != in {
			t.Errorf("Plain(%q) = %q", in, got)
		}
	}
	for name, value := range map[string]string{
		"request_id": random, "traceID": random, "build_id": random, "hash": random, "endpoint": "/checkout", "etag": random, "tokens": "4096", "token": "true",
		"password": "${PASSWORD}", "UPSTREAM": "http://host:80/path@x",
	} {
		if got := h.Pair(name, value); got != value {
			t.Errorf("Pair(%q, %q) = %q", name, value, got)
		}
	}
	if h.N != 0 {
		t.Errorf("%d were replaced", h.N)
	}
}

// TestPasswordsThatAreNotEscaped holds that they are found wherever a URL may be, with its password, and elsewhere from then on.
func TestPasswordsThatAreNotEscaped(t *testing.T) {
	for _, in := range []string{"postgres://app:pa/ss7Wq@db:5432/x", "postgres://app:pa?ss7Wq@db:5432/x", "postgres://app:pa#ss7Wq@db:5432/x"} {
		const want = "postgres://app:…@db:5432/x"
		for name, hide := range map[string]func(h *secret.Hider, s string) string{
			"Text": (*secret.Hider).Text, "Plain": (*secret.Hider).Plain, "URL": (*secret.Hider).URL,
			"Pair": func(h *secret.Hider, s string) string { return h.Pair("DATABASE_URL", s) },
		} {
			h := new(secret.Hider)
			if got := hide(h, in); got != want || h.N != 1 {
				t.Errorf("%s(%q) = %q, with %d replaced; want %q", name, in, got, h.N, want)
			}
		}
	}
}

func TestNamedSecretIsHiddenEverywhere(t *testing.T) {
	h := new(secret.Hider)
	h.Args([]string{"app", "--password", "correct-horse-1", "--session=production", "--pwd=ab1"})
	const in, want = `connect("db", "correct-horse-1") in production ab1`, `connect("db", "…") in production ab1`
	if got := h.Again(in); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if h.N != 4 {
		t.Errorf("%d were replaced, want 4", h.N)
	}
}

func FuzzHider(f *testing.F) {
	for _, s := range []string{
		"--token=abc", "https://a:b@c/?token=d#e", `{"password":"x\"y"}`, "Authorization: Bearer abcdefgh1", block, jwt, random,
		"postgres://a:b/c@d", "x://a:b?c@d/e@f://g:h#i@j",
		"Cookie: a=1; b=2", "password='a", `\"token\":\"abc`, "Secret:[a", "a:b@tcp(x)", "\xfftoken=\xff", "token token=token", "--pwd --pwd x",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		for name, hide := range map[string]func(string) string{
			"Text":   func(s string) string { return new(secret.Hider).Text(s) },
			"Plain":  func(s string) string { return new(secret.Hider).Plain(s) },
			"Known":  func(s string) string { return new(secret.Hider).Known(s) },
			"URL":    func(s string) string { return new(secret.Hider).URL(s) },
			"Header": func(s string) string { return new(secret.Hider).Header(s) },
			"Args":   func(s string) string { return strings.Join(new(secret.Hider).Args(strings.Split(s, "\x00")), "\x00") },
		} {
			once := hide(in)
			if a, b := utf8.RuneCountInString(once), utf8.RuneCountInString(in); a > b {
				t.Errorf("%s(%q) grew from %d to %d characters: %q", name, in, b, a, once)
			}
			if twice := hide(once); twice != once {
				t.Errorf("%s(%q) is %q, and %q when done again", name, in, once, twice)
			}
			if a, b := strings.Count(once, "\n"), strings.Count(in, "\n"); name == "Known" && a != b {
				t.Errorf("%s(%q) has %d lines in place of %d", name, in, a, b)
			}
		}
	})
}

// What a file holds must not take time without limit: twice as much text takes about twice the work, which allocations tell.
func TestWorkGrowsWithTheText(t *testing.T) {
	for _, piece := range []string{"a:b@tcp(", "http://a:b@c ", "token=", `"token":"`, "-----BEGIN A-----", "Bearer ", "eyJ", "ghp_", "--token ", "\xff", "Token:["} {
		cost := func(n int) float64 {
			text := strings.Repeat(piece, n)
			return testing.AllocsPerRun(1, func() { new(secret.Hider).Plain(text) })
		}
		if small, large := cost(2000), cost(4000); large > 3*small+100 {
			t.Errorf("%q: %.0f allocations for 2000, %.0f for 4000", piece, small, large)
		}
	}
}
