package load

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
)

// A phase is how far a request has come.
type phase int

const (
	connecting phase = iota
	securing
	waiting // nothing of the answer is there
	reading
)

// causeOf says why a request failed.
func causeOf(err error, at phase) cause {
	var malformed *malformedError
	var timeout net.Error
	var dns *net.DNSError
	switch {
	case errors.As(err, &malformed):
		return causeMalformed
	case errors.Is(err, errTooLarge):
		return causeTooLarge
	case errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, syscall.ETIMEDOUT):
		switch at {
		case waiting:
			return causeWaitTimeout
		case reading:
			return causeReadTimeout
		}
		return causeConnectTimeout
	case errors.As(err, &dns):
		return causeResolve
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return causeNoFiles
	case errors.Is(err, syscall.EADDRNOTAVAIL), isNoPorts(err):
		return causeNoPorts
	}
	switch at {
	case connecting:
		if errors.Is(err, syscall.ECONNREFUSED) || isRefused(err) {
			return causeRefused
		}
		return causeDial
	case securing:
		return causeTLS
	}
	switch {
	case isTLS(err):
		return causeTLS
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, syscall.ECONNABORTED), isReset(err):
		return causeReset
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		if at == waiting {
			return causeClosedBefore
		}
		return causeClosedInside
	}
	return causeOther
}

// isEnd reports whether the other side closed the connection in order.
func isEnd(err error) bool { return errors.Is(err, io.EOF) }

func isTLS(err error) bool {
	var alert tls.AlertError
	var record tls.RecordHeaderError
	var verify *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	return errors.As(err, &alert) || errors.As(err, &record) || errors.As(err, &verify) || errors.As(err, &unknown)
}
