package profiletest

import "encoding/binary"

// Field numbers of profile.proto.
const (
	profileSampleType  = 1
	profileSample      = 2
	profileMapping     = 3
	profileLocation    = 4
	profileFunction    = 5
	profileString      = 6
	profileTime        = 9
	profileDuration    = 10
	profilePeriodType  = 11
	profilePeriod      = 12
	profileDefaultType = 14

	valueTypeType = 1
	valueTypeUnit = 2

	sampleLocation = 1
	sampleValue    = 2
	sampleLabel    = 3

	labelKey  = 1
	labelStr  = 2
	labelNum  = 3
	labelUnit = 4

	mappingID           = 1
	mappingStart        = 2
	mappingLimit        = 3
	mappingOffset       = 4
	mappingFile         = 5
	mappingBuildID      = 6
	mappingHasFunctions = 7

	locationID      = 1
	locationMapping = 2
	locationAddress = 3
	locationLine    = 4

	lineFunction = 1
	lineLine     = 2

	functionID         = 1
	functionName       = 2
	functionSystemName = 3
	functionFile       = 4
	functionStart      = 5
)

// appendNumber appends a number field. Zero is left out, as everywhere in profiles.
func appendNumber(b []byte, field int, v uint64) []byte {
	if v == 0 {
		return b
	}
	b = binary.AppendUvarint(b, uint64(field)<<3)
	return binary.AppendUvarint(b, v)
}

// appendBytes appends a field of bytes: a string, a message or packed numbers.
func appendBytes[T string | []byte](b []byte, field int, v T) []byte {
	b = binary.AppendUvarint(b, uint64(field)<<3|2)
	b = binary.AppendUvarint(b, uint64(len(v)))
	return append(b, v...)
}
