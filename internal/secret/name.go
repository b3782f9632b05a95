package secret

import (
	"slices"
	"strings"
)

// inNames are what names of secrets have in them, whatever stands around it. Names are in lower case here, without - and _.
var inNames = []string{
	"password", "passwd", "passphrase", "secret", "apikey", "authorization", "credential",
	"privatekey", "accesskey", "signingkey", "encryptionkey", "authkey", "sharedkey", "masterkey", "accountkey",
	"sessionid", "sessid", "sessionkey", "sessiontoken",
}

// words are the names of secrets that have to be words of their own, or the end of one: token and accesstoken, but not tokenizer.
var (
	words   = []string{"token", "cookie", "cookies", "session", "pwd", "jwt", "bearer", "otp", "totp", "psk", "signature", "sig", "csrf", "xsrf"}
	endings = []string{"token", "cookie", "cookies", "pwd", "jwt"}
)

// about are words behind those that make it something about a secret: --token-file, cookie_name, session-timeout.
var about = []string{
	"file", "files", "filename", "path", "dir", "folder", "name", "names", "count", "limit", "size", "len", "length", "ttl", "timeout", "expiry", "expires",
	"expiration", "age", "type", "kind", "enabled", "required", "max", "min", "bucket", "store", "provider", "policy", "rate", "header", "domain",
	"version", "format", "alg", "algorithm", "bits", "index", "pos", "position", "line", "column", "offset", "duration", "state", "status", "mode", "go",
	"manager", "handler", "parser", "func", "cache", "endpoint", "host", "port", "url", "uri", "ns", "us", "ms", "seconds", "errors",
}

// Name reports whether what has this name is a secret: a flag, a variable, a key of JSON, a parameter, a header, a label.
func Name(name string) bool {
	if len(name) > maxName {
		return false
	}
	parts := split(name)
	if len(parts) == 0 || len(parts) > 1 && slices.Contains(about, parts[len(parts)-1]) {
		return false
	}
	joined := strings.Join(parts, "")
	for _, in := range inNames {
		if strings.Contains(joined, in) {
			return true
		}
	}
	for i, w := range parts {
		switch {
		case slices.Contains(words, w):
			return true
		case w == "pass" && i > 0 && slices.Contains([]string{"db", "user", "smtp", "mysql", "pg", "redis", "my", "login", "admin", "root", "proxy"}, parts[i-1]):
			return true // and not the pass of a compiler
		case w == "tokens" && i > 0 && slices.Contains([]string{"access", "api", "auth", "refresh", "bearer"}, parts[i-1]):
			return true // and not those that a language model takes
		}
	}
	return slices.ContainsFunc(endings, func(end string) bool { return strings.HasSuffix(joined, end) })
}

// maxName is how long the name of anything is.
const maxName = 200

// isAuth reports whether a name may be that of a user and a password.
func isAuth(name string) bool {
	parts := split(name)
	return len(parts) > 0 && parts[len(parts)-1] == "auth" || name == "userpass"
}

// isIdentity reports whether a name is that of something that is long and random, and no secret.
func isIdentity(name string) bool {
	parts := split(name)
	if len(parts) == 0 {
		return false
	}
	last := parts[len(parts)-1]
	return slices.Contains([]string{
		"id", "ids", "uuid", "guid", "hash", "digest", "checksum", "sum", "sha", "sha1", "sha256", "sha512", "md5", "etag", "revision", "commit", "build",
		"version", "path", "file", "dir", "pkg", "package", "module", "func", "function", "image",
	}, last) || strings.HasSuffix(last, "id") && len(last) > 3
}

// isTest reports whether a name is that of a flag or a label with names of tests and benchmarks.
func isTest(name string) bool {
	parts := split(name)
	return len(parts) > 0 && slices.Contains([]string{"benchmark", "bench", "test", "run", "skip"}, parts[len(parts)-1])
}

// isWord reports whether a text may be the name of a flag or a variable.
func isWord(s string) bool {
	return s != "" && len(s) <= maxName && strings.IndexFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.')
	}) < 0
}

// split returns the words of a name in lower case: accessToken, access_token and Access-Token have two.
func split(name string) []string {
	var out []string
	start := -1
	cut := func(end int) {
		if start >= 0 && start < end {
			out = append(out, strings.ToLower(name[start:end]))
		}
		start = -1
	}
	for i := range len(name) {
		c := name[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter {
			cut(i)
			continue
		}
		upper := c >= 'A' && c <= 'Z'
		// A word begins at an upper letter behind a lower one, and at the last of several that is in front of a lower one.
		if upper && start >= 0 && (!isUpper(name[i-1]) || i+1 < len(name) && name[i+1] >= 'a' && name[i+1] <= 'z') {
			cut(i)
		}
		if start < 0 {
			start = i
		}
	}
	cut(len(name))
	return out
}

func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }
