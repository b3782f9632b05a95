package message

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// UnmarshalJSON reads a message in the JSON form of protocol buffers: bytes are base64, and large numbers may be texts.
func UnmarshalJSON(data []byte, into any, limits Limits) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	b := newBudget(len(data), limits)
	if err := b.jsonValue(dec, reflect.ValueOf(into).Elem(), "the message", maxDepth); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return fmt.Errorf("%w: something follows it", ErrForm)
	}
	return nil
}

func (b *budget) jsonValue(dec *json.Decoder, v reflect.Value, name string, depth int) error {
	tok, err := dec.Token()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrForm, err)
	}
	return b.jsonToken(dec, tok, v, name, depth)
}

func (b *budget) jsonToken(dec *json.Decoder, tok json.Token, v reflect.Value, name string, depth int) error {
	if depth == 0 {
		return fmt.Errorf("%w: messages lie deeper in each other than %d", ErrForm, maxDepth)
	}
	t := v.Type()
	bad := func() error { return fmt.Errorf("%w: the value of %s is of another type", ErrForm, name) }
	if tok == nil { // null is as if it were not there
		return nil
	}
	switch {
	case t.Kind() == reflect.Pointer:
		if err := b.take(int64(t.Elem().Size())); err != nil {
			return err
		}
		v.Set(reflect.New(t.Elem()))
		return b.jsonToken(dec, tok, v.Elem(), name, depth)
	case t.Kind() == reflect.Struct:
		if tok != json.Delim('{') {
			return bad()
		}
		s := shapeOf(t)
		for dec.More() {
			key, err := dec.Token()
			if err != nil {
				return fmt.Errorf("%w: %w", ErrForm, err)
			}
			f := s.named(key.(string))
			if f == nil {
				if err := skip(dec); err != nil {
					return fmt.Errorf("%w: %w", ErrForm, err)
				}
				continue
			}
			tok, err := dec.Token()
			if err != nil {
				return fmt.Errorf("%w: %w", ErrForm, err)
			}
			if name, ok := tok.(string); ok && f.enum != nil {
				if i := slices.Index(f.enum, name); i >= 0 {
					tok = json.Number(strconv.Itoa(i))
				}
			}
			if err := b.jsonToken(dec, tok, v.Field(f.at), f.name, depth-1); err != nil {
				return err
			}
		}
		return end(dec)
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		if tok != json.Delim('[') {
			return bad()
		}
		for dec.More() {
			if err := b.take(int64(t.Elem().Size())); err != nil {
				return err
			}
			grow(v)
			if err := b.jsonValue(dec, v.Index(v.Len()-1), name, depth-1); err != nil {
				return err
			}
			if e := v.Index(v.Len() - 1); e.Kind() == reflect.Pointer && e.IsNil() {
				return bad() // null in a list
			}
		}
		return end(dec)
	case t.Kind() == reflect.Bool:
		x, ok := tok.(bool)
		if !ok {
			return bad()
		}
		v.SetBool(x)
		return nil
	}
	text, isText := tok.(string)
	switch num, isNum := tok.(json.Number); {
	case isNum:
		text = num.String()
	case !isText:
		return bad()
	}
	if err := b.take(int64(len(text))); err != nil {
		return err
	}
	switch t.Kind() {
	case reflect.String:
		if !isText {
			return bad()
		}
		v.SetString(text)
	case reflect.Slice:
		if !isText {
			return bad()
		}
		raw, err := decodeBase64(text)
		if err != nil {
			return fmt.Errorf("%w: %s is not base64", ErrForm, name)
		}
		v.SetBytes(raw)
	case reflect.Float64:
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return bad()
		}
		v.SetFloat(x)
	case reflect.Int32, reflect.Int64:
		x, err := strconv.ParseInt(text, 10, t.Bits())
		if err != nil {
			// JavaScript writes large numbers with an exponent.
			y, err := strconv.ParseFloat(text, 64)
			if err != nil || y != math.Trunc(y) || math.Abs(y) >= math.Ldexp(1, t.Bits()-1) {
				return bad()
			}
			x = int64(y)
		}
		v.SetInt(x)
	case reflect.Uint32, reflect.Uint64:
		x, err := strconv.ParseUint(text, 10, t.Bits())
		if err != nil {
			return bad()
		}
		v.SetUint(x)
	}
	return nil
}

