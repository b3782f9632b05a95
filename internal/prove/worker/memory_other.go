//go:build !linux

package worker

func limitMemory() {}

// resident returns how much memory this process has of the machine; 0 is that it is not known, and that of Go has to do.
func resident() uint64 { return 0 }
