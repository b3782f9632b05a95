//go:build !live

package testrun

// IsLive says that all tests are to run, also those that record, build and measure for real.
const IsLive = false
