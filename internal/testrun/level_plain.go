//go:build !live && !nightly

package testrun

const (
	// Tag is the build tag of this run.
	Tag = ""
	// IsLive says that hone is also tried on what records, builds and measures for real.
	IsLive = false
	// IsNightly says that nothing is left out.
	IsNightly = false
)
