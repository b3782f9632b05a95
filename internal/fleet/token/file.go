// Package token says who may do what on a fleet server: tokens belong to tenants and have scopes.
//
// A File keeps them, of each no more than a hash. A Gate looks at requests: it finds the token that one carries, and refuses what
// that token does not allow, or what a page of somebody else sends.
package token

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/safefile"
)

// A Scope is a permission.
type Scope string

const (
	Write Scope = "write" // send profiles
	Read  Scope = "read"  // read profiles and answers
	Admin Scope = "admin" // everything, for all tenants
)

// Scopes are all scopes.
var Scopes = []Scope{Write, Read, Admin}

// DefaultTenant is the tenant of servers without tokens, and of tokens without a tenant.
const DefaultTenant = "default"

// A Token is the stored part of a token.
type Token struct {
	Name    string    `json:"name"`
	Tenant  string    `json:"tenant"`
	Scopes  []Scope   `json:"scopes"`
	Made    time.Time `json:"made"`
	Expires time.Time `json:"expires,omitzero"` // zero means never
	Hash    string    `json:"sha256"`           // SHA-256 of the secret, in hexadecimal
}

// Allows reports whether t includes s.
func (t *Token) Allows(s Scope) bool {
	return slices.Contains(t.Scopes, s) || slices.Contains(t.Scopes, Admin)
}

// Expired reports whether t has expired.
func (t *Token) Expired(now time.Time) bool { return !t.Expires.IsZero() && !now.Before(t.Expires) }

// Limits of a token file.
const (
	maxFile   = 4 << 20
	maxTokens = 10_000
	maxName   = 64
)

// prefix begins secrets, so that secret scanners recognize them.
const prefix = "hone_"

// A File is a file of tokens. It is read again after changes, so that servers see tokens of other processes.
type File struct {
	name string

	mu     sync.Mutex
	tokens []Token
	hashes [][]byte // of tokens
	stat   os.FileInfo
	there  bool // the file exists, or existed
}

// list is the contents of the file.
type list struct {
	Version int     `json:"version"`
	Tokens  []Token `json:"tokens"`
}

// Open reads a token file, which may not exist yet.
func Open(name string) (*File, error) {
	f := &File{name: name}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f, f.load()
}

// load reads the file if it has changed. After an error, the earlier tokens stay valid.
func (f *File) load() error {
	st, err := os.Stat(f.name)
	if errors.Is(err, fs.ErrNotExist) && !f.there {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading tokens: %w", err)
	}
	// A replaced file counts as changed, even with the same time and size.
	if f.stat != nil && os.SameFile(st, f.stat) && st.ModTime().Equal(f.stat.ModTime()) && st.Size() == f.stat.Size() {
		return nil
	}
	f.there = true
	in, err := os.Open(f.name)
	if err != nil {
		return fmt.Errorf("reading tokens: %w", err)
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	if err != nil {
		return fmt.Errorf("reading tokens: %w", err)
	}
	tokens, hashes, err := parse(text)
	if err != nil {
		return fmt.Errorf("reading tokens from %s: %w", f.name, err)
	}
	f.tokens, f.hashes, f.stat = tokens, hashes, st
	return nil
}

func parse(text []byte) ([]Token, [][]byte, error) {
	if len(text) > maxFile {
		return nil, nil, fmt.Errorf("the file is longer than %d bytes", maxFile)
	}
	var l list
	if err := json.Unmarshal(text, &l); err != nil {
		return nil, nil, err
	}
	if l.Version != 1 {
		return nil, nil, fmt.Errorf("it has version %d, and this hone knows 1", l.Version)
	}
	if len(l.Tokens) > maxTokens {
		return nil, nil, fmt.Errorf("it has %d tokens, more than %d", len(l.Tokens), maxTokens)
	}
	var hashes [][]byte
	names := map[string]bool{}
	for i := range l.Tokens {
		t := &l.Tokens[i]
		if err := t.check(); err != nil {
			return nil, nil, err
		}
		if names[t.Name] {
			return nil, nil, fmt.Errorf("two tokens have the name %s", t.Name)
		}
		names[t.Name] = true
		hash, err := hex.DecodeString(t.Hash)
		if err != nil || len(hash) != sha256.Size {
			return nil, nil, fmt.Errorf("token %s has no SHA-256 sum of 64 digits", t.Name)
		}
		hashes = append(hashes, hash)
	}
	return l.Tokens, hashes, nil
}

// check returns an error if the names in t are invalid or it has no scope.
func (t *Token) check() error {
	if err := CheckName("token", t.Name); err != nil {
		return err
	}
	if err := CheckName("tenant", t.Tenant); err != nil {
		return err
	}
	if len(t.Scopes) == 0 {
		return fmt.Errorf("token %s has no scope; the scopes are %s", t.Name, scopeNames())
	}
	for _, s := range t.Scopes {
		if !slices.Contains(Scopes, s) {
			return fmt.Errorf("token %s has the scope %q; the scopes are %s", t.Name, profile.Shorten(string(s), 40), scopeNames())
		}
	}
	return nil
}

func scopeNames() string {
	var names []string
	for _, s := range Scopes {
		names = append(names, string(s))
	}
	return strings.Join(names, ", ")
}

// CheckName returns an error if the name of a token or tenant has characters other than letters, digits and - _ . or begins with - or a dot.
func CheckName(what, name string) error {
	ok := name != "" && len(name) <= maxName && !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "-")
	for i := range len(name) {
		c := name[i]
		ok = ok && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.')
	}
	if !ok {
		return fmt.Errorf("%q is not a valid name for a %s: use at most %d letters, digits, and - _ . but no - or . at the start", profile.Shorten(name, 80), what, maxName)
	}
	return nil
}

