package load

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const hasEpoll = true

// epoll is the engine for clear HTTP/1 on Linux: a few threads, each of which drives many connections.
//
// Nearly all CPU time of a load generator is the kernel's, so the fewer calls the better: a request is one write and one
// read, and one look at what came serves many connections. Sockets are watched for edges, so that what is watched never
// changes. Calls that cannot block do not tell the scheduler of Go, which takes an eighth of the time.
func (r *run) epoll(ctx context.Context) error {
	loops := make([]*loop, len(r.tallies))
	for i := range loops {
		l, err := newLoop(r, i)
		if err != nil {
			for _, l := range loops[:i] {
				l.close()
			}
			return err
		}
		loops[i] = l
	}
	var all sync.WaitGroup
	for _, l := range loops {
		stop := context.AfterFunc(ctx, l.wake)
		defer stop()
		all.Go(func() {
			// The thread is not given back: the slack of its timers was changed.
			runtime.LockOSThread()
			unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
			l.run()
		})
	}
	all.Wait()
	for _, l := range loops {
		l.close()
	}
	return nil
}

// A socket is a connection of a loop, or a place for one.
type socket struct {
	fd     int // -1 when there is none
	state  socketState
	ticket ticket
	out    Outcome
	rest   []byte        // of the request, that could not be written at once
	limit  time.Duration // when waiting for this state ends
	answer answer
	wrote  int64
	got    int64
}

type socketState uint8

const (
	free    socketState = iota // nothing to do, with or without a connection
	resting                    // connecting failed a moment ago
	dialing
	busy // a request was sent, or the beginning of one
)

// A loop is a thread with its connections.
type loop struct {
	r       *run
	t       *tally
	poll    int                   // file of epoll
	bell    int                   // file that wakes it
	target  unix.RawSockaddrInet6 // large enough for both families
	size    uintptr
	family  int
	sockets []socket
	free    []int32 // places in sockets
	events  []unix.EpollEvent
	buf     []byte
	held    ticket // that is not due yet
	holds   bool
	drained bool // there are no more tickets
	ns      bool // epoll can wait for less than a millisecond
	active  int  // sockets that are dialing or busy
	resting int
	server  string

	loopback bool // it is this machine that is loaded
}

func newLoop(r *run, i int) (*loop, error) {
	l := &loop{r: r, t: r.tallies[i], bell: -1, poll: -1, buf: make([]byte, readBuffer), events: make([]unix.EpollEvent, 256), ns: true}
	n := (r.plan.Conns - i + len(r.tallies) - 1) / len(r.tallies)
	l.sockets = make([]socket, n)
	for j := range l.sockets {
		s := &l.sockets[j]
		s.fd = -1
		s.answer.maxBody, s.answer.old = r.plan.MaxBody, r.plan.HTTP10
		l.free = append(l.free, int32(n-1-j)) // the first is taken first
	}
	l.setTarget(r.where.addr)
	l.loopback = r.where.addr.Addr().IsLoopback()
	var err error
	if l.poll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, fmt.Errorf("epoll: %w", err)
	}
	if l.bell, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err == nil {
		err = unix.EpollCtl(l.poll, unix.EPOLL_CTL_ADD, l.bell, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: -1})
	}
	if err != nil {
		l.close()
		return nil, fmt.Errorf("epoll: %w", err)
	}
	return l, nil
}

func (l *loop) setTarget(a netip.AddrPort) {
	port := networkOrder(a.Port())
	if a.Addr().Is4() {
		l.family, l.size = unix.AF_INET, unix.SizeofSockaddrInet4
		in := (*unix.RawSockaddrInet4)(unsafe.Pointer(&l.target))
		*in = unix.RawSockaddrInet4{Family: unix.AF_INET, Port: port, Addr: a.Addr().As4()}
		return
	}
	l.family, l.size = unix.AF_INET6, unix.SizeofSockaddrInet6
	l.target = unix.RawSockaddrInet6{Family: unix.AF_INET6, Port: port, Addr: a.Addr().As16(), Scope_id: zoneID(a.Addr().Zone())}
}

// networkOrder returns the number whose bytes in memory are those of a port in a packet: the high one first.
func networkOrder(port uint16) uint16 {
	var b [2]byte
	binary.BigEndian.PutUint16(b[:], port)
	return binary.NativeEndian.Uint16(b[:])
}

// zoneID returns the number of the interface that a link-local address is on.
func zoneID(zone string) uint32 {
	if n, err := strconv.ParseUint(zone, 10, 32); err == nil {
		return uint32(n)
	}
	if i, err := net.InterfaceByName(zone); err == nil {
		return uint32(i.Index)
	}
	return 0
}

