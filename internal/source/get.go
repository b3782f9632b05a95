package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/hone-perf/hone/internal/unit"
)

// maxAnswer bounds what a server may send.
const maxAnswer = 1 << 30

// Get asks a server for something that is no profile, or that is kept as it comes. An answer that is not OK is an error
// that has the server's words, where it has some.
func (o *Options) Get(ctx context.Context, u *url.URL, patience time.Duration) ([]byte, error) {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	resp, err := o.do(ctx, http.MethodGet, u, nil, patience)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("the server closed the connection before it had answered: %w", err)
	case err != nil:
		return nil, err
	case len(b) > maxAnswer:
		return nil, fmt.Errorf("the answer is longer than %s", unit.Size(maxAnswer))
	}
	return b, nil
}
