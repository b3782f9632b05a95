package rule

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/fleet/event"
)

// Headers of signed requests.
const (
	signatureHeader = "X-Hone-Signature" // sha256= and the HMAC of the time, a dot and the body
	timeHeader      = "X-Hone-Time"      // seconds since 1970
)

const (
	mostQueue   = 100 // events that wait for one receiver
	mostTries   = 6
	firstWait   = time.Second // between tries; each is twice as long as the one before
	longestWait = time.Minute
	mostAnswer  = 4 << 10 // bytes of what a receiver answers
)

// A message is the body of a request.
type message struct {
	Text   string      `json:"text"`   // for people; chat programs show it
	Status string      `json:"status"` // began or ended
	Event  event.Event `json:"event"`
}

// textOf says in one line what happened, for chats. Their marks, such as <!channel>, are not for names of services to use.
func textOf(e *event.Event) string {
	text := e.Service + ": " + e.Text() + " (" + e.Time.UTC().Format("2006-01-02 15:04 MST") + ")"
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}

// A sender sends events to a receiver, one after another.
type sender struct {
	*Hook
	w      *Watcher
	queue  chan message
	client *http.Client
}

func (w *Watcher) newSender(h *Hook) *sender {
	return &sender{Hook: h, w: w, queue: make(chan message, mostQueue), client: &http.Client{
		Timeout: time.Duration(h.Timeout), // that includes reading the answer
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, MaxIdleConns: 2, IdleConnTimeout: 30 * time.Second, MaxResponseHeaderBytes: 64 << 10,
			TLSHandshakeTimeout: time.Duration(h.Timeout),
		},
		// Do not follow redirects, which could send events to another server.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// run sends what comes, until the queue is closed or ctx ends.
func (s *sender) run(ctx context.Context) {
	defer s.client.CloseIdleConnections()
	for {
		select {
		case <-ctx.Done():
			return
		case m, ok := <-s.queue:
			if !ok {
				return
			}
			err := s.send(ctx, m)
			if ctx.Err() != nil {
				return
			}
			s.told(&m.Event, err)
		}
	}
}

// told keeps what became of telling about an event.
func (s *sender) told(e *event.Event, err error) {
	t := event.Told{To: s.Name, Sent: s.w.opt.Now()}
	if err != nil {
		t = event.Told{To: s.Name, Failed: err.Error()}
		s.w.opt.Log.Warn("a webhook failed", "webhook", s.Name, "event", e.ID, "err", err)
	}
	err = s.w.opt.Events.Update(e.Tenant, e.ID, func(e *event.Event) {
		var all []event.Told
		for _, old := range e.Told {
			if old.To != t.To {
				all = append(all, old)
			}
		}
		e.Told = append(all, t)
	})
	if err != nil {
		s.w.opt.Log.Error("logging the outcome of a webhook", "event", e.ID, "err", err)
	}
}

// send sends a message, and tries again while that may help.
func (s *sender) send(ctx context.Context, m message) error {
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	wait := firstWait
	for try := 1; ; try++ {
		after, err := s.once(ctx, body)
		if err == nil || after < 0 || try == mostTries || ctx.Err() != nil {
			if err != nil && try > 1 {
				err = fmt.Errorf("%w, after %d attempts", err, try)
			}
			return err
		}
		s.w.opt.wait(ctx, min(max(wait, after), longestWait))
		wait *= 2
	}
}

// once sends a body. Where there is no use in trying again, after is less than 0, and else how long the receiver asks to wait.
func (s *sender) once(ctx context.Context, body []byte) (after time.Duration, err error) {
	text, err := valueOf(s.URL, s.URLFile)
	if err != nil {
		return 0, err // the file may be on its way
	}
	u, err := parseURL(text)
	if err != nil {
		return -1, err
	}
	key, err := valueOf(s.Secret, s.SecretFile)
	if err != nil {
		return 0, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(body))
	if err != nil {
		return -1, errors.New("the url cannot be used")
	}
	req.Header.Set("User-Agent", "hone")
	req.Header.Set("Content-Type", "application/json")
	for _, h := range s.Headers {
		req.Header.Set(h.name, string(h.value))
	}
	if key != "" {
		now := strconv.FormatInt(s.w.opt.Now().Unix(), 10)
		sum := hmac.New(sha256.New, []byte(key))
		io.WriteString(sum, now+".")
		sum.Write(body)
		req.Header.Set(timeHeader, now)
		req.Header.Set(signatureHeader, "sha256="+hex.EncodeToString(sum.Sum(nil)))
	}
	resp, err := s.client.Do(req)
	if err != nil {
		var asking *url.Error
		if errors.As(err, &asking) {
			if asking.Timeout() {
				return 0, fmt.Errorf("no answer within %s", s.Timeout)
			}
			err = asking.Err // the URL may have a password in it
		}
		return 0, err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, mostAnswer)) // so that the connection can be used again
	switch code := resp.StatusCode; {
	case code >= 200 && code < 300:
		return 0, nil
	case code >= 300 && code < 400:
		return -1, fmt.Errorf("HTTP %d: the receiver redirects; hone does not follow redirects", code)
	case code == http.StatusTooManyRequests, code == http.StatusRequestTimeout, code >= 500:
		seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
		return time.Duration(min(max(0, seconds), 3600)) * time.Second, fmt.Errorf("HTTP %d %s", code, http.StatusText(code))
	default:
		return -1, fmt.Errorf("HTTP %d %s", code, http.StatusText(code))
	}
}
