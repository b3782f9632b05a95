package source

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/hone-perf/hone/internal/hint"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/scratch"
	"github.com/hone-perf/hone/internal/store"
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
	base = cmp.Or(base, os.Getenv(StoreVariable), UsualStore)
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, hint.Errorf(hint.Text{"an address looks like ", UsualStore}, "%q is not the address of a store", base)
	}
	u = u.JoinPath(path)
	u.RawQuery = q.Encode()
	req, err := http.NewRequest(method, u.String(), body)
	if err != nil {
		return nil, err
	}
	if token := os.Getenv(TokenVariable); token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	client := http.Client{Timeout: storePatience}
	resp, err := client.Do(req)
	if errors.Is(err, syscall.ECONNREFUSED) {
		return nil, hint.Errorf(hint.Text{hint.Command{Verb: "serve"}, " starts one; " + StoreVariable + " names another"}, "no store answers at %s", u.Scheme+"://"+u.Host)
	}
	if err != nil {
		return nil, fmt.Errorf("asking the store: %w", err)
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer resp.Body.Close()
	words, _ := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	why := fmt.Errorf("the store at %s: %s", u.Host, strings.TrimSpace(string(words)))
	if resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden {
		return nil, hint.Errorf(hint.Text{"put the token into " + TokenVariable}, "%w", why)
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
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ref, err)
	}
	defer resp.Body.Close()
	dir, err := scratch.Files("store")
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "stored.hone")
	f, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	n, err := io.Copy(f, io.LimitReader(resp.Body, maxStored+1))
	if err = errors.Join(err, f.Close()); err == nil && n > maxStored {
		err = fmt.Errorf("the answer of the store has more than %d bytes", maxStored)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ref, err)
	}
	r, err := recording.Open(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ref, err)
	}
	return r.Named(ref), nil
}
