//go:build !linux

package worker

// limitData does nothing: there is no such limit, or the system does not keep to it.
func limitData(uint64) {}

// resident returns how much memory this process has of the machine; 0 is that it is not known, and that of Go has to do.
func resident() uint64 { return 0 }
