package source

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/scratch"
	"github.com/hone-perf/hone/internal/store"
	"github.com/hone-perf/hone/internal/unit"
)

// StorePrefix begins refs to profiles in a store, as in store:api@-1h.
const StorePrefix = store.RefPrefix

// Where the store is, and what one may do there.
const (
	StoreVariable = "HONE_STORE"
	TokenVariable = "HONE_TOKEN"
	caVariable    = "HONE_CA" // a file of certificate authorities to trust, beside those of the system
	UsualStore    = "http://127.0.0.1:4040"
)

// JSON is the media type by which programs ask for what they read, also where it is an error.
const JSON = "application/json"

// storeProfile is the path of profiles of one kind, below the address of a store.
const storeProfile = "api/v1/profile"

// maxStored bounds a recording that a store sends.
const maxStored = 1 << 30

// storePatience is how long a store may take to add up a selection.
const storePatience = 2 * time.Minute

// AskStore sends a request to the store at base, or at the usual place when that is "": path is below its address, and body may be nil. The
// answer has the status OK.
func AskStore(ctx context.Context, base, method, path string, q url.Values, body io.Reader) (*http.Response, error) {
	return askStore(ctx, cmp.Or(base, ownStore()), ownToken(), method, path, q, body)
}

// caHint says what caVariable is for.
func caHint() hint.Text {
	return hint.Text{caVariable + " names a file with the certificate of the authority to trust, in PEM form"}
}

// ownStore is the address of the store of this user.
func ownStore() string { return cmp.Or(os.Getenv(StoreVariable), UsualStore) }

// stores is how stores are asked.
var stores = sync.OnceValues(func() (*http.Transport, error) { return transport(os.Getenv(caVariable)) })

// transport returns a way to ask stores that trusts the authorities in a file, too, if it is not "". The time for an answer begins when all has been sent,
// however long that took.
func transport(ca string) (*http.Transport, error) {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.ResponseHeaderTimeout = storePatience
	if ca == "" {
		return t, nil
	}
	pem, err := os.ReadFile(ca)
	if err != nil {
		return nil, hint.Errorf(caHint(), "reading the certificate authorities that %s names: %w", caVariable, err)
	}
	all, err := x509.SystemCertPool()
	if err != nil {
		all = x509.NewCertPool()
	}
	if !all.AppendCertsFromPEM(pem) {
		return nil, hint.Errorf(caHint(), "reading the certificate authorities that %s names: there is no certificate in PEM form in %s", caVariable, ca)
	}
	t.TLSClientConfig = &tls.Config{RootCAs: all}
	return t, nil
}

func askStore(ctx context.Context, base, token, method, path string, q url.Values, body io.Reader) (*http.Response, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, hint.Errorf(hint.Text{"an address looks like ", UsualStore}, "%q is not the address of a store", base)
	}
	u = u.JoinPath(path)
	u.RawQuery = q.Encode()
	ctx, stop := context.WithCancel(ctx)
	req, err := http.NewRequestWithContext(ctx, method, u.String(), body)
	if err != nil {
		stop()
		return nil, err
	}
	if f, ok := body.(*os.File); ok {
		if st, err := f.Stat(); err == nil && st.Mode().IsRegular() {
			req.ContentLength = st.Size() // so that too much is refused before it is sent
		}
	}
	req.Header.Set("Accept", JSON)
	if strings.ContainsFunc(token, unicode.IsControl) {
		stop()
		return nil, hint.Errorf(hint.Text{TokenVariable + " has the token as ", hint.Command{Verb: "serve token"}, " printed it, on one line"}, "%s is not a token", TokenVariable)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	way, err := stores()
	if err != nil {
		stop()
		return nil, err
	}
	client := http.Client{Transport: way}
	resp, err := client.Do(req)
	server := u.Scheme + "://" + u.Host
	if errors.Is(err, syscall.ECONNREFUSED) {
		stop()
		return nil, hint.Errorf(hint.Text{hint.Command{Verb: "serve"}, " starts one; " + StoreVariable + " names another"}, "no store answers at %s", server)
	}
	if err != nil {
		stop()
		var why *url.Error
		if errors.As(err, &why) {
			err = why.Err // its address has the question, too
		}
		return nil, hint.Errorf(nextFor(err, u), "asking the store at %s: %w", server, err)
	}
	resp.Body = keepMoving(resp.Body, stop, u, usualStall)
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotFound && resp.Header.Get("Content-Type") == JSON {
		none := &nothingAnswer{&store.Found{}}
		if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(none.found); err == nil {
			return nil, none
		}
	}
	words, _ := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	said := strings.TrimSpace(string(words))
	if resp.StatusCode == http.StatusNotFound && (strings.HasPrefix(said, "404 page not found") || strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html")) {
		return nil, hint.Errorf(hint.Text{"is it ", hint.Command{Verb: "serve"}, ", and in this version?"}, "the server at %s is not a hone store: it has no /%s", server, strings.TrimPrefix(u.Path, "/"))
	}
	var told struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(words, &told) == nil && told.Error != "" {
		said = told.Error
	}
	why := fmt.Errorf("the store at %s: %s", u.Host, cmp.Or(said, resp.Status))
	if resp.StatusCode == http.StatusBadRequest && u.Scheme == "http" && strings.Contains(said, "HTTP request to an HTTPS server") { // as package http says it
		return nil, hint.Errorf(hint.Text{"the address of this store is https://" + u.Host}, "%w", why)
	}
	if resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden {
		return nil, hint.Errorf(tokenHint(token, resp.StatusCode), "%w", why)
	}
	return nil, why
}

