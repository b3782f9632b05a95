//go:build amd64 || arm64

package heap

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hone-perf/hone/internal/heapgraph"
	"github.com/hone-perf/hone/internal/unit"
)

func readProcess(ctx context.Context, pid int, o Options) (*heapgraph.Heap, error) {
	if pid == os.Getpid() {
		return nil, errors.New("it is this process, which cannot stop itself")
	}
	dir := fmt.Sprintf("/proc/%d/", pid)
	exe, err := os.Open(dir + "exe") // the file that runs, also if another one has its name by now
	if errors.Is(err, fs.ErrNotExist) {
		if st, err := os.ReadFile(dir + "status"); err == nil {
			if bytes.Contains(st, []byte("\nState:\tZ")) {
				return nil, errors.New("it has ended")
			}
			return nil, errors.New("it is a thread of the kernel")
		}
		return nil, errors.New("no such process")
	}
	if errors.Is(err, fs.ErrPermission) {
		return nil, errPermission(pid)
	}
	if err != nil {
		return nil, err
	}
	defer exe.Close()
	build, err := buildinfo.Read(exe)
	if err != nil {
		return nil, fmt.Errorf("it is not a Go program: %w", err)
	}
	if err := known(build.GoVersion); err != nil {
		return nil, err
	}
	p, err := openProgram(exe, o.Binary)
	if err != nil {
		return nil, err
	}
	if p.bias, err = bias(dir, exe); err != nil {
		return nil, err
	}
	resident, virtual, err := sizes(dir)
	if err != nil {
		return nil, err
	}
	p.limit, p.spare = virtual, available()
	if limit, used, ok := cgroupMemory("/proc/self/"); ok { // a container may give hone less than the program has
		p.spare = min(p.spare, limit-min(used, limit))
	}
	p.spare = max(p.spare/4*3, 1)
	h := &heapgraph.Heap{}
	read := func(target int, threads []thread, released func()) error {
		p.reader = &reader{memory: processMemory(target)}
		p.threads = threads
		now := monotonic()
		var err error
		h, err = p.heap(ctx, now, released)
		return err
	}
	at := time.Now()
	var pause time.Duration
	if o.Stop {
		pause, err = stopped(ctx, pid, read)
	} else {
		limit := PauseError{Expected: leastPause + time.Duration(float64(resident)/(1<<30)*float64(pausePerGB)), Max: o.MaxPause, Resident: resident}
		if limit.Expected > limit.Max {
			return nil, &limit
		}
		if err := mayFork(dir, resident); err != nil {
			return nil, err
		}
		pause, err = forked(ctx, exe, p.bias, pid, limit, read)
	}
	if err != nil {
		return nil, err
	}
	h.PID, h.Time, h.Pause, h.Stopped = pid, at, pause, o.Stop
	h.Command, h.BuildID = command(dir), buildID(exe)
	if h.GoVersion == "" {
		h.GoVersion = build.GoVersion
	}
	return h, nil
}

// What it takes to fork a process, and each GB in its memory, as measured. Where other programs want all cores, it may be ten times as much.
const (
	leastPause = time.Millisecond
	pausePerGB = 30 * time.Millisecond
)

// errPermission names the way out.
func errPermission(pid int) error {
	scope, _ := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope")
	switch s := strings.TrimSpace(string(scope)); s {
	case "1", "2":
		return fmt.Errorf("this system lets only root look into other processes (kernel.yama.ptrace_scope is %s): run hone as root, or give it CAP_SYS_PTRACE", s)
	case "3":
		return errors.New("this system lets nobody look into other processes (kernel.yama.ptrace_scope is 3)")
	}
	if info, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err == nil {
		if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Getuid() {
			return errors.New("it belongs to another user: run hone as that user or as root")
		}
	}
	return errors.New("no permission to look into it: run hone as the same user or as root; in a container, with the capability SYS_PTRACE")
}

