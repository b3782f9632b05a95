// Package scratch makes temporary folders in which programs are built and run. All of them are below one folder of this process, which
// holds a lock on it: if a process was killed, the next one removes the folders that it left behind.
package scratch

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/hone-perf/hone/internal/safefile"
)

const (
	prefix   = "hone-run-"
	lockName = ".lock"

	// A folder has no lock for the first instant of its process alone. Later it has none where a compiler that outlived its process has made the
	// folder again.
	unlocked = 5 * time.Second
)

// Variable is the variable of the environment that says where programs are built and run, as it is for the go command. Without it, it is where
// all temporary files are.
const Variable = "GOTMPDIR"

// NoExec is that the temporary folder is one in which the system runs no programs.
type NoExec struct{ Dir string }

func (e *NoExec) Error() string {
	return fmt.Sprintf("no program can run in the temporary folder %s, since it is mounted noexec", e.Dir)
}

// Unusable is that no folder can be made in the temporary folder.
type Unusable struct {
	Dir string
	Err error
}

func (e *Unusable) Error() string {
	why := e.Err
	var path *fs.PathError
	if errors.As(why, &path) {
		why = path.Err // the name in it is one that nobody knows
	}
	return fmt.Sprintf("nothing can be written to the temporary folder %s: %v", e.Dir, why)
}

func (e *Unusable) Unwrap() error { return e.Err }

// own is the folder of this process. It exists from the first Dir until Clean.
var own struct {
	sync.Mutex
	dir  string
	lock *os.File
}

// Dir makes a folder for programs that are built and run, which whoever asked for it removes. Its name begins with a text.
func Dir(name string) (string, error) {
	in, err := Own()
	if err != nil {
		return "", err
	}
	return os.MkdirTemp(in, name)
}

// Files makes a folder for files that are not run.
func Files(name string) (string, error) {
	in, err := folder()
	if err != nil {
		return "", err
	}
	return os.MkdirTemp(in, name)
}

// Own returns the folder of this process, in which programs can run.
func Own() (string, error) {
	dir, err := folder()
	if err == nil && noexec(dir) {
		return "", &NoExec{filepath.Dir(dir)}
	}
	return dir, err
}

// Made returns the folder of this process where there is one, and "" otherwise.
func Made() string {
	own.Lock()
	defer own.Unlock()
	return own.dir
}

func folder() (string, error) {
	own.Lock()
	defer own.Unlock()
	if _, err := os.Stat(own.dir); err != nil { // none yet, or somebody tidied up
		in := cmp.Or(os.Getenv(Variable), os.TempDir())
		sweep(in)
		dir, lock, err := begin(in)
		if err != nil {
			return "", err
		}
		if own.lock != nil {
			own.lock.Close()
		}
		own.dir, own.lock = dir, lock
	}
	return own.dir, nil
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

// begin makes a folder with a lock that is held.
func begin(in string) (dir string, lock *os.File, err error) {
	in, err = filepath.Abs(in) // TMPDIR may be relative, and programs run in other folders
	if err != nil {
		return "", nil, err
	}
	if dir, err = os.MkdirTemp(in, prefix); err != nil {
		return "", nil, &Unusable{in, err}
	}
	lock, err = hold(filepath.Join(dir, lockName))
	if err != nil {
		os.RemoveAll(dir)
		return "", nil, err
	}
	return dir, lock, nil
}

// hold makes a lock. It gets its name when it is held already, so that nobody takes the folder for one of a process that is gone.
func hold(name string) (*os.File, error) {
	as := name + "-new"
	if runtime.GOOS == "windows" { // where no other process can remove it from the first moment, nor can it be renamed
		as = name
	}
	f, err := os.OpenFile(as, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	safefile.Lock(f)
	if as != name {
		if err := os.Rename(as, name); err != nil {
			f.Close()
			return nil, err
		}
	}
	return f, nil
}

// sweep removes the folders of processes that are gone. What cannot be removed, such as that of another user, is left.
func sweep(in string) {
	list, err := os.ReadDir(in)
	if err != nil {
		return
	}
	for _, e := range list {
		dir := filepath.Join(in, e.Name())
		if e.IsDir() && strings.HasPrefix(e.Name(), prefix) && abandoned(dir, e) {
			os.RemoveAll(dir)
		}
	}
}

func abandoned(dir string, e os.DirEntry) bool {
	lock := filepath.Join(dir, lockName)
	if _, err := os.Lstat(lock); errors.Is(err, fs.ErrNotExist) {
		st, err := e.Info()
		return err == nil && time.Since(st.ModTime()) > unlocked
	}
	return safefile.Abandoned(lock)
}