// wake makes the loop look whether the run is cut.
func (l *loop) wake() {
	var one = [8]byte{7: 1, 0: 1}
	unix.Write(l.bell, one[:])
}

func (l *loop) close() {
	for i := range l.sockets {
		l.drop(&l.sockets[i])
	}
	unix.Close(l.bell)
	unix.Close(l.poll)
}

// run sends requests until there are no more and all are answered, or the run is cut.
func (l *loop) run() {
	const glance = 10 * time.Millisecond // how often timeouts are looked for
	looked := time.Duration(0)
	for {
		now := l.r.now()
		l.t.Lock()
		l.begin(now)
		if now-looked >= glance {
			looked = now
			l.expire(now)
		}
		if l.r.cutting.Load() {
			l.abandon(now)
			l.t.Unlock()
			return
		}
		l.t.Unlock()
		if l.active == 0 && l.drained && !l.holds {
			return
		}
		wait := glance
		if l.holds {
			wait = min(wait, l.held.due-l.r.now())
		}
		n := l.wait(wait)
		if n == 0 {
			continue
		}
		l.r.hear()
		l.t.Lock()
		for i := range l.events[:n] {
			e := &l.events[i]
			if e.Fd < 0 {
				continue // the bell
			}
			l.event(e.Fd, e.Events)
		}
		l.t.Unlock()
	}
}

// begin sends what is due, as far as there are connections for it.
func (l *loop) begin(now time.Duration) {
	// Others want to look at the run, also when nobody listens and all fail at once.
	failed := 0
	for (len(l.free) > 0 && !l.drained || l.holds) && failed < 1000 {
		if !l.holds {
			k, ok := l.r.take(now)
			if !ok {
				l.drained = true
				return
			}
			l.held, l.holds = k, true
		}
		if l.held.due > now {
			if l.r.over.Load() {
				l.holds, l.drained = false, true
				l.r.next.Add(-1)
			}
			return
		}
		l.holds = false
		i := l.free[len(l.free)-1]
		l.free = l.free[:len(l.free)-1]
		l.start(i, l.held, now)
		if l.sockets[i].state == free {
			failed++
		}
		now = l.r.now()
	}
}

// next gives a connection that has become free the next request, if there is one that is due.
func (l *loop) next(i int32, now time.Duration) {
	if l.r.schedule == nil && !l.drained {
		k, ok := l.r.take(now)
		if ok {
			l.start(i, k, now)
			return
		}
		l.drained = true
	}
	l.free = append(l.free, i)
}

// start sends a request on a connection, which it opens when there is none.
func (l *loop) start(i int32, k ticket, now time.Duration) {
	s := &l.sockets[i]
	s.ticket = k
	s.out = Outcome{Due: k.due, Began: now, Connected: now}
	s.wrote, s.got = 0, 0
	l.active++
	if s.fd >= 0 {
		l.send(i, now)
		return
	}
	s.state = dialing
	s.limit = now + min(l.r.plan.ConnectTimeout, l.r.plan.Timeout)
	if err := l.dial(i); err != nil {
		l.fail(i, causeOf(err, connecting), false)
	}
}

func (l *loop) dial(i int32) error {
	s := &l.sockets[i]
	fd, err := unix.Socket(l.family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, unix.IPPROTO_TCP)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	s.fd = fd
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
		return os.NewSyscallError("setsockopt", err)
	}
	if err := l.settle(fd); err != nil {
		return err
	}
	_, _, errno := unix.RawSyscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(&l.target)), l.size)
	if errno != 0 && errno != unix.EINPROGRESS {
		return os.NewSyscallError("connect", errno)
	}
	watch := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | edges, Fd: i}
	if err := unix.EpollCtl(l.poll, unix.EPOLL_CTL_ADD, fd, &watch); err != nil {
		return os.NewSyscallError("epoll_ctl", err)
	}
	return nil
}

// settle gives a socket the address and the buffers that the plan wants.
func (l *loop) settle(fd int) error {
	if n := l.r.plan.Window; n > 0 {
		for _, which := range []int{unix.SO_RCVBUF, unix.SO_SNDBUF} {
			if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, which, n); err != nil {
				return os.NewSyscallError("setsockopt", err)
			}
		}
	}
	local := l.r.where.local
	if !local.IsValid() {
		return nil
	}
	var from unix.Sockaddr = &unix.SockaddrInet6{Addr: local.As16(), ZoneId: zoneID(local.Zone())}
	if local.Is4() {
		from = &unix.SockaddrInet4{Addr: local.As4()}
	}
	return os.NewSyscallError("bind", unix.Bind(fd, from))
}

