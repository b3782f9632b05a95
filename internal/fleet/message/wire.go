// Package message reads and writes the few messages that fleet servers exchange, as protocol buffers and as JSON, without generated
// code.
//
// A message is a struct whose fields have the tags pb, with the number of the field, and json, with its name. Fields are string,
// []byte, bool, float64, int32, uint32, int64, uint64, pointers to those where "not set" means something, messages and
// pointers to them, and slices of all of these but bool. A number in a pb tag that ends in "f" is of fixed size, and one
// that ends in "p" is of a list that comes packed, and in no other way. A tag enum has the names, with spaces between
// them, that numbers from 0 may have in JSON.
package message

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// Limits bound what a message may make of its bytes.
type Limits struct {
	Memory int64 // bytes of what is read, about; 0 is 64 for each byte of input and 1 MB
}

// maxDepth is how deep messages may lie in each other.
const maxDepth = 100

// ErrForm says that bytes are not the message that they should be, or of another version of it.
var ErrForm = errors.New("not a valid message of the expected type")

// ErrMemory says that a message would take more memory than it may.
var ErrMemory = errors.New("the message has more entries than its size justifies")

// The wire types of protocol buffers.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

// A field is one field of a struct.
type field struct {
	num    uint64
	fixed  bool
	packed bool
	name   string   // in JSON
	enum   []string // names of its numbers in JSON, from 0
	at     int
}

// A shape is what the tags of a struct say.
type shape struct {
	fields []field // in the order of the struct
	byNum  map[uint64]*field
	byName map[string]*field
}

var shapes sync.Map // of reflect.Type

func shapeOf(t reflect.Type) *shape {
	if s, ok := shapes.Load(t); ok {
		return s.(*shape)
	}
	s := &shape{byNum: map[uint64]*field{}, byName: map[string]*field{}, fields: make([]field, t.NumField())}
	for i := range t.NumField() {
		tag := t.Field(i).Tag.Get("pb")
		digits, packed := strings.CutSuffix(tag, "p")
		digits, fixed := strings.CutSuffix(digits, "f")
		num, err := strconv.ParseUint(digits, 10, 32)
		if err != nil {
			panic(fmt.Sprintf("message: %s.%s has the tag %q", t, t.Field(i).Name, tag))
		}
		f := &s.fields[i]
		*f = field{num: num, fixed: fixed, packed: packed, name: t.Field(i).Tag.Get("json"), at: i}
		if names := t.Field(i).Tag.Get("enum"); names != "" {
			f.enum = strings.Split(names, " ")
		}
		s.byNum[num], s.byName[f.name] = f, f
	}
	got, _ := shapes.LoadOrStore(t, s)
	return got.(*shape)
}

// A budget is memory that is left.
type budget struct{ left int64 }

func newBudget(n int, limits Limits) *budget {
	if limits.Memory == 0 {
		limits.Memory = 1<<20 + 64*int64(n)
	}
	return &budget{limits.Memory}
}

func (b *budget) take(n int64) error {
	if b.left -= n; b.left < 0 {
		return ErrMemory
	}
	return nil
}

// Unmarshal reads a message in the form of protocol buffers into a struct. Texts are copies, bytes are not.
func Unmarshal(data []byte, into any, limits Limits) error {
	v := reflect.ValueOf(into).Elem()
	return newBudget(len(data), limits).message(data, v, maxDepth)
}

