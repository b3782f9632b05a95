package main

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/load/loadtest"
	"github.com/hone-perf/hone/internal/testrun"
)

// everything returns all bytes in a recording, unpacked.
func everything(t *testing.T, file string) []byte {
	t.Helper()
	z, err := zip.OpenReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	var all bytes.Buffer
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		var from io.Reader = r
		if strings.HasSuffix(f.Name, ".gz") {
			if from, err = gzip.NewReader(r); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := io.Copy(&all, from); err != nil {
			t.Fatal(err)
		}
		all.WriteString("\n" + f.Name + "\n")
	}
	return all.Bytes()
}

// leakyProgram uses its secrets everywhere, and has none in its source.
const leakyProgram = `package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime/pprof"
	"runtime/trace"
	"time"
)

func main() {
	password := flag.String("password", "", "")
	db := flag.String("db", "", "")
	flag.Parse()
	fmt.Fprintln(os.Stderr, "connecting to", *db, "as", *password, "DB_PASSWORD="+os.Getenv("DB_PASSWORD"))
	labels := pprof.Labels("token", os.Getenv("DB_PASSWORD"), "request_id", "550e8400-e29b-41d4-a716-446655440000", "path", "/a?api_key="+*password)
	pprof.Do(context.Background(), labels, func(ctx context.Context) {
		trace.Log(ctx, "session_token", os.Getenv("DB_PASSWORD"))
		for start := time.Now(); time.Since(start) < time.Second; {
			fmt.Sprint(start)
		}
	})
	if flag.NArg() > 0 {
		panic("cannot use password=" + *password)
	}
}
`

// A secret is planted wherever a recording has texts, and is in none of its bytes; with --keep-secrets it is.
func TestRecordingsHoldNoSecrets(t *testing.T) {
	testrun.Live(t, "records programs, and compares")
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/leaky\n\ngo 1.24\n", "main.go": leakyProgram,
		"main_test.go": "package main\n\nimport \"testing\"\n\nvar token string\n\nfunc BenchmarkNothing(b *testing.B) {\n\tfor b.Loop() {\n\t}\n}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s, err := loadtest.Listen(loadtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	profiles := httptest.NewServer(mux)
	defer profiles.Close()
	t.Setenv("DB_PASSWORD", "zebra-crossing-77")
	withUser := func(url, password string) string { return strings.Replace(url, "://", "://bob:"+password+"@", 1) }
	for _, c := range []struct {
		name    string
		args    []string
		secrets []string
		stays   []string
	}{
		{
			"record", []string{"record", "--trace", ".", "--", "-password", "hunter2-is-it", "-db", "https://bob:swordfish9@example.com/x?sig=fishbone8"},
			[]string{"zebra-crossing-77", "hunter2-is-it", "swordfish9", "fishbone8"}, []string{"550e8400-e29b-41d4-a716-446655440000", "connecting to"},
		},
		{"server", []string{"record", "--for", "1s", withUser(profiles.URL, "swordfish9")}, []string{"swordfish9"}, []string{"bob"}},
		{
			"load", []string{
				"load", "-n", "3", "-H", "Authorization: Bearer rosebud-11", "-H", "X-Api-Key: open-sesame1", "--cookie", "id=monster22", "--body",
				`{"user":"alice","password":"hunter2-is-it"}`, s.URL + "/200?token=fishbone8&page=2",
			},
			[]string{"rosebud-11", "open-sesame1", "monster22", "hunter2-is-it", "fishbone8"}, []string{"alice", "page=2"},
		},
		{"auth", []string{"load", "-n", "3", "--auth", "bob:rosebud-11", s.URL + "/200"}, []string{"rosebud-11"}, nil},
		{
			"bench", []string{"bench", "-benchtime=1x", "-count=1", "--no-profile", "-ldflags=-X=example.com/leaky.token=rosebud-11", "."},
			[]string{"rosebud-11"}, []string{"BenchmarkNothing"},
		},
		{
			"compare", []string{"compare", "--budget", "1s", "--no-why", "--cmd", "true --token=rosebud-11", "--cmd", "true --token=open-sesame1"},
			[]string{"rosebud-11", "open-sesame1"}, nil,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, keep := range []bool{false, true} {
				file := filepath.Join(dir, c.name+".hone")
				args := append([]string{c.args[0], "-o", file}, c.args[1:]...)
				if keep {
					file = filepath.Join(dir, c.name+"-kept.hone")
					args = append([]string{c.args[0], "-o", file, "--keep-secrets"}, c.args[1:]...)
				}
				honeAt(t, dir, args...)
				all := everything(t, file)
				for _, secret := range c.secrets {
					if bytes.Contains(all, []byte(secret)) != keep {
						at := max(0, bytes.Index(all, []byte(secret)))
						t.Errorf("with --keep-secrets=%v: %s is there: %v (%.200q)", keep, secret, !keep, all[max(0, at-100):])
					}
				}
				for _, text := range c.stays {
					if !bytes.Contains(all, []byte(text)) {
						t.Errorf("with --keep-secrets=%v: %s is missing", keep, text)
					}
				}
				if st, err := os.Stat(file); runtime.GOOS != "windows" && (err != nil || st.Mode().Perm() != 0o600) {
					t.Errorf("the recording has the mode %v, error %v", st.Mode(), err)
				}
			}
		})
	}
}
