//go:build linux && !amd64 && !arm64

package perf

import "encoding/binary"

// stackRegisters is 0: nobody has tried which registers they are.
const stackRegisters = 0

var nativeEndian = binary.NativeEndian