const (
	edges = 1 << 31 // EPOLLET, which the package has as a negative number
	ended = unix.EPOLLRDHUP | unix.EPOLLERR | unix.EPOLLHUP
	came  = unix.EPOLLIN | ended
)

// event is told that something happened to a connection.
func (l *loop) event(i int32, what uint32) {
	s := &l.sockets[i]
	if s.fd < 0 {
		return // it was closed by an earlier event
	}
	switch s.state {
	case dialing:
		if what&(unix.EPOLLOUT|unix.EPOLLERR|unix.EPOLLHUP) == 0 {
			return
		}
		code, err := unix.GetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_ERROR)
		if err == nil && code != 0 {
			err = syscall.Errno(code)
		}
		if err == nil && l.self(s.fd) {
			err = unix.ECONNREFUSED
		}
		if err != nil {
			l.fail(i, causeOf(err, connecting), false)
			return
		}
		s.out.Connected = l.r.now()
		l.t.opened(&s.ticket, s.out.Connected-s.out.Began)
		if l.r.plan.First != nil {
			s.answer.server = func(v []byte) { l.server = string(v) }
		}
		l.send(i, s.out.Connected)
	case busy:
		if len(s.rest) > 0 && what&unix.EPOLLOUT != 0 {
			if l.write(i); s.state != busy {
				return
			}
		}
		if what&came != 0 {
			l.read(i, what&ended != 0, 0)
		}
	default:
		if what&came != 0 {
			l.drop(s) // closed, or something that nobody asked for
		}
	}
}

// self reports whether a connection is one with itself, which the system makes of one to a port that nobody listens on
// when that happens to be the local port it chose.
func (l *loop) self(fd int) bool {
	if !l.loopback {
		return false
	}
	at, err := unix.Getsockname(fd)
	if err != nil {
		return false
	}
	var from netip.AddrPort
	switch at := at.(type) {
	case *unix.SockaddrInet4:
		from = netip.AddrPortFrom(netip.AddrFrom4(at.Addr), uint16(at.Port))
	case *unix.SockaddrInet6:
		from = netip.AddrPortFrom(netip.AddrFrom16(at.Addr).Unmap(), uint16(at.Port))
	}
	// From another address of this machine, the same port is as good as any.
	to := l.r.where.addr
	return from == netip.AddrPortFrom(to.Addr().Unmap().WithZone(""), to.Port())
}

// send writes a request.
func (l *loop) send(i int32, now time.Duration) {
	s := &l.sockets[i]
	s.answer.reset(s.ticket.req.head, l.r.plan.Expect.Body)
	s.state, s.rest = busy, s.ticket.req.wire
	s.limit = l.r.expires(s.out.Began)
	l.t.sending(&s.ticket, now)
	l.write(i)
}

func (l *loop) write(i int32) {
	s := &l.sockets[i]
	for len(s.rest) > 0 {
		// Without a signal when the other side has closed.
		n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(s.fd), uintptr(unsafe.Pointer(&s.rest[0])), uintptr(len(s.rest)), unix.MSG_NOSIGNAL, 0, 0)
		switch errno {
		case 0:
			s.rest = s.rest[n:]
			s.wrote += int64(n)
		case unix.EINTR:
		case unix.EAGAIN:
			return // until there is room
		default:
			// The answer may be there all the same: some servers do not read all before they refuse.
			s.rest = nil
			l.read(i, true, errno)
			return
		}
	}
}

// read reads what came. ended says that the other side has closed the connection, so that no event will tell when
// there is more; writeErr is what went wrong before, 0 is nothing.
func (l *loop) read(i int32, ended bool, writeErr syscall.Errno) {
	s := &l.sockets[i]
	for {
		n, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(s.fd), uintptr(unsafe.Pointer(&l.buf[0])), uintptr(len(l.buf)))
		switch {
		case errno == unix.EINTR:
			continue
		case errno == unix.EAGAIN && writeErr == 0:
			return
		case errno != 0:
			if writeErr != 0 && (errno == unix.EAGAIN || !s.answer.started()) {
				errno = writeErr
			}
			l.fail(i, causeOf(errno, l.phase(s)), true)
			return
		case n == 0:
			if s.answer.ended() {
				l.finish(i, false)
				return
			}
			l.fail(i, causeOf(io.EOF, l.phase(s)), true)
			return
		}
		s.got += int64(n)
		complete, err := s.answer.read(l.buf[:n])
		switch {
		case err != nil:
			l.fail(i, causeOf(err, reading), true)
			return
		case complete:
			l.finish(i, !ended && writeErr == 0 && len(s.rest) == 0)
			return
		}
		if s.out.First == 0 {
			s.out.First = l.r.now()
		}
		if int(n) < len(l.buf) && !ended && writeErr == 0 {
			return // there is no more, and an event when there is
		}
	}
}

