//go:build !linux

package capture

func kernel() string { return "" }

func killedByKernel(int) string { return "" }
