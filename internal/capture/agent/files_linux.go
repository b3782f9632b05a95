package agent

import (
	"os"
	"path/filepath"
	"syscall"
)

// A files is the files of a recording, written in a way that does not get between the program and its own:
//
//   - Without package os, which would start the runtime's poller. That has descriptors of its own, and a program that closes all that it inherits,
//     as daemons do, would close those and die.
//   - With high numbers, so that the program gets the numbers that it would have got without us.
//   - Through folders that are open from the beginning: the program may give up its rights later, or change its root.
//   - Only while a number is still that of our file. If the program has closed it, it is opened again, and what got the number is left alone.
type files struct {
	dir     string
	folders map[string]*file
}

// high are numbers above which our descriptors are, the first that the limits allow.
var high = []uintptr{900, 200}

// A file is an open file or folder of ours.
type file struct {
	name     string // with its folder, to open it again
	flags    int
	fd       int
	dev, ino uint64
}

const (
	atCurrent = -100        // AT_FDCWD
	noFile    = ^uintptr(0) // for the runtime
)

func openAt(folder int, name string, flags int) (f file, err error) {
	fd := -1
	for {
		if fd, err = syscall.Openat(folder, name, flags|syscall.O_CLOEXEC, 0o644); err != syscall.EINTR {
			break
		}
	}
	if err != nil {
		return file{fd: -1}, &os.PathError{Op: "open", Path: name, Err: err}
	}
	for _, least := range high {
		if up, _, e := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_DUPFD_CLOEXEC, least); e == 0 {
			syscall.Close(fd)
			fd = int(up)
			break
		}
	}
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil {
		return file{fd: -1}, &os.PathError{Op: "open", Path: name, Err: err}
	}
	return file{fd: fd, dev: uint64(st.Dev), ino: st.Ino}, nil
}

// ours reports whether the number is still that of this file.
func (f *file) ours() bool {
	var st syscall.Stat_t
	return f != nil && f.fd >= 0 && syscall.Fstat(f.fd, &st) == nil && uint64(st.Dev) == f.dev && st.Ino == f.ino
}

func (f *file) close() {
	if f.ours() {
		syscall.Close(f.fd)
	}
	f.fd = -1
}

// ready opens the file again if it is not ours any more.
func (f *file) ready() error {
	if f.ours() {
		return nil
	}
	again, err := openAt(atCurrent, f.name, f.flags)
	if err == nil {
		f.fd, f.dev, f.ino = again.fd, again.dev, again.ino
	}
	return err
}

// Write writes all of b behind what there is.
func (f *file) Write(b []byte) (n int, err error) {
	if err := f.ready(); err != nil {
		return 0, err
	}
	return f.all(b)
}

func (f *file) all(b []byte) (n int, err error) {
	for n < len(b) {
		k, err := syscall.Write(f.fd, b[n:])
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return n, &os.PathError{Op: "write", Path: f.name, Err: err}
		}
		n += k
	}
	return n, nil
}

// replace writes b in place of what there is.
func (f *file) replace(b []byte) {
	if f.ready() != nil {
		return
	}
	if n, err := syscall.Pwrite(f.fd, b, 0); err == nil {
		syscall.Ftruncate(f.fd, int64(n)) // of a longer one before
	}
}

// open makes a file in the folder of the recording, if there is none yet.
func (s *files) open(name string, flags int) (*file, error) {
	f := &file{name: filepath.Join(s.dir, name), flags: os.O_WRONLY | flags, fd: -1}
	one, err := openAt(atCurrent, f.name, f.flags|os.O_CREATE)
	f.fd, f.dev, f.ino = one.fd, one.dev, one.ino
	if err != nil {
		return nil, err
	}
	return f, nil
}

// mkdir makes a folder. That of the recording is closed to others; what root makes in it is open to whoever the program becomes.
func (s *files) mkdir(name string) error {
	path := filepath.Join(s.dir, name)
	if err := syscall.Mkdir(path, 0o755); err != nil && err != syscall.EEXIST {
		return &os.PathError{Op: "mkdir", Path: path, Err: err}
	}
	f := &file{name: path, flags: syscall.O_RDONLY | syscall.O_DIRECTORY, fd: -1}
	if err := f.ready(); err != nil {
		return err
	}
	if os.Geteuid() == 0 {
		syscall.Fchmod(f.fd, 0o777)
	}
	if s.folders == nil {
		s.folders = make(map[string]*file)
	}
	s.folders[name] = f
	return nil
}

// at returns the descriptor of a folder.
func (s *files) at(dir string) (int, error) {
	f := s.folders[dir]
	if f == nil {
		return -1, &os.PathError{Op: "open", Path: filepath.Join(s.dir, dir), Err: syscall.ENOENT}
	}
	if err := f.ready(); err != nil {
		return -1, err
	}
	return f.fd, nil
}

// write writes a file in a folder, whole or not at all.
func (s *files) write(dir, name string, data []byte) error {
	folder, err := s.at(dir)
	if err != nil {
		return err
	}
	tmp := "." + name
	f, err := openAt(folder, tmp, syscall.O_WRONLY|syscall.O_CREAT|syscall.O_TRUNC)
	if err != nil {
		return err
	}
	f.name = tmp
	_, err = f.all(data)
	f.close()
	if err == nil {
		err = syscall.Renameat(folder, tmp, folder, name)
	}
	if err != nil {
		syscall.Unlinkat(folder, tmp)
	}
	return err
}

// remove removes a file in a folder.
func (s *files) remove(name string) {
	dir, base := filepath.Split(name)
	if folder, err := s.at(filepath.Clean(dir)); err == nil {
		syscall.Unlinkat(folder, base)
	}
}

// watchCrash has the runtime write to a file when the program crashes.
func (r *recorder) watchCrash() {
	f, err := r.write.files.open(crashFile, 0)
	if err != nil {
		return
	}
	r.crash = f
	if r.crashTo != nil {
		r.crashTo(uintptr(f.fd))
	}
}

// keepCrash looks whether the program has closed that file: the runtime would write into another one.
func (r *recorder) keepCrash() {
	if r.crashTo == nil || r.crash == nil || r.crash.ours() {
		return
	}
	old := r.crashTo(noFile)
	if old != uintptr(r.crash.fd) { // it is the program's own
		r.crashTo(old)
		r.crash = nil
		return
	}
	if r.crash.ready() == nil {
		r.crashTo(uintptr(r.crash.fd))
	} else {
		r.crash = nil
	}
}

// readFile returns the beginning of a file, as much as there is room for in buf.
func readFile(name string, buf []byte) []byte {
	f, err := openAt(atCurrent, name, syscall.O_RDONLY)
	if err != nil {
		return nil
	}
	defer f.close()
	n := 0
	for n < len(buf) {
		k, err := syscall.Read(f.fd, buf[n:])
		if err == syscall.EINTR {
			continue
		}
		if err != nil || k <= 0 {
			break
		}
		n += k
	}
	return buf[:n]
}