// nextFor says what to do where there is no answer.
func nextFor(err error, at *url.URL) hint.Text {
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	switch {
	case errors.As(err, &unknown):
		return caHint()
	case errors.As(err, &name):
		return hint.Text{"the address of the store has to have a name that is in its certificate"}
	case errors.Is(err, http.ErrSchemeMismatch):
		return hint.Text{"the address of this store is http://" + at.Host}
	}
	return hint.Text{StoreVariable + " names the store, such as " + UsualStore}
}

// tokenHint says what to do where a store wants another token.
func tokenHint(token string, status int) hint.Text {
	tokens := hint.Command{Verb: "serve token"}
	switch {
	case token == "" && ownToken() != "":
		return hint.Text{"the token in " + TokenVariable + " is only sent to the address in " + StoreVariable}
	case token == "":
		return hint.Text{"put a token into " + TokenVariable + "; ", tokens, " makes one, on the machine of the store"}
	case status == http.StatusForbidden:
		return hint.Text{tokens, " makes one that may, on the machine of the store"}
	}
	return hint.Text{TokenVariable + " has a different one; ", tokens.With("list", ""), " lists those that are known, on the machine of the store"}
}

// inStore matches refs to profiles in a store that say where it is, as in https://profiles.example.com/store:api@-1h.
var inStore = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(https?://[^?#{}"]+?)/(store:.+)$`) })

// storeRef takes a ref to profiles in a store apart into the address of the store, which is "" for the one of this user, and what is selected there.
// ok is false when ref names something else.
func storeRef(ref string) (base, name string, ok bool) {
	if name, ok := strings.CutPrefix(ref, StorePrefix); ok {
		return "", name, !exists(ref)
	}
	if !strings.HasPrefix(ref, "http://") && !strings.HasPrefix(ref, "https://") {
		return "", "", false
	}
	if m := inStore().FindStringSubmatch(ref); m != nil {
		name = m[2]
		if plain, err := url.PathUnescape(name); err == nil && !strings.ContainsAny(name, "{\" ") {
			name = plain // copied from where addresses are escaped
		}
		return m[1], strings.TrimPrefix(name, StorePrefix), true
	}
	// The address of a page about what is selected.
	u, err := url.Parse(ref)
	if err != nil || u.Host == "" {
		return "", "", false
	}
	refs := u.Query()["ref"]
	if len(refs) != 1 || !strings.HasPrefix(refs[0], StorePrefix) {
		return "", "", false
	}
	u.Path = u.Path[:strings.LastIndexByte(u.Path, '/')+1]
	return strings.TrimSuffix(u.Scheme+"://"+u.Host+u.EscapedPath(), "/"), strings.TrimPrefix(refs[0], StorePrefix), true
}

// Names returns what a store knows that begins with prefix: names of labels of a service, or values of a label where one is given. Whoever types does not
// wait for long, so there are none when the store does not answer before ctx ends.
func Names(ctx context.Context, base, service, label, prefix string) []string {
	token := ownToken()
	if base != "" {
		token = tokenFor(base, "")
	}
	q := url.Values{"service": {service}, "label": {label}, "prefix": {prefix}}
	resp, err := askStore(ctx, cmp.Or(base, ownStore()), token, http.MethodGet, "api/v1/names", q, nil)
	if err != nil {
		return nil
	}
	defer resp.Body.Close()
	var answer struct{ Names []string }
	if json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&answer) != nil {
		return nil
	}
	return answer.Names
}

// IsStored reports whether ref names profiles in a store.
func IsStored(ref string) bool {
	_, _, ok := storeRef(ref)
	return ok
}

// stored opens what a ref names in a store, as a recording.
func stored(ctx context.Context, ref, base, name string) (*recording.Recording, error) {
	resp, err := selectStored(ctx, ref, base, name)
	if err != nil {
		return nil, err
	}
	return received(ref, resp, nil)
}