// List returns the tokens, sorted by name.
func (f *File) List() ([]Token, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.load()
	out := slices.Clone(f.tokens)
	order.Stable(out, func(a, b Token) int { return strings.Compare(a.Name, b.Name) })
	return out, err
}

// Make adds a token and returns its secret, which is not stored.
func (f *File) Make(t Token) (secret string, err error) {
	t.Tenant = cmp.Or(t.Tenant, DefaultTenant)
	if err := t.check(); err != nil {
		return "", err
	}
	var random [32]byte
	rand.Read(random[:])
	secret = prefix + base64.RawURLEncoding.EncodeToString(random[:])
	hash := sha256.Sum256([]byte(secret))
	t.Hash = hex.EncodeToString(hash[:])
	t.Made = cmp.Or(t.Made, time.Now()).UTC().Truncate(time.Second)
	if !t.Expires.IsZero() {
		t.Expires = t.Expires.UTC().Truncate(time.Second)
		if !t.Expires.After(t.Made) {
			return "", fmt.Errorf("token %s would have expired before it was made, at %s", t.Name, t.Expires.Format(time.RFC3339))
		}
	}
	return secret, f.change(func(tokens []Token) ([]Token, error) {
		if slices.ContainsFunc(tokens, func(o Token) bool { return o.Name == t.Name }) {
			return nil, fmt.Errorf("there is a token %s already; revoke it first, or take another name", t.Name)
		}
		if len(tokens) >= maxTokens {
			return nil, fmt.Errorf("there are %d tokens, and no more fit", len(tokens))
		}
		return append(tokens, t), nil
	})
}

// ErrNone means that there is no token with this name.
var ErrNone = errors.New("no such token")

// Revoke deletes a token. Servers notice with the next request.
func (f *File) Revoke(name string) error {
	return f.change(func(tokens []Token) ([]Token, error) {
		i := slices.IndexFunc(tokens, func(t Token) bool { return t.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("revoking %q: %w", profile.Shorten(name, 80), ErrNone)
		}
		return slices.Delete(tokens, i, i+1), nil
	})
}

// change rewrites the file.
func (f *File) change(edit func([]Token) ([]Token, error)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.load(); err != nil {
		return err
	}
	tokens, err := edit(slices.Clone(f.tokens))
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(list{1, tokens}, "", "\t")
	if err != nil {
		return err
	}
	out, err := safefile.Replace(f.name)
	if err != nil {
		return err
	}
	// Make it readable by its owner only, regardless of the umask, before writing.
	err = out.Chmod(0o600)
	if err == nil {
		_, err = out.Write(append(text, '\n'))
	}
	if err != nil {
		out.Discard()
		return err
	}
	if err := out.Commit(); err != nil {
		return err
	}
	return f.load()
}

// find returns the token with a secret, in constant time.
func (f *File) find(secret string) (*Token, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.load()
	given := sha256.Sum256([]byte(secret))
	at := -1
	for i, hash := range f.hashes {
		if subtle.ConstantTimeCompare(hash, given[:]) == 1 {
			at = i
		}
	}
	if at < 0 {
		return nil, err
	}
	t := f.tokens[at]
	return &t, nil
}

// Guarded reports whether there are or were tokens: a server whose last token was revoked must refuse all requests, not allow all.
func (f *File) Guarded() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.load() != nil || f.there
}

// MayListen returns an error if a server that listens on addr would allow other machines to use it without a token.
func MayListen(addr string, f *File) error {
	if f.Guarded() || IsLoopback(addr) {
		return nil
	}
	return hint.Errorf(hint.Text{
		"make one with ", hint.Ask("serve token", "NAME").With("data", filepath.Dir(f.name)), ", or listen on 127.0.0.1",
	}, "%s can be reached from other machines, and there is no token in %s", addr, f.name)
}
