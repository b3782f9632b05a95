package capture

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hone-perf/hone/internal/recording"
)

// beside are figures of a program that its recorder cannot get from inside, where hone gets them from outside.
type beside []besideFigures

type besideFigures struct {
	at      time.Time
	rss     int64
	threads int
}

// A besideWatcher asks for the figures while a program runs.
type besideWatcher struct {
	cancel context.CancelFunc
	got    chan beside
}

// start begins to ask, once a second.
func (w *besideWatcher) start(ctx context.Context, pid int) {
	ctx, w.cancel = context.WithCancel(context.WithoutCancel(ctx))
	w.got = make(chan beside, 1)
	p := processOf(pid)
	go func() {
		defer p.Close()
		var out beside
		for wait := 50 * time.Millisecond; ; wait = time.Second {
			select {
			case <-ctx.Done():
				w.got <- out
				return
			case <-time.After(wait):
			}
			if rss := p.RSS(); rss > 0 {
				out = append(out, besideFigures{time.Now(), rss, p.Threads()})
			}
		}
	}()
}

// stop ends that, and returns what was had.
func (w *besideWatcher) stop() beside {
	if w.cancel == nil {
		return nil
	}
	w.cancel()
	return <-w.got
}

// near is how far from the time of a line figures may be.
const near = 1500 * time.Millisecond

// add adds the figures to the lines of metrics in a folder, which count from zero: to each those that were had last.
func (b beside) add(folder string, zero time.Time) error {
	name := filepath.Join(folder, recording.MetricsFile)
	text, err := os.ReadFile(name)
	if err != nil || len(b) == 0 {
		return nil
	}
	var out bytes.Buffer
	i := 0
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var line struct {
			T   *int64 `json:"t"`
			RSS int64  `json:"process/rss"`
		}
		body, whole := bytes.CutSuffix(bytes.TrimSpace(lines.Bytes()), []byte("}"))
		out.Write(body)
		if whole {
			if json.Unmarshal(lines.Bytes(), &line) == nil && line.T != nil && line.RSS == 0 {
				at := zero.Add(time.Duration(*line.T) * time.Millisecond)
				for i+1 < len(b) && !b[i+1].at.After(at.Add(time.Second/2)) {
					i++
				}
				if b[i].at.Sub(at).Abs() <= near {
					fmt.Fprintf(&out, `,"%s":%d`, recording.ProcessRSS, b[i].rss)
					if b[i].threads > 0 {
						fmt.Fprintf(&out, `,"%s":%d`, recording.ProcessThreads, b[i].threads)
					}
				}
			}
			out.WriteByte('}')
		}
		out.WriteByte('\n')
	}
	if lines.Err() != nil {
		return nil // as they are
	}
	return os.WriteFile(name, out.Bytes(), 0o644)
}
