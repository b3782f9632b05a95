package profile

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"
)

const (
	keyLocations = 1<<3 | wireBytes
	keyLocation  = 1<<3 | wireVarint
	keyValues    = 2<<3 | wireBytes
	keyValue     = 2<<3 | wireVarint
	keyLabel     = 3<<3 | wireBytes

	keySample = 2<<3 | wireBytes // of the profile
)

// samples reads the samples that lie in the buffer one after the other, and reports whether there was one. Whatever is unusual it leaves to field.
func (d *decoder) samples() (took bool, err error) {
	for m := d.s.buf; len(m) > 2 && m[0] == keySample; m = d.s.buf {
		size, at := int(m[1]), 2
		if size >= 0x80 {
			if m[2] >= 0x80 {
				break
			}
			size, at = size&0x7f|int(m[2])<<7, 3
		}
		if len(m) < at+size {
			break
		}
		if err := d.sample(m[at : at+size]); err != nil {
			return true, err
		}
		d.s.skip(at + size)
		took = true
	}
	return took, nil
}

// sample reads a sample. This is where nearly all the time goes, so it takes the fields that matter by their
// key bytes and leaves the rest to the general way.
func (d *decoder) sample(m []byte) error {
	d.wireIDs, d.vals, d.label = nil, d.vals[:0], d.label[:0]
	for len(m) > 0 {
		if key := m[0]; len(m) > 2 && (key == keyLocations || key == keyValues || key == keyLabel) && (m[1] < 0x80 || m[2] < 0x80 && key != keyLabel) {
			size, at := int(m[1]), 2
			if size >= 0x80 {
				size, at = size&0x7f|int(m[2])<<7, 3
			}
			end := at + size
			if end > len(m) {
				return errShort
			}
			data := m[at:end]
			var err error
			switch key {
			case keyLocations:
				if len(d.wireIDs) == 0 {
					d.wireIDs = data[:len(data):len(data)]
				} else {
					d.wireIDs = append(d.wireIDs, data...)
				}
			case keyValues:
				err = d.numbers(data)
			case keyLabel:
				d.label = append(d.label, m[1])
				d.label = append(d.label, data...)
			}
			if err != nil {
				return err
			}
			m = m[end:]
			continue
		}
		var f field
		rest, err := f.next(m)
		if err != nil {
			return err
		}
		m = rest
		switch f.num<<3 | uint64(f.wire) {
		case keyLocations:
			if len(d.wireIDs) == 0 {
				d.wireIDs = f.data[:len(f.data):len(f.data)]
			} else {
				d.wireIDs = append(d.wireIDs, f.data...)
			}
		case keyLocation:
			d.wireIDs = binary.AppendUvarint(d.wireIDs, f.u64)
		case keyValues:
			err = d.numbers(f.data)
		case keyValue:
			d.vals = append(d.vals, int64(f.u64))
		case keyLabel:
			d.label = binary.AppendUvarint(d.label, uint64(len(f.data)))
			d.label = append(d.label, f.data...)
		default:
			if f.num >= 1 && f.num <= 3 {
				return errType
			}
		}
		if err != nil {
			return err
		}
	}
	return d.addSample()
}

// numbers reads packed values.
func (d *decoder) numbers(p []byte) error {
	if len(d.vals)+len(p) > 10*maxValues {
		return limitError{fmt.Sprintf("%d values in one sample", maxValues)}
	}
	for i := 0; i < len(p); {
		v := uint64(p[i])
		i++
		if v >= 0x80 {
			v &= 0x7f
			for shift := 7; ; shift += 7 {
				if i == len(p) || shift > 63 {
					return errVarint
				}
				c := p[i]
				i++
				v |= uint64(c&0x7f) << shift
				if c < 0x80 {
					break
				}
			}
		}
		d.vals = append(d.vals, int64(v))
	}
	return nil
}

// addSample adds what sample has read to the profile.
func (d *decoder) addSample() error {
	b := d.b
	if len(b.stack) == 0 {
		if len(d.vals) > maxValues {
			return limitError{fmt.Sprintf("%d values in one sample", maxValues)}
		}
		b.values = make([][]int64, len(d.vals))
	}
	if len(d.vals) != len(b.values) {
		if d.oddValues < 0 {
			d.oddValues = len(d.vals)
		}
		return nil
	}
	var set uint32
	if len(d.label) > 0 {
		var ok bool
		if set, ok = d.labelSets[string(d.label)]; !ok {
			labels, err := decodeLabels(d.label)
			if err != nil {
				return err
			}
			if len(d.rawLabels) > math.MaxInt32 {
				return limitError{"2 billion label sets"}
			}
			set = uint32(len(d.rawLabels))
			d.rawLabels = append(d.rawLabels, labels)
			d.labelSets[string(d.label)] = set
			d.labelSize += int64(len(d.label)) + int64(len(labels))*int64(unsafe.Sizeof(rawLabel{})) + labelSetSize
		}
	}
	at, err := d.ids.add(b.stacks, d.wireIDs)
	if err != nil {
		return err
	}
	b.add(at, set, d.vals)
	return nil
}

// decodeLabels reads labels, each with its length in front.
func decodeLabels(b []byte) ([]rawLabel, error) {
	var labels []rawLabel
	for len(b) > 0 {
		if len(labels) == maxLabels {
			return nil, limitError{fmt.Sprintf("%d labels of one sample", maxLabels)}
		}
		size, n := uvarint(b)
		b = b[n:]
		var l rawLabel
		err := scan(b[:size], 5, func(f *field) (err error) {
			v := int64(f.uint(&err))
			switch f.num {
			case 1:
				l.key = v
			case 2:
				l.str = v
			case 3:
				l.num = v
			case 4:
				l.unit = v
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		labels = append(labels, l)
		b = b[size:]
	}
	return labels, nil
}
