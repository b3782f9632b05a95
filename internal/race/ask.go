package race

import (
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/hone-perf/hone/internal/prove"
)

// An asker looks for the address of a server in what a program prints, and asks it things until the program is to end.
type asker struct {
	next io.Writer
	list []prove.MadeRequest

	tail   []byte // the last line, as far as it came
	cancel context.CancelFunc
	done   sync.WaitGroup
	asked  [atATime]int
}

// listens matches what a server on this machine says about itself, as in "listening on http://127.0.0.1:8080". An address alone may be
// that of a server which the program uses, and that has to be left alone.
var listens = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:listen|serving|server on|server at|server started)[^\n]{0,60}?(?:127\.0\.0\.1|localhost|0\.0\.0\.0|\[::1?\]):([1-9]\d{1,4})\b`)
})

func (a *asker) Write(p []byte) (int, error) {
	const most = 4 << 10
	if a.cancel == nil {
		a.tail = append(a.tail, p...)
		if m := listens().FindSubmatch(a.tail); m != nil {
			a.start("http://127.0.0.1:" + string(m[1]))
		}
		if len(a.tail) > most {
			a.tail = append([]byte(nil), a.tail[len(a.tail)-most:]...)
		}
	}
	return a.next.Write(p)
}

// start asks until stop is called.
func (a *asker) start(url string) {
	ctx, cancel := context.WithCancel(context.Background())
	a.cancel = cancel
	client := &http.Client{
		Timeout:       5 * time.Second,
		Transport:     &http.Transport{MaxIdleConnsPerHost: atATime},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	for g := range atATime {
		a.done.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				if askOne(ctx, client, url, &a.list[(i+g*(i/len(a.list)))%len(a.list)]) {
					a.asked[g]++
					continue
				}
				select { // a server that has not begun, or is gone
				case <-ctx.Done():
				case <-time.After(20 * time.Millisecond):
				}
			}
		})
	}
}

// askOne asks one thing, and reports whether an answer came.
func askOne(ctx context.Context, client *http.Client, url string, r *prove.MadeRequest) bool {
	req, err := http.NewRequestWithContext(ctx, r.Method, url+r.Target, strings.NewReader(r.Body))
	if err != nil {
		return true // one that cannot be sent
	}
	for _, f := range r.Header {
		req.Header.Add(f[0], f[1])
	}
	res, err := client.Do(req)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	const most = 1 << 20
	_, err = io.CopyN(io.Discard, res.Body, most)
	return err == nil || err == io.EOF
}

// stop ends it, and returns how many answers there were.
func (a *asker) stop() int {
	if a.cancel == nil {
		return 0
	}
	a.cancel()
	a.done.Wait()
	n := 0
	for _, k := range a.asked {
		n += k
	}
	return n
}
