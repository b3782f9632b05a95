//go:build !go1.25

package agent

import (
	"errors"
	"io"
	"time"
)

// A flight recorder keeps the last of an execution trace. Before Go 1.25 there is none.
type flight struct{}

var errNoFlight = errors.New("flight recorders need Go 1.25")

func (flight) begin(time.Duration) error { return errNoFlight }

func (flight) write(io.Writer) error { return errNoFlight }