// named returns the field of a name in JSON, or of the name that it has in the definition of the message: max_nodes for maxNodes.
func (s *shape) named(name string) *field {
	if f := s.byName[name]; f != nil || !strings.Contains(name, "_") {
		return f
	}
	var b strings.Builder
	up := false
	for _, c := range name {
		switch {
		case c == '_':
			up = true
		case up && c >= 'a' && c <= 'z':
			b.WriteRune(c - 'a' + 'A')
			up = false
		default:
			b.WriteRune(c)
			up = false
		}
	}
	return s.byName[b.String()]
}

func decodeBase64(text string) ([]byte, error) {
	text = strings.TrimRight(text, "=")
	if strings.ContainsAny(text, "-_") {
		return base64.RawURLEncoding.DecodeString(text)
	}
	return base64.RawStdEncoding.DecodeString(text)
}

// skip reads over a value.
func skip(dec *json.Decoder) error {
	for depth := 0; ; {
		tok, err := dec.Token()
		if err != nil {
			return err
		}
		switch tok {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		switch {
		case depth == 0:
			return nil
		case depth > maxDepth:
			return errors.New("it lies too deep")
		}
	}
}

// end reads what closes a list or a message.
func end(dec *json.Decoder) error {
	if _, err := dec.Token(); err != nil {
		return fmt.Errorf("%w: %w", ErrForm, err)
	}
	return nil
}

// MarshalJSON writes a message in the JSON form of protocol buffers: what is zero is left out.
func MarshalJSON(m any) []byte {
	// Flame graphs take some hundred kB: a slice that grows from nothing would copy them many times.
	return appendJSON(make([]byte, 0, 64<<10), reflect.ValueOf(m).Elem())
}

func appendJSON(b []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Pointer:
		return appendJSON(b, v.Elem())
	case reflect.Struct:
		s := shapeOf(v.Type())
		b = append(b, '{')
		first := true
		for i := range s.fields {
			f := v.Field(i)
			if f.IsZero() || f.Kind() == reflect.Slice && f.Len() == 0 {
				continue
			}
			if !first {
				b = append(b, ',')
			}
			first = false
			b = append(appendText(b, s.fields[i].name), ':')
			b = appendJSON(b, f)
		}
		return append(b, '}')
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			b = append(b, '"')
			b = base64.StdEncoding.AppendEncode(b, v.Bytes())
			return append(b, '"')
		}
		b = append(b, '[')
		if numbers, ok := v.Interface().([]int64); ok { // most of a flame graph
			return appendNumbers(b, numbers)
		}
		for i := range v.Len() {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSON(b, v.Index(i))
		}
		return append(b, ']')
	case reflect.String:
		return appendText(b, v.String())
	case reflect.Bool:
		return strconv.AppendBool(b, v.Bool())
	case reflect.Int32:
		return strconv.AppendInt(b, v.Int(), 10)
	case reflect.Uint32:
		return strconv.AppendUint(b, v.Uint(), 10)
	case reflect.Int64: // JavaScript has no numbers of 64 bits
		return append(strconv.AppendInt(append(b, '"'), v.Int(), 10), '"')
	case reflect.Uint64:
		return append(strconv.AppendUint(append(b, '"'), v.Uint(), 10), '"')
	case reflect.Float64:
		switch x := v.Float(); {
		case math.IsNaN(x):
			return append(b, `"NaN"`...)
		case math.IsInf(x, 1):
			return append(b, `"Infinity"`...)
		case math.IsInf(x, -1):
			return append(b, `"-Infinity"`...)
		default:
			return strconv.AppendFloat(b, x, 'g', -1, 64)
		}
	}
	panic(fmt.Sprintf("message: there is no JSON for %s", v.Type()))
}

// appendNumbers writes the rest of a list of numbers of 64 bits.
func appendNumbers(b []byte, numbers []int64) []byte {
	b = slices.Grow(b, 8*len(numbers))
	for i, n := range numbers {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(strconv.AppendInt(append(b, '"'), n, 10), '"')
	}
	return append(b, ']')
}

// plain reports whether a character stands for itself in a text.
func plain(c byte) bool {
	return c >= ' ' && c < 0x7f && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&'
}

// appendText writes a text such that it can stand in a web page, too.
func appendText(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for i := 0; i < len(s); {
		from := i
		for i < len(s) && plain(s[i]) {
			i++
		}
		if b = append(b, s[from:i]...); i == len(s) {
			break
		}
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == '\u2028' || r == '\u2029' {
				b = append(b, `\u202`...)
				b = append(b, hex[r&0xf])
			} else {
				b = utf8.AppendRune(b, r)
			}
			i += n
			continue
		}
		if c == '"' || c == '\\' {
			b = append(b, '\\', c)
		} else {
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
		}
		i++
	}
	return append(b, '"')
}
