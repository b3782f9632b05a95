//go:build darwin || freebsd

package scratch

import "golang.org/x/sys/unix"

// noexec reports whether no program can run in a folder.
func noexec(dir string) bool {
	var fs unix.Statfs_t
	return unix.Statfs(dir, &fs) == nil && fs.Flags&unix.MNT_NOEXEC != 0
}
