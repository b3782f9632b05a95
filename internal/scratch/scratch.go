// Package scratch makes temporary folders. They are in one folder of the process, which holds a lock: when a process was killed, the next one
// removes what it left behind.
package scratch

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
)

const (
	prefix   = "hone-"
	lockName = ".lock"
)

// own is the folder of this process. It exists from the first Dir until Clean.
var own struct {
	sync.Mutex
	dir  string
	lock *os.File
}

// Dir makes a folder whose name begins with a text, which whoever asked for it removes.
func Dir(name string) (string, error) {
	own.Lock()
	defer own.Unlock()
	if _, err := os.Stat(own.dir); err != nil { // none yet, or somebody tidied up
		sweep(os.TempDir())
		dir, lock, err := begin(os.TempDir())
		if err != nil {
			return "", err
		}
		if own.lock != nil {
			own.lock.Close()
		}
		own.dir, own.lock = dir, lock
	}
	return os.MkdirTemp(own.dir, name)
}

// Clean removes the folder of this process, with what is left in it.
func Clean() {
	own.Lock()
	defer own.Unlock()
	if own.dir == "" {
		return
	}
	own.lock.Close()
	os.RemoveAll(own.dir)
	own.dir, own.lock = "", nil
}

// begin makes a folder with a lock that is held. The lock gets its name when it is held already, so that nobody takes the folder for one of a
// process that is gone.
func begin(in string) (dir string, lock *os.File, err error) {
	in, err = filepath.Abs(in) // TMPDIR may be relative, and programs run in other folders
	if err != nil {
		return "", nil, err
	}
	if dir, err = os.MkdirTemp(in, prefix); err != nil {
		return "", nil, err
	}
	lock, err = hold(filepath.Join(dir, lockName))
	if err != nil {
		os.RemoveAll(dir)
		return "", nil, err
	}
	return dir, lock, nil
}

// sweep removes the folders of processes that are gone. What cannot be removed, such as that of another user, is left.
func sweep(in string) {
	list, err := os.ReadDir(in)
	if err != nil {
		return
	}
	for _, e := range list {
		dir := filepath.Join(in, e.Name())
		if e.IsDir() && strings.HasPrefix(e.Name(), prefix) && abandoned(filepath.Join(dir, lockName)) {
			os.RemoveAll(dir)
		}
	}
}
