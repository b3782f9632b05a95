package clickhouse

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/hone-perf/hone/internal/unit"
)

// ClickHouse's format Native is blocks of columns. A block is how many columns and rows it has, and then for each column its name,
// its type and its values, one after the other: numbers little-endian, texts with their length before them, arrays as where each ends
// and then what is in all of them.

// A column is a name and values: []string, []uint8, []uint64, []int64, or arrays of these, one for each row.
type column struct {
	name   string
	values any
}

// rowsOf returns how many rows a column has.
func rowsOf(values any) int {
	switch v := values.(type) {
	case []string:
		return len(v)
	case []uint8:
		return len(v)
	case []uint64:
		return len(v)
	case []int64:
		return len(v)
	case [][]string:
		return len(v)
	case [][]uint64:
		return len(v)
	case [][]int64:
		return len(v)
	}
	panic(fmt.Sprintf("clickhouse: a column of %T", values))
}

// appendBlock appends a block of columns, which have the same number of rows.
func appendBlock(b []byte, columns []column) []byte {
	b = binary.AppendUvarint(b, uint64(len(columns)))
	b = binary.AppendUvarint(b, uint64(rowsOf(columns[0].values)))
	for _, c := range columns {
		b = appendText(b, c.name)
		switch v := c.values.(type) {
		case []string:
			b = appendTexts(appendText(b, "String"), v)
		case []uint8:
			b = append(appendText(b, "UInt8"), v...)
		case []uint64:
			b = appendNumbers(appendText(b, "UInt64"), v)
		case []int64:
			b = appendNumbers(appendText(b, "Int64"), v)
		case [][]string:
			b = appendArrays(appendText(b, "Array(String)"), v, appendTexts)
		case [][]uint64:
			b = appendArrays(appendText(b, "Array(UInt64)"), v, appendNumbers[uint64])
		case [][]int64:
			b = appendArrays(appendText(b, "Array(Int64)"), v, appendNumbers[int64])
		}
	}
	return b
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendTexts(b []byte, texts []string) []byte {
	for _, s := range texts {
		b = appendText(b, s)
	}
	return b
}

func appendNumbers[T uint64 | int64](b []byte, numbers []T) []byte {
	for _, n := range numbers {
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
	return b
}

func appendArrays[T any](b []byte, arrays [][]T, values func([]byte, []T) []byte) []byte {
	end := uint64(0)
	for _, a := range arrays {
		end += uint64(len(a))
		b = binary.LittleEndian.AppendUint64(b, end)
	}
	for _, a := range arrays {
		b = values(b, a)
	}
	return b
}

// A blockReader reads blocks.
type blockReader struct {
	*bufio.Reader
	left int64 // bytes that may still be read
}

// errAnswer says that an answer was longer than what is taken of one.
var errAnswer = fmt.Errorf("the answer has more than %s; ask for less time or fewer services", unit.Size(maxAnswer))

// maxAnswer bounds what an answer may take, in bytes.
const maxAnswer = 2 << 30

// readBlocks reads blocks to the end and appends their columns to those that into points to.
func readBlocks(r io.Reader, into []any) error {
	b := &blockReader{Reader: bufio.NewReaderSize(r, 64<<10), left: maxAnswer}
	for {
		if _, err := b.Peek(1); errors.Is(err, io.EOF) {
			return nil
		}
		if err := b.block(into); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return fmt.Errorf("reading the answer: %w", err)
		}
	}
}

func (b *blockReader) block(into []any) error {
	columns, err := binary.ReadUvarint(b)
	if err != nil {
		return err
	}
	rows, err := binary.ReadUvarint(b)
	if err != nil {
		return err
	}
	if columns == 0 && rows == 0 {
		return nil
	}
	if columns != uint64(len(into)) {
		return fmt.Errorf("it has %d columns, not %d", columns, len(into))
	}
	for _, to := range into {
		if _, err := b.text(); err != nil { // the name
			return err
		}
		kind, err := b.text()
		if err != nil {
			return err
		}
		if rows == 0 {
			continue
		}
		if err := b.column(kind, rows, to); err != nil {
			return err
		}
	}
	return nil
}

func (b *blockReader) column(kind string, rows uint64, to any) error {
	n := 0
	if _, err := fmt.Sscanf(kind, "FixedString(%d)", &n); err == nil {
		kind = "FixedString"
	}
	switch to := to.(type) {
	case *[]string:
		if kind == "FixedString" {
			return appendRead(b, to, rows, uint64(n), func(b []byte) string { return string(b) })
		}
		if kind == "String" {
			return b.texts(to, rows)
		}
	case *[]uint8:
		if kind == "UInt8" {
			return appendRead(b, to, rows, 1, func(b []byte) uint8 { return b[0] })
		}
	case *[]uint64:
		if kind == "UInt64" {
			return appendRead(b, to, rows, 8, binary.LittleEndian.Uint64)
		}
	case *[]int64:
		if kind == "Int64" {
			return appendRead(b, to, rows, 8, readInt64)
		}
	case *[][]string:
		if kind == "Array(String)" {
			return readArrays(b, to, rows, b.texts)
		}
	case *[][]uint64:
		if kind == "Array(UInt64)" {
			return readArrays(b, to, rows, func(to *[]uint64, n uint64) error { return appendRead(b, to, n, 8, binary.LittleEndian.Uint64) })
		}
	case *[][]int64:
		if kind == "Array(Int64)" {
			return readArrays(b, to, rows, func(to *[]int64, n uint64) error { return appendRead(b, to, n, 8, readInt64) })
		}
	}
	return fmt.Errorf("a column of type %s cannot be read into %T", shortType(kind), to)
}

func shortType(s string) string {
	if len(s) > 60 {
		s = s[:60] + "…"
	}
	return strings.ToValidUTF8(s, "?")
}

func readInt64(b []byte) int64 { return int64(binary.LittleEndian.Uint64(b)) }

// take counts bytes that are going to be read.
func (b *blockReader) take(n uint64) error {
	if n > uint64(b.left) {
		return errAnswer
	}
	b.left -= int64(n)
	return nil
}

// appendRead reads n values of some size. Memory is taken as bytes come in, not as they are announced.
func appendRead[T any](b *blockReader, to *[]T, n, size uint64, value func([]byte) T) error {
	if size == 0 || n > maxAnswer || n*size > maxAnswer {
		return errAnswer
	}
	if err := b.take(n * size); err != nil {
		return err
	}
	var buf [4096]byte
	for at := uint64(len(buf)) / size; n > 0; n -= at {
		if at == 0 {
			return errAnswer
		}
		at = min(at, n)
		if _, err := io.ReadFull(b, buf[:at*size]); err != nil {
			return err
		}
		for i := uint64(0); i < at; i++ {
			*to = append(*to, value(buf[i*size:(i+1)*size]))
		}
	}
	return nil
}

func (b *blockReader) texts(to *[]string, n uint64) error {
	for range n {
		s, err := b.text()
		if err != nil {
			return err
		}
		*to = append(*to, s)
	}
	return nil
}

func (b *blockReader) text() (string, error) {
	n, err := binary.ReadUvarint(b)
	if err != nil {
		return "", err
	}
	if err := b.take(max(n, 1)); err != nil {
		return "", err
	}
	if n <= 4096 {
		buf := make([]byte, n)
		_, err := io.ReadFull(b, buf)
		return string(buf), err
	}
	var s strings.Builder
	_, err = io.CopyN(&s, b, int64(n))
	return s.String(), err
}

// readArrays reads arrays, whose values are read by values.
func readArrays[T any](b *blockReader, to *[][]T, rows uint64, values func(to *[]T, n uint64) error) error {
	var ends []uint64
	if err := appendRead(b, &ends, rows, 8, binary.LittleEndian.Uint64); err != nil {
		return err
	}
	var all []T
	if err := values(&all, ends[len(ends)-1]); err != nil {
		return err
	}
	from := uint64(0)
	for _, end := range ends {
		if end < from || end > uint64(len(all)) {
			return errors.New("an array ends before it begins")
		}
		*to = append(*to, all[from:end:end])
		from = end
	}
	return nil
}
