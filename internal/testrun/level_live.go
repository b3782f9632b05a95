//go:build live && !nightly

package testrun

const (
	// Tag is the build tag of this run.
	Tag = "live"
	// IsLive says that hone is also tried on what records, builds and measures for real.
	IsLive = true
	// IsNightly says that nothing is left out.
	IsNightly = false
)