// openProgram reads the debug data of the program in exe, or of its twin.
func openProgram(exe *os.File, twin string) (*program, error) {
	f, err := elf.NewFile(exe)
	if err != nil {
		return nil, err
	}
	if f.Class != elf.ELFCLASS64 || f.Data != elf.ELFDATA2LSB {
		return nil, errors.New("it is not a 64-bit program")
	}
	from := f
	if twin != "" {
		if from, err = elf.Open(twin); err != nil {
			return nil, err
		}
		defer from.Close()
		if err := same(f, from); err != nil {
			return nil, fmt.Errorf("%s is not the program that runs: %w. %s", twin, err, howToTwin)
		}
	}
	d, err := readDebug(from, isWanted)
	if errors.Is(err, ErrNoDebug) {
		return nil, fmt.Errorf("%w. %s", err, howToTwin)
	}
	if err != nil {
		return nil, err
	}
	return &program{debug: d, types: newTypes(d), arch: thisArch}, nil
}

// howToTwin says how to make a program that differs in its debug data only. The flags of the linker are written into the program unless it
// is built with -trimpath.
const howToTwin = `Build the same source with the same Go and flags, except -s and -w, and name that file; without -trimpath, write -ldflags="-w=0 " for -ldflags="-s -w", which has the same length`

// same compares what the linker makes of the same source with and without debug data: the same code, and everything at the same address. The
// flags themselves are in the read-only data, so only their length has to be the same.
func same(a, b *elf.File) error {
	for _, name := range []string{".text", ".gopclntab", ".rodata", ".data.rel.ro", ".go.type", ".noptrdata", ".data", ".bss", ".noptrbss"} {
		s, t := a.Section(name), b.Section(name)
		if s == nil && t == nil {
			continue
		}
		if s == nil || t == nil || s.Size != t.Size || s.Addr != t.Addr {
			return fmt.Errorf("section %s differs in size or address", name)
		}
		if name != ".text" && name != ".gopclntab" {
			continue
		}
		x, err := digest(s)
		if err != nil {
			return err
		}
		y, err := digest(t)
		if err != nil {
			return err
		}
		if !bytes.Equal(x, y) {
			return fmt.Errorf("section %s differs", name)
		}
	}
	return nil
}

// digest returns a hash of a section. The linker puts the build id before the code, and that has the flags of the linker in it.
func digest(s *elf.Section) ([]byte, error) {
	r := s.Open()
	head := make([]byte, min(s.Size, 4096))
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}
	if _, after, ok := bytes.Cut(head, []byte("\xff Go build ID: \"")); ok {
		if id, _, ok := bytes.Cut(after, []byte("\"\n \xff")); ok {
			clear(id)
		}
	}
	h := sha256.New()
	h.Write(head)
	if _, err := io.Copy(h, r); err != nil {
		return nil, err
	}
	return h.Sum(nil), nil
}

// bias returns how far a process is from where its program was linked to, which only differs for those that may be anywhere.
func bias(dir string, exe *os.File) (uint64, error) {
	f, err := elf.NewFile(exe)
	if err != nil {
		return 0, err
	}
	if f.Type != elf.ET_DYN {
		return 0, nil
	}
	aux, err := os.ReadFile(dir + "auxv")
	if err != nil {
		return 0, err
	}
	for ; len(aux) >= 16; aux = aux[16:] {
		if binary.LittleEndian.Uint64(aux) == auxEntry {
			return binary.LittleEndian.Uint64(aux[8:]) - f.Entry, nil
		}
	}
	return 0, errors.New("the system does not say where the program begins")
}

const auxEntry = 9 // AT_ENTRY

// status returns the numbers of /proc/PID/status.
func status(dir string) (map[string]uint64, error) {
	f, err := os.Open(dir + "status")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	m := map[string]uint64{}
	for in := bufio.NewScanner(f); in.Scan(); {
		name, rest, _ := strings.Cut(in.Text(), ":")
		if fields := strings.Fields(rest); len(fields) > 0 {
			if n, err := strconv.ParseUint(fields[0], 10, 64); err == nil {
				m[name] = n
			}
		}
	}
	return m, nil
}