func (b *budget) message(data []byte, v reflect.Value, depth int) error {
	if depth == 0 {
		return fmt.Errorf("%w: messages lie deeper in each other than %d", ErrForm, maxDepth)
	}
	s := shapeOf(v.Type())
	for len(data) > 0 {
		key, n := binary.Uvarint(data)
		if n <= 0 || key>>3 == 0 || key>>3 > 1<<29 {
			return fmt.Errorf("%w: a field has no number", ErrForm)
		}
		data = data[n:]
		wire := int(key & 7)
		var num uint64
		var bytes []byte
		switch wire {
		case wireVarint:
			if num, n = binary.Uvarint(data); n <= 0 {
				return fmt.Errorf("%w: a number is cut off", ErrForm)
			}
			data = data[n:]
		case wireFixed64:
			if len(data) < 8 {
				return fmt.Errorf("%w: a number is cut off", ErrForm)
			}
			num, data = binary.LittleEndian.Uint64(data), data[8:]
		case wireFixed32:
			if len(data) < 4 {
				return fmt.Errorf("%w: a number is cut off", ErrForm)
			}
			num, data = uint64(binary.LittleEndian.Uint32(data)), data[4:]
		case wireBytes:
			size, n := binary.Uvarint(data)
			if n <= 0 || size > uint64(len(data)-n) {
				return fmt.Errorf("%w: a field is longer than its message", ErrForm)
			}
			bytes, data = data[n:n+int(size)], data[n+int(size):]
		default:
			return fmt.Errorf("%w: unknown wire type %d", ErrForm, wire)
		}
		f := s.byNum[key>>3]
		if f == nil {
			continue // of a later version
		}
		if err := b.set(v.Field(f.at), f, wire, num, bytes, depth); err != nil {
			return err
		}
	}
	return nil
}

// set gives a field the value that was read.
func (b *budget) set(v reflect.Value, f *field, wire int, num uint64, bytes []byte, depth int) error {
	t := v.Type()
	switch {
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		if isNumber(t.Elem().Kind()) {
			if wire == wireBytes {
				return b.list(v, f, bytes)
			}
			if f.packed {
				return wrong(f)
			}
		}
		if err := b.take(int64(t.Elem().Size())); err != nil {
			return err
		}
		grow(v)
		return b.set(v.Index(v.Len()-1), f, wire, num, bytes, depth)
	case t.Kind() == reflect.Pointer:
		if v.IsNil() {
			if err := b.take(int64(t.Elem().Size())); err != nil {
				return err
			}
			v.Set(reflect.New(t.Elem()))
		}
		return b.set(v.Elem(), f, wire, num, bytes, depth)
	case t.Kind() == reflect.Struct:
		if wire != wireBytes {
			return wrong(f)
		}
		return b.message(bytes, v, depth-1)
	case t.Kind() == reflect.String:
		if wire != wireBytes {
			return wrong(f)
		}
		if !utf8.Valid(bytes) {
			return fmt.Errorf("%w: the text of %s is not UTF-8", ErrForm, f.name)
		}
		if err := b.take(int64(len(bytes))); err != nil {
			return err
		}
		v.SetString(string(bytes))
	case t.Kind() == reflect.Slice:
		if wire != wireBytes {
			return wrong(f)
		}
		v.SetBytes(bytes)
	default:
		if wire != wireOf(t.Kind(), f) {
			return wrong(f)
		}
		setNumber(v, num)
	}
	return nil
}

// grow makes a slice longer by one.
func grow(v reflect.Value) {
	n := v.Len()
	if n == v.Cap() {
		v.Grow(max(1, n))
	}
	v.SetLen(n + 1)
	v.Index(n).SetZero()
}

func wrong(f *field) error {
	return fmt.Errorf("%w: field %d, %s, is of another type", ErrForm, f.num, f.name)
}

func isNumber(k reflect.Kind) bool {
	switch k {
	case reflect.Bool, reflect.Int32, reflect.Uint32, reflect.Int64, reflect.Uint64, reflect.Float64:
		return true
	}
	return false
}

func wireOf(k reflect.Kind, f *field) int {
	switch {
	case k == reflect.Float64 || f.fixed:
		return wireFixed64
	default:
		return wireVarint
	}
}

