//go:build !unix

package cli

// Quiet does nothing where a process cannot start again: what GODEBUG asks for, hone prints, too.
func Quiet() {}
