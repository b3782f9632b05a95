//go:build !linux

package load

import (
	"context"
	"errors"
)

const hasEpoll = false

func (r *run) epoll(context.Context) error { return errors.ErrUnsupported }