func setNumber(v reflect.Value, num uint64) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(num != 0)
	case reflect.Int32:
		v.SetInt(int64(int32(num)))
	case reflect.Int64:
		v.SetInt(int64(num))
	case reflect.Uint32:
		v.SetUint(uint64(uint32(num)))
	case reflect.Uint64:
		v.SetUint(num)
	case reflect.Float64:
		v.SetFloat(math.Float64frombits(num))
	}
}

// list reads many numbers at once.
func (b *budget) list(v reflect.Value, f *field, bytes []byte) error {
	size := int64(v.Type().Elem().Size())
	for len(bytes) > 0 {
		var num uint64
		if wireOf(v.Type().Elem().Kind(), f) == wireFixed64 {
			if len(bytes) < 8 {
				return wrong(f)
			}
			num, bytes = binary.LittleEndian.Uint64(bytes), bytes[8:]
		} else {
			n := 0
			if num, n = binary.Uvarint(bytes); n <= 0 {
				return wrong(f)
			}
			bytes = bytes[n:]
		}
		if err := b.take(size); err != nil {
			return err
		}
		grow(v)
		setNumber(v.Index(v.Len()-1), num)
	}
	return nil
}

// Marshal writes a message in the form of protocol buffers: a pointer to a struct.
func Marshal(m any) []byte { return appendMessage(nil, reflect.ValueOf(m).Elem()) }

func appendMessage(b []byte, v reflect.Value) []byte {
	s := shapeOf(v.Type())
	for i := range s.fields {
		b = appendField(b, &s.fields[i], v.Field(i), false)
	}
	return b
}

func appendKey(b []byte, f *field, wire int) []byte {
	return binary.AppendUvarint(b, f.num<<3|uint64(wire))
}

func appendField(b []byte, f *field, v reflect.Value, always bool) []byte {
	switch k := v.Kind(); {
	case k == reflect.Pointer:
		if !v.IsNil() {
			b = appendField(b, f, v.Elem(), true)
		}
	case k == reflect.Struct:
		// How long it is, which goes before it, is not known yet.
		sub := appendMessage(nil, v)
		b = binary.AppendUvarint(appendKey(b, f, wireBytes), uint64(len(sub)))
		b = append(b, sub...)
	case k == reflect.String:
		if v.Len() > 0 || always {
			b = binary.AppendUvarint(appendKey(b, f, wireBytes), uint64(v.Len()))
			b = append(b, v.String()...)
		}
	case k == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8:
		if v.Len() > 0 || always {
			b = binary.AppendUvarint(appendKey(b, f, wireBytes), uint64(v.Len()))
			b = append(b, v.Bytes()...)
		}
	case k == reflect.Slice && isNumber(v.Type().Elem().Kind()):
		if v.Len() > 0 {
			var sub []byte
			if all, ok := reflect.TypeAssert[[]int64](v); ok && wireOf(reflect.Int64, f) == wireVarint {
				for _, n := range all { // most of a flame graph
					sub = binary.AppendUvarint(sub, uint64(n))
				}
			} else {
				for i := range v.Len() {
					sub = appendNumber(sub, f, v.Index(i))
				}
			}
			b = binary.AppendUvarint(appendKey(b, f, wireBytes), uint64(len(sub)))
			b = append(b, sub...)
		}
	case k == reflect.Slice:
		for i := range v.Len() {
			b = appendField(b, f, v.Index(i), true)
		}
	case always || !v.IsZero():
		b = appendNumber(appendKey(b, f, wireOf(k, f)), f, v)
	}
	return b
}

func appendNumber(b []byte, f *field, v reflect.Value) []byte {
	var num uint64
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			num = 1
		}
	case reflect.Int32, reflect.Int64:
		num = uint64(v.Int())
	case reflect.Uint32, reflect.Uint64:
		num = v.Uint()
	case reflect.Float64:
		num = math.Float64bits(v.Float())
	}
	if wireOf(v.Kind(), f) == wireFixed64 {
		return binary.LittleEndian.AppendUint64(b, num)
	}
	return binary.AppendUvarint(b, num)
}