func (l *loop) phase(s *socket) phase {
	if s.answer.started() {
		return reading
	}
	return waiting
}

// finish counts an answer and goes on with the next request.
func (l *loop) finish(i int32, keep bool) {
	s := &l.sockets[i]
	o := &s.out
	o.End = l.r.now()
	if o.First == 0 {
		o.First = o.End
	}
	keep = keep && s.answer.reusable() && !l.r.plan.NoKeepAlive
	o.Status, o.Header, o.Body, o.KeptAlive = s.answer.Status, s.answer.Header, s.answer.Body, keep
	if s.answer.server != nil {
		l.r.first.Do(func() { l.r.plan.First(&First{Server: l.server, Body: s.answer.Body}) })
		s.answer.server = nil
	}
	l.t.traffic(&s.ticket, s.got, s.wrote)
	l.t.answered(&s.ticket, o, s.answer.Differs)
	if !keep {
		l.drop(s)
	}
	l.active--
	s.state, s.rest = free, nil
	l.next(i, o.End)
}

// fail counts a request without an answer. sent says whether any of it was.
func (l *loop) fail(i int32, why cause, sent bool) {
	s := &l.sockets[i]
	s.out.End = l.r.now()
	s.out.Status, s.out.Header, s.out.Body = s.answer.Status, s.answer.Header, s.answer.Body
	if sent {
		l.t.traffic(&s.ticket, s.got, s.wrote)
	}
	l.t.failed(&s.ticket, &s.out, why, sent)
	l.drop(s)
	l.active--
	s.rest = nil
	if !sent && l.r.schedule == nil && l.r.plan.StopAt == nil {
		s.state, s.limit = resting, s.out.End+restAfter
		l.resting++
		return
	}
	// Not at once: a server that refuses everything would have us call ourselves without end.
	s.state = free
	l.free = append(l.free, i)
}

// drop closes a connection.
func (l *loop) drop(s *socket) {
	if s.fd >= 0 {
		unix.Close(s.fd)
		s.fd = -1
	}
}

// expire ends what takes too long.
func (l *loop) expire(now time.Duration) {
	if l.active+l.resting == 0 {
		return
	}
	for j := range l.sockets {
		s := &l.sockets[j]
		if s.limit > now {
			continue
		}
		if l.r.plan.Stalled && s.state != resting {
			if s.limit = l.r.expires(s.out.Began); s.limit > now {
				continue // something came on another connection
			}
		}
		switch i := int32(j); s.state {
		case resting:
			s.state = free
			l.resting--
			l.free = append(l.free, i)
		case dialing:
			l.fail(i, causeConnectTimeout, false)
		case busy:
			l.fail(i, causeOf(os.ErrDeadlineExceeded, l.phase(s)), true)
		}
	}
}

// abandon counts what is under way as unfinished.
func (l *loop) abandon(now time.Duration) {
	for j := range l.sockets {
		s := &l.sockets[j]
		if s.state == busy {
			l.t.traffic(&s.ticket, s.got, s.wrote)
			l.t.unfinished(&s.ticket, now)
		}
	}
	if l.holds {
		l.r.next.Add(-1)
	}
}

// wait waits for events, at most for some time, and returns how many there are.
func (l *loop) wait(most time.Duration) int {
	// The scheduler of Go is not told that we wait. If it were, it would look every 20 µs whether to give our P
	// to others, and wake for us when it slept: on a server that answers a few requests at a time that took a third more
	// CPU time. Whoever else has something to do, or a garbage collection, sends us a signal within 10 ms, and that ends the wait:
	// a server in the same process, as in tests, is slow where Go has no other P.
	if l.ns && most > 0 {
		t := unix.NsecToTimespec(int64(most))
		n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT2, uintptr(l.poll), uintptr(unsafe.Pointer(&l.events[0])), uintptr(len(l.events)), uintptr(unsafe.Pointer(&t)), 0, 0)
		if errno != unix.ENOSYS && errno != unix.EPERM {
			return seen(n, errno)
		}
		l.ns = false // before Linux 5.11, or forbidden
	}
	// The last millisecond is spent looking.
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(l.poll), uintptr(unsafe.Pointer(&l.events[0])), uintptr(len(l.events)), uintptr(max(most, 0)/time.Millisecond), 0, 0)
	return seen(n, errno)
}

func seen(n uintptr, errno syscall.Errno) int {
	if errno != 0 {
		return 0
	}
	return int(n)
}
