package clickhouse

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/store"
)

// A client is what the store needs of a way to talk to ClickHouse.
type client interface {
	// exec does what a statement says.
	exec(ctx context.Context, statement string) error

	// insert adds rows to a table. Rows that were sent with a token are not added again with the same one.
	insert(ctx context.Context, table, token string, columns []column) error

	// query appends the columns of an answer to the slices that into points to.
	query(ctx context.Context, query string, into ...any) error

	close()
}

// A ServerError is what ClickHouse says when it does not do what it is asked to.
type ServerError struct {
	Code int // 0 when it is not known
	Text string
}

func (e *ServerError) Error() string { return "ClickHouse: " + e.Text }

// Is reports whether e is store.ErrFull.
func (e *ServerError) Is(target error) bool {
	const notEnoughSpace = 243
	return target == store.ErrFull && e.Code == notEnoughSpace
}

// insertSettings make inserts exact and durable.
var insertSettings = map[string]string{
	"async_insert":       "0",
	"insert_deduplicate": "1",
	"deduplicate_blocks_in_dependent_materialized_views": "1",
	"distributed_foreground_insert":                      "1",
	// A batch of profiles that were late may be of many days, each of which is a partition.
	"max_partitions_per_insert_block": "1000",
}

var querySettings = map[string]string{
	"max_query_size": strconv.Itoa(maxQuery),
	"cancel_http_readonly_queries_on_client_close": "1",
	// An error is in the status, not behind a part of an answer.
	"wait_end_of_query": "1",
}

// maxQuery bounds the text of a query; hashes of many profiles are part of some.
const maxQuery = 16 << 20

// An httpClient speaks ClickHouse's HTTP interface.
type httpClient struct {
	address *Address
	http    *http.Client
	first   atomic.Int64 // the host that answered the last time
}

func newHTTPClient(a *Address) *httpClient {
	return &httpClient{address: a, http: &http.Client{
		Transport: &http.Transport{
			DialContext:         (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
			MaxIdleConnsPerHost: 16,
			IdleConnTimeout:     30 * time.Second,
			TLSHandshakeTimeout: 10 * time.Second,
			DisableCompression:  true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

func (c *httpClient) close() { c.http.CloseIdleConnections() }

func (c *httpClient) exec(ctx context.Context, statement string) error {
	return c.do(ctx, nil, []byte(statement), nil)
}

func (c *httpClient) insert(ctx context.Context, table, token string, columns []column) error {
	if rowsOf(columns[0].values) == 0 {
		return nil
	}
	names := make([]string, len(columns))
	for i, col := range columns {
		names[i] = col.name
	}
	params := url.Values{"query": {"INSERT INTO " + c.address.Database + "." + table + " (" + strings.Join(names, ", ") + ") FORMAT Native"}}
	for k, v := range insertSettings {
		params.Set(k, v)
	}
	params.Set("insert_deduplication_token", token)
	return c.do(ctx, params, appendBlock(nil, columns), nil)
}

func (c *httpClient) query(ctx context.Context, query string, into ...any) error {
	params := url.Values{}
	for k, v := range querySettings {
		params.Set(k, v)
	}
	return c.do(ctx, params, []byte(query+" FORMAT Native"), into)
}

// do sends a request to the first host that can be reached.
func (c *httpClient) do(ctx context.Context, params url.Values, body []byte, into []any) error {
	first := int(c.first.Load())
	var err error
	for i, base := range c.address.bases(first) {
		err = c.send(ctx, base+"?"+params.Encode(), body, into)
		var op *net.OpError
		if !errors.As(err, &op) || op.Op != "dial" {
			// It may have been done, so it is not for another host to try.
			c.first.Store(int64((first + i) % len(c.address.Hosts)))
			break
		}
	}
	return err
}

const packFrom = 16 << 10 // bytes of a body

func (c *httpClient) send(ctx context.Context, to string, body []byte, into []any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, nil)
	if err != nil {
		return err
	}
	if c.pack() && len(body) >= packFrom {
		var packed bytes.Buffer
		z, _ := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
		z.Write(body)
		z.Close()
		body = packed.Bytes()
		req.Header.Set("Content-Encoding", "gzip")
	}
	// Without GetBody, a request is not sent twice when its connection breaks.
	req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	req.Header.Set("X-ClickHouse-User", c.address.User)
	if c.address.Password != "" {
		req.Header.Set("X-ClickHouse-Key", c.address.Password)
	}
	res, err := c.http.Do(req)
	if err != nil {
		// The URL has the query in it.
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err
		}
		return fmt.Errorf("asking ClickHouse at %s: %w", c.address, err)
	}
	defer func() {
		io.Copy(io.Discard, io.LimitReader(res.Body, 1<<16)) // so that the connection can be used again
		res.Body.Close()
	}()
	if code := res.Header.Get("X-ClickHouse-Exception-Code"); res.StatusCode != http.StatusOK || code != "" {
		text, _ := io.ReadAll(io.LimitReader(res.Body, 4<<10))
		n, _ := strconv.Atoi(code)
		return &ServerError{Code: n, Text: profile.Shorten(strings.TrimSpace(fmt.Sprintf("%s %s", res.Status, text)), 2000)}
	}
	if len(into) == 0 {
		return nil
	}
	if err := readBlocks(res.Body, into); err != nil {
		return fmt.Errorf("ClickHouse at %s: %w", c.address, err)
	}
	return nil
}

// pack reports whether bodies are packed, which costs more than it saves within one machine.
func (c *httpClient) pack() bool {
	for _, h := range c.address.Hosts {
		host, _, _ := net.SplitHostPort(h)
		if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			return true
		}
	}
	return false
}
