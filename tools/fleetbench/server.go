package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hone-perf/hone/internal/store"
)

// A server is a hone serve that runs.
type server struct {
	url  string
	data string
	cmd  *exec.Cmd
	with int // the process of its database, whose CPU time counts as well; 0 is none
}

// start starts a server on a folder, which may be there already.
func (b *bench) start(name string, more ...string) (*server, error) {
	s := &server{data: filepath.Join(b.dir, name)}
	s.cmd = exec.CommandContext(b.ctx, b.hone, append([]string{"serve", "--data", s.data, "--listen", "127.0.0.1:0"}, more...)...)
	s.cmd.Stderr = b.err
	out, err := s.cmd.StdoutPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	s.url = strings.TrimSpace(line)
	return s, err
}

// end ends the server, which writes all that it has to its folder.
func (s *server) end() {
	s.cmd.Process.Signal(syscall.SIGTERM)
	s.cmd.Wait() // its code says that it was ended
}

func (s *server) stop() error {
	s.end()
	return os.RemoveAll(s.data)
}

// cpu returns the CPU time that the server and its database have used.
func (s *server) cpu() time.Duration {
	sum := used(s.cmd.Process.Pid)
	if s.with != 0 {
		sum += used(s.with)
	}
	return sum
}

// used returns the CPU time that a process has used.
func used(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	f := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	user, _ := strconv.ParseInt(f[11], 10, 64)
	system, _ := strconv.ParseInt(f[12], 10, 64)
	return time.Duration(user+system) * 10 * time.Millisecond
}

// memory returns the most memory that the server has had, and what it has now.
func (s *server) memory() (most, now int64) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) == 3 && f[0] == "VmHWM:" {
			most, _ = strconv.ParseInt(f[1], 10, 64)
		}
		if len(f) == 3 && f[0] == "VmRSS:" {
			now, _ = strconv.ParseInt(f[1], 10, 64)
		}
	}
	return most << 10, now << 10
}

// size returns the bytes of the files of the store: those of the log, and all others.
func (s *server) size() (log, rest int64) {
	filepath.WalkDir(s.data, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil // a file that has gone
		}
		if info, err := d.Info(); err == nil {
			if strings.HasSuffix(name, ".wal") {
				log += info.Size()
			} else {
				rest += info.Size()
			}
		}
		return nil
	})
	return log, rest
}

// settle waits until all that is in the log is in segments, of which there is one for each hour.
func (s *server) settle(ctx context.Context) error {
	last, since := int64(-1), time.Now()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
		log, rest := s.size()
		if log+rest != last {
			last, since = log+rest, time.Now()
		}
		if log == 0 && time.Since(since) > 45*time.Second {
			return nil
		}
	}
}

// push sends a profile and returns how long that took.
func (s *server) push(client *http.Client, u *store.Upload) (time.Duration, error) {
	q := url.Values{"service": {u.Service}, "kind": {u.Kind}, "from": {u.Start.Format(time.RFC3339Nano)}, "until": {u.End.Format(time.RFC3339Nano)}}
	for _, l := range append(u.Labels, u.Row...) {
		q.Add("label", l.Name+"="+l.Value)
	}
	began := time.Now()
	resp, err := client.Post(s.url+"/api/v1/profiles?"+q.Encode(), "application/octet-stream", bytes.NewReader(u.Raw))
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	words, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, words)
	}
	return time.Since(began), err
}

// send sends profiles from many clients, and returns how many and how many bytes that were.
func (b *bench) send(s *server, uploads iter.Seq[*store.Upload], clients int) (profiles int, size int64, err error) {
	work := make(chan *store.Upload, 2*clients)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	var senders sync.WaitGroup
	var mu sync.Mutex
	for range clients {
		senders.Go(func() {
			for u := range work {
				for {
					_, pushed := s.push(client, u)
					if pushed == nil || b.ctx.Err() != nil {
						break
					}
					if strings.HasPrefix(pushed.Error(), "429") {
						time.Sleep(200 * time.Millisecond) // more than the server lets one tenant send
						continue
					}
					mu.Lock()
					err = errors.Join(err, pushed)
					mu.Unlock()
					break
				}
			}
		})
	}
	for u := range uploads {
		profiles++
		size += int64(len(u.Raw))
		if work <- u; b.ctx.Err() != nil {
			break
		}
	}
	close(work)
	senders.Wait()
	return profiles, size, errors.Join(err, b.ctx.Err())
}
