//go:build !windows

package load

// The numbers of package syscall are the real ones.

func isRefused(error) bool { return false }
func isReset(error) bool   { return false }
func isNoPorts(error) bool { return false }
