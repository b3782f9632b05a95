package main

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
)

// An engine is a ClickHouse in this process. It does one query at a time.
type engine struct {
	mu   sync.Mutex
	conn *uintptr

	query   func(conn uintptr, query string, n uintptr, format string, m uintptr) uintptr
	buffer  func(result uintptr) unsafe.Pointer
	length  func(result uintptr) uintptr
	failure func(result uintptr) string
	destroy func(result uintptr)
}

func open(library, dir string) (*engine, error) {
	lib, err := purego.Dlopen(library, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return nil, err
	}
	e := &engine{}
	var connect func(argc int32, argv unsafe.Pointer) *uintptr
	purego.RegisterLibFunc(&connect, lib, "chdb_connect")
	purego.RegisterLibFunc(&e.query, lib, "chdb_query_n")
	purego.RegisterLibFunc(&e.buffer, lib, "chdb_result_buffer")
	purego.RegisterLibFunc(&e.length, lib, "chdb_result_length")
	purego.RegisterLibFunc(&e.failure, lib, "chdb_result_error")
	purego.RegisterLibFunc(&e.destroy, lib, "chdb_destroy_query_result")
	args := [][]byte{[]byte("clickhouse\x00"), []byte("--path=" + dir + "\x00")}
	argv := []unsafe.Pointer{unsafe.Pointer(&args[0][0]), unsafe.Pointer(&args[1][0]), nil}
	if e.conn = connect(2, unsafe.Pointer(&argv[0])); e.conn == nil || *e.conn == 0 {
		return nil, fmt.Errorf("opening the data in %s: the engine does not say why it can't", dir)
	}
	return e, nil
}

// run does some queries as one, and returns the answer to the last.
func (e *engine) run(format string, queries ...string) ([]byte, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []byte
	for _, q := range queries {
		r := e.query(*e.conn, q, uintptr(len(q)), format, uintptr(len(format)))
		if r == 0 {
			return nil, errors.New("no answer")
		}
		text := e.failure(r)
		out = nil
		if n := e.length(r); n > 0 {
			out = append([]byte{}, unsafe.Slice((*byte)(e.buffer(r)), n)...)
		}
		e.destroy(r)
		if text != "" {
			return nil, errors.New(text)
		}
	}
	return out, nil
}
