//go:build !live && !nightly

package testrun

const (
	// IsLive says that hone is also tried on what records, builds and measures for real.
	IsLive = false
	// IsNightly says that nothing is left out.
	IsNightly = false
)
