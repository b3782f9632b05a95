package source

import (
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/hint"
)

// Where the scheme or the certificate of a store is not as expected, the error has the next step.
func TestSecureStores(t *testing.T) {
	answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "{}") })
	plain := httptest.NewServer(answer)
	defer plain.Close()
	secure := httptest.NewUnstartedServer(answer)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	host := strings.TrimPrefix(secure.URL, "https://")
	for _, c := range []struct{ base, err, hint string }{
		{secure.URL, "signed by unknown authority", "HONE_CA names a file with the certificate of the authority to trust, in PEM form"},
		{"http://" + host, "Client sent an HTTP request to an HTTPS server", "the address of this store is " + secure.URL},
		{"https://" + strings.TrimPrefix(plain.URL, "http://"), "server gave HTTP response to HTTPS client", "the address of this store is " + plain.URL},
	} {
		_, err := askStore(t.Context(), c.base, "", http.MethodGet, "api/v1/events", nil, nil)
		if err == nil || !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %v, want %s", c.base, err, c.err)
			continue
		}
		if got := hint.With(err).String(); !strings.Contains(got, c.hint) {
			t.Errorf("%s: %q, want the hint %q", c.base, got, c.hint)
		}
	}

	// The authority that HONE_CA names is trusted.
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	way, err := transport(file)
	if err != nil {
		t.Fatal(err)
	}
	defer way.CloseIdleConnections()
	resp, err := (&http.Client{Transport: way}).Get(secure.URL)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	for _, content := range []string{"", "no certificate"} {
		if content == "" {
			os.Remove(file)
		} else if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := transport(file); err == nil || !strings.Contains(fmt.Sprint(hint.With(err)), "HONE_CA names a file with the certificate") {
			t.Errorf("with %q: %v", content, err)
		}
	}
}
