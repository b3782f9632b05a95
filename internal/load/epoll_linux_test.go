package load

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"
)

// A connection from the port of the server is one with itself only if it comes from the address of the server, too.
func TestConnectionWithItself(t *testing.T) {
	bound := func(addr [4]byte, port int) (fd int, at *unix.SockaddrInet4, err error) {
		fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return 0, nil, err
		}
		t.Cleanup(func() { unix.Close(fd) })
		if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: addr, Port: port}); err != nil {
			return 0, nil, err
		}
		name, err := unix.Getsockname(fd)
		if err != nil {
			return 0, nil, err
		}
		return fd, name.(*unix.SockaddrInet4), nil
	}
	local := [4]byte{127, 0, 0, 1}
	server, to, err := bound(local, 0)
	if err == nil {
		err = unix.Listen(server, 1)
	}
	if err != nil {
		t.Fatal(err)
	}
	other, _, err := bound([4]byte{127, 0, 0, 9}, to.Port)
	for range 20 { // others may have the port there
		if err == nil {
			break
		}
		if server, to, err = bound(local, 0); err == nil {
			err = unix.Listen(server, 1)
		}
		if err != nil {
			t.Fatal(err)
		}
		other, _, err = bound([4]byte{127, 0, 0, 9}, to.Port)
	}
	if err == nil {
		err = unix.Connect(other, to)
	}
	if err != nil {
		t.Fatal(err)
	}
	itself, own, err := bound(local, 0)
	if err == nil {
		err = unix.Connect(itself, own)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		fd   int
		to   *unix.SockaddrInet4
		want bool
	}{{other, to, false}, {itself, own, true}} {
		l := &loop{loopback: true, r: &run{where: &place{addr: netip.AddrPortFrom(netip.AddrFrom4(test.to.Addr), uint16(test.to.Port))}}}
		if got := l.self(test.fd); got != test.want {
			t.Errorf("connection to %v: with itself: %t, want %t", l.r.where.addr, got, test.want)
		}
	}
}

// The number of a port is in memory as it is in a packet, whatever the order of bytes on this machine.
func TestNetworkOrder(t *testing.T) {
	var b [2]byte
	binary.NativeEndian.PutUint16(b[:], networkOrder(8080))
	if b != [2]byte{0x1f, 0x90} {
		t.Errorf("port 8080 is % x in memory", b)
	}
}
