//go:build live || nightly

package clickhouse

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/store"
	"github.com/hone-perf/hone/internal/store/storetest"
	"github.com/hone-perf/hone/internal/testrun"
)

// engine is the program of tools/chdb. Tests that need it fail where it can't be had.
var engine = sync.OnceValues(func() (string, error) {
	built = true
	dir, err := os.MkdirTemp("", "hone-chdb")
	if err != nil {
		return "", err
	}
	program := filepath.Join(dir, "chdb")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir = filepath.Join("..", "..", "..", "tools", "chdb")
	if out, err := build.CombinedOutput(); err != nil {
		return dir, fmt.Errorf("building tools/chdb: %w\n%s", err, out)
	}
	if out, err := exec.Command(program, "-fetch").CombinedOutput(); err != nil {
		return dir, fmt.Errorf("fetching the engine of ClickHouse: %w\n%s", err, out)
	}
	return dir, nil
})

var built bool // engine was called

func TestMain(m *testing.M) {
	code := m.Run()
	if shared != nil {
		shared.kill()
		os.RemoveAll(shared.dir)
	}
	if built {
		dir, _ := engine()
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// A server is a ClickHouse that can be killed and started again.
type server struct {
	dir, address string
	process      *exec.Cmd
}

// start starts a server with the data of a folder, at an address or at any free one.
func start(t testing.TB, dir, address string) *server {
	t.Helper()
	if runtime.GOOS+"/"+runtime.GOARCH != "linux/amd64" {
		testrun.Unable(t, "the engine of ClickHouse that tests use is for linux/amd64")
	}
	dirOfEngine, err := engine()
	if err != nil {
		testrun.Missing(t, "%v", err)
	}
	s := &server{dir: dir, process: exec.Command(filepath.Join(dirOfEngine, "chdb"), "-data", dir, "-listen", address)}
	out, err := s.process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.process.Stderr = os.Stderr
	if err := s.process.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		s.kill()
		t.Fatalf("the server says no address: %v", err)
	}
	s.address = strings.TrimSpace(line)
	return s
}

func (s *server) kill() {
	s.process.Process.Kill()
	s.process.Wait()
}

// shared is the server of those tests that do not stop it.
var (
	shared    *server
	databases atomic.Int64
)

// anyServer returns a server that runs until all tests are done.
func anyServer(t testing.TB) *server {
	t.Helper()
	if shared == nil {
		dir, err := os.MkdirTemp("", "hone-chdb-data")
		if err != nil {
			t.Fatal(err)
		}
		shared = start(t, dir, "127.0.0.1:0")
	}
	return shared
}

// openAt opens a store of a database on a server.
func openAt(t testing.TB, at, database string, now func() time.Time) *Store {
	t.Helper()
	a, err := ParseAddress("clickhouse://" + at + "/" + database + "?keep=0&hours=0&days=0")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), a, Options{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newDatabase() string { return fmt.Sprintf("test_%d", databases.Add(1)) }

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T, now func() time.Time) store.Store {
		s := withMemo(openAt(t, anyServer(t).address, newDatabase(), now))
		s.sumsFrom = 2
		return s
	}, "shuffled", "repeated") // of which TestRetries and TestServerKilled have both
}

func TestLevels(t *testing.T) {
	storetest.Levels(t, func(t *testing.T, now func() time.Time) store.Store {
		s := withMemo(openAt(t, anyServer(t).address, newDatabase(), now))
		s.sumsFrom = 2
		return s
	})
}