func sizes(dir string) (resident, virtual uint64, err error) {
	m, err := status(dir)
	if err != nil {
		return 0, 0, err
	}
	return m["VmRSS"] << 10, m["VmSize"] << 10, nil
}

// mayFork returns an error if the fork might do harm.
func mayFork(dir string, resident uint64) error {
	free := available()
	if limit, used, ok := cgroupMemory(dir); ok {
		free = min(free, limit-min(used, limit))
	}
	// What the program writes while the fork is there takes memory again.
	if free < resident/5 {
		return fmt.Errorf("%w: there are only %s of memory left, and it has %s", ErrNoFork, unit.Size(int64(free)), unit.Size(int64(resident)))
	}
	return nil
}

// available returns how many bytes of memory the system has left.
func available() uint64 {
	text, _ := os.ReadFile("/proc/meminfo")
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "MemAvailable:" {
			if n, err := strconv.ParseUint(f[1], 10, 50); err == nil {
				return n << 10 // from kB
			}
		}
	}
	return 1 << 62
}

// cgroupMemory returns the limit of the memory of a process, and how much of that is used.
func cgroupMemory(dir string) (limit, used uint64, ok bool) {
	text, err := os.ReadFile(dir + "cgroup")
	if err != nil {
		return 0, 0, false
	}
	for line := range strings.Lines(string(text)) {
		name, ok := strings.CutPrefix(strings.TrimSpace(line), "0::")
		if !ok {
			continue
		}
		number := func(file string) (uint64, error) {
			b, err := os.ReadFile("/sys/fs/cgroup" + name + "/" + file)
			if err != nil {
				return 0, err
			}
			return strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
		}
		limit, err1 := number("memory.max") // "max" is no number, and no limit
		used, err2 := number("memory.current")
		return limit, used, err1 == nil && err2 == nil
	}
	return 0, 0, false
}

func command(dir string) string {
	b, _ := os.ReadFile(dir + "cmdline")
	first, _, _ := strings.Cut(string(b), "\x00")
	return first
}

// buildID returns the build id that Go gave the program.
func buildID(exe *os.File) string {
	f, err := elf.NewFile(exe)
	if err != nil {
		return ""
	}
	s := f.Section(".note.go.buildid")
	if s == nil || s.Size > 4096 {
		return ""
	}
	b, err := s.Data()
	if err != nil || len(b) < 16 {
		return ""
	}
	n := binary.LittleEndian.Uint32(b[4:])
	if uint64(n) > uint64(len(b)-16) {
		return ""
	}
	return string(b[16 : 16+n])
}

// monotonic is the time as runtimes count it.
func monotonic() int64 {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) != nil {
		return 0
	}
	return t.Nano()
}

// processMemory is the memory of a process that stands still.
type processMemory int

func (m processMemory) read(addr uint64, b []byte) error {
	return m.readMany([]piece{{addr, uint64(len(b))}}, b)
}

func (m processMemory) readMany(pieces []piece, b []byte) error {
	if len(pieces) == 0 || len(b) == 0 {
		return nil
	}
	var few [1]unix.RemoteIovec
	remote := few[:0]
	if len(pieces) > 1 {
		remote = make([]unix.RemoteIovec, 0, len(pieces))
	}
	for _, p := range pieces {
		if p.addr>>47 != 0 { // not of a process; this also keeps it from being a negative number
			return errMemory
		}
		remote = append(remote, unix.RemoteIovec{Base: uintptr(p.addr), Len: int(p.size)})
	}
	local := [1]unix.Iovec{{Base: &b[0]}}
	local[0].SetLen(len(b))
	n, err := unix.ProcessVMReadv(int(m), local[:], remote, 0)
	if err != nil {
		return err
	}
	if n != len(b) {
		return errMemory
	}
	return nil
}