// selectStored asks a store for the recording of what a ref names.
func selectStored(ctx context.Context, ref, base, name string) (*http.Response, error) {
	at, err := store.ParseRef(name, time.Now())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", profile.Shorten(ref, 200), err)
	}
	token := ownToken()
	if base != "" {
		token = tokenFor(base, "")
	}
	// Times are those of this machine, and not of that of the store.
	resp, err := askStore(ctx, cmp.Or(base, ownStore()), token, http.MethodGet, "api/v1/recording", url.Values{"ref": {at.String()}}, nil)
	prefix := StorePrefix
	if base != "" {
		prefix = base + "/" + StorePrefix
	}
	if none, ok := nothingOf(at, prefix, cmp.Or(base, ownStore()), err); ok {
		return nil, fmt.Errorf("%s: %w", ref, none)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ref, err)
	}
	return resp, nil
}

// received opens a recording that a server sends.
func received(ref string, resp *http.Response, err error) (*recording.Recording, error) {
	file, err := download(ref, resp, err)
	if err != nil {
		return nil, err
	}
	r, err := recording.Open(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ref, err)
	}
	return r.Named(ref), nil
}

// download puts what a server sends into a temporary file.
func download(ref string, resp *http.Response, err error) (file string, _ error) {
	if err != nil {
		return "", fmt.Errorf("%s: %w", ref, err)
	}
	defer resp.Body.Close()
	dir, err := scratch.Files("store")
	if err != nil {
		return "", err
	}
	f, err := os.CreateTemp(dir, "stored-*.hone")
	if err != nil {
		return "", err
	}
	n, err := io.Copy(f, io.LimitReader(resp.Body, maxStored+1))
	if err = errors.Join(err, f.Close()); err == nil && n > maxStored {
		err = fmt.Errorf("the answer of the store has more than %s", unit.Size(maxStored))
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", ref, err)
	}
	return f.Name(), nil
}

// Save writes what a ref names in a store as the file of a recording.
func Save(ctx context.Context, ref string, w io.Writer) error {
	base, name, ok := storeRef(ref)
	if !ok {
		return fmt.Errorf("%s does not name anything in a store", ref)
	}
	resp, err := selectStored(ctx, ref, base, name)
	if err != nil {
		return err
	}
	file, err := download(ref, resp, nil)
	if err != nil {
		return err
	}
	r, err := recording.Open(file)
	if err != nil {
		return fmt.Errorf("%s: %w", ref, err)
	}
	r.Close()
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}

// sharedLink is the form of links to recordings on the shelf of a server: its address, an ID, and perhaps a time.
var sharedLink = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(https?://[^?#]+)/shelf/([a-z2-7]{20})(?:\.hone)?/?(?:@(.*))?$`)
})

// Unshare deletes what a link, or an ID alone, names on the shelf of a server: that of the link, that at base, or that at the usual place.
func Unshare(ctx context.Context, base, link string) error {
	m := sharedLink().FindStringSubmatch(link)
	if m == nil || m[3] != "" {
		if m = sharedLink().FindStringSubmatch(cmp.Or(base, ownStore()) + "/shelf/" + link); m == nil || strings.Contains(link, "/") {
			return hint.Errorf(hint.Text{hint.Command{Verb: "shelf"}, " lists them"}, "%q is not a link to a recording", link)
		}
		m[1] = cmp.Or(base, ownStore())
	}
	resp, err := askStore(ctx, m[1], tokenFor(m[1], base), http.MethodDelete, "api/v1/shelf/"+m[2], nil, nil)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// ownToken returns the token of the user, without the end of the line of a file that it was read from.
func ownToken() string { return strings.TrimSpace(os.Getenv(TokenVariable)) }

// tokenFor returns the token, if a server is that of this user, or one that was named for that. Others could keep it.
func tokenFor(server, named string) string {
	if sameServer(server, ownStore()) || sameServer(server, named) {
		return ownToken()
	}
	return ""
}

// StoreAddress returns the address of what is at a path of the store at base, or of that at the usual place when that is "".
func StoreAddress(base, path string) string {
	return strings.TrimSuffix(cmp.Or(base, ownStore()), "/") + path
}

// IsShared reports whether ref is a link to a recording on the shelf of a server.
func IsShared(ref string) bool { return sharedLink().MatchString(ref) }

// shared opens the recording that a link leads to.
func shared(ctx context.Context, ref string) (r *recording.Recording, at query.Span, err error) {
	link := sharedLink().FindStringSubmatch(ref)
	if times := link[3]; times != "" {
		var ok bool
		if at, ok = query.ParseTimes(times); !ok {
			return nil, at, fmt.Errorf("%s: %q is not a time; want one such as 12s or 3s..9s", ref, times)
		}
		ref = strings.TrimSuffix(ref, "@"+times)
	}
	resp, err := askStore(ctx, link[1], tokenFor(link[1], ""), http.MethodGet, "shelf/"+link[2]+".hone", nil, nil)
	r, err = received(ref, resp, err)
	return r, at, err
}

func sameServer(a, b string) bool {
	x, err := url.Parse(a)
	if err != nil {
		return false
	}
	y, err := url.Parse(b)
	return err == nil && x.Scheme == y.Scheme && strings.EqualFold(x.Host, y.Host)
}
