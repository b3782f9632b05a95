package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/hone-perf/hone/internal/hint"
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
	UsualStore    = "http://127.0.0.1:4040"
)

// maxStored bounds a recording that a store sends.
const maxStored = 1 << 30

// storePatience is how long a store may take to add up a selection.
const storePatience = 2 * time.Minute

// AskStore sends a request to the store at base, or at the usual place when that is "": path is below its address, and body may be nil. The
// answer has the status OK.
func AskStore(base, method, path string, q url.Values, body io.Reader) (*http.Response, error) {
	return askStore(cmp.Or(base, ownStore()), os.Getenv(TokenVariable), method, path, q, body)
}

// ownStore is the address of the store of this user.
func ownStore() string { return cmp.Or(os.Getenv(StoreVariable), UsualStore) }

// stores is how stores are asked. The time for an answer begins when all has been sent, however long that took.
var stores = func() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.ResponseHeaderTimeout = storePatience
	return t
}()

func askStore(base, token, method, path string, q url.Values, body io.Reader) (*http.Response, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, hint.Errorf(hint.Text{"an address looks like ", UsualStore}, "%q is not the address of a store", base)
	}
	u = u.JoinPath(path)
	u.RawQuery = q.Encode()
	ctx, stop := context.WithCancel(context.Background())
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
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	client := http.Client{Transport: stores}
	resp, err := client.Do(req)
	if errors.Is(err, syscall.ECONNREFUSED) {
		stop()
		return nil, hint.Errorf(hint.Text{hint.Command{Verb: "serve"}, " starts one; " + StoreVariable + " names another"}, "no store answers at %s", u.Scheme+"://"+u.Host)
	}
	if err != nil {
		stop()
		return nil, fmt.Errorf("asking the store: %w", err)
	}
	resp.Body = keepMoving(resp.Body, stop, u, usualStall)
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer resp.Body.Close()
	words, _ := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	why := fmt.Errorf("the store at %s: %s", u.Host, cmp.Or(strings.TrimSpace(string(words)), resp.Status))
	if resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden {
		next := "put the token into " + TokenVariable
		if token == "" && os.Getenv(TokenVariable) != "" {
			next = "the token in " + TokenVariable + " is only sent to the address in " + StoreVariable
		}
		return nil, hint.Errorf(hint.Text{next}, "%w", why)
	}
	return nil, why
}

// stored opens what a ref names in a store, as a recording.
func stored(ref string) (*recording.Recording, error) {
	name := strings.TrimPrefix(ref, StorePrefix)
	at, err := store.ParseRef(name, time.Now())
	if err != nil {
		return nil, err
	}
	// Times are those of this machine, and not of that of the store.
	resp, err := AskStore("", http.MethodGet, "api/v1/recording", url.Values{"ref": {at.String()}}, nil)
	return received(ref, resp, err)
}

// received opens a recording that a server sends.
func received(ref string, resp *http.Response, err error) (*recording.Recording, error) {
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ref, err)
	}
	defer resp.Body.Close()
	dir, err := scratch.Files("store")
	if err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(dir, "stored-*.hone")
	if err != nil {
		return nil, err
	}
	n, err := io.Copy(f, io.LimitReader(resp.Body, maxStored+1))
	if err = errors.Join(err, f.Close()); err == nil && n > maxStored {
		err = fmt.Errorf("the answer of the store has more than %s", unit.Size(maxStored))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ref, err)
	}
	r, err := recording.Open(f.Name())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ref, err)
	}
	return r.Named(ref), nil
}

// sharedLink is the form of links to recordings on the shelf of a server: its address, an ID, and perhaps a time.
var sharedLink = regexp.MustCompile(`^(https?://[^?#]+)/shelf/([a-z2-7]{20})(?:\.hone)?/?(?:@(.*))?$`)

// Unshare deletes what a link, or an ID alone, names on the shelf of a server: that of the link, that at base, or that at the usual place.
func Unshare(base, link string) error {
	m := sharedLink.FindStringSubmatch(link)
	if m == nil || m[3] != "" {
		if m = sharedLink.FindStringSubmatch(cmp.Or(base, ownStore()) + "/shelf/" + link); m == nil || strings.Contains(link, "/") {
			return hint.Errorf(hint.Text{hint.Command{Verb: "shelf"}, " lists them"}, "%q is not a link to a recording", link)
		}
		m[1] = cmp.Or(base, ownStore())
	}
	resp, err := askStore(m[1], tokenFor(m[1], base), http.MethodDelete, "api/v1/shelf/"+m[2], nil, nil)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// tokenFor returns the token, if a server is that of this user, or one that was named for that. Others could keep it.
func tokenFor(server, named string) string {
	if sameServer(server, ownStore()) || sameServer(server, named) {
		return os.Getenv(TokenVariable)
	}
	return ""
}

// StoreAddress returns the address of what is at a path of the store at base, or of that at the usual place when that is "".
func StoreAddress(base, path string) string {
	return strings.TrimSuffix(cmp.Or(base, ownStore()), "/") + path
}

// IsShared reports whether ref is a link to a recording on the shelf of a server.
func IsShared(ref string) bool { return sharedLink.MatchString(ref) }

// shared opens the recording that a link leads to.
func shared(ref string) (r *recording.Recording, at query.Span, err error) {
	link := sharedLink.FindStringSubmatch(ref)
	if times := link[3]; times != "" {
		var ok bool
		if at, ok = query.ParseTimes(times); !ok {
			return nil, at, fmt.Errorf("%s: %q is not a time; want one such as 12s or 3s..9s", ref, times)
		}
		ref = strings.TrimSuffix(ref, "@"+times)
	}
	resp, err := askStore(link[1], tokenFor(link[1], ""), http.MethodGet, "shelf/"+link[2]+".hone", nil, nil)
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
