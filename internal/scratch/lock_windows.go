package scratch

import "os"

// hold makes a file that cannot be removed until it is closed, or the process ends.
func hold(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
}

// abandoned reports whether there is a lock that nobody holds, and removes it.
func abandoned(name string) bool { return os.Remove(name) == nil }
