package main

import (
	"errors"
	"fmt"
	"os"
)

type parseError struct {
	at   int
	text string
}

func (e *parseError) Error() string { return fmt.Sprint(e.at, e.text) }

func errorf(at int, format string, args ...any) *parseError {
	return &parseError{at, fmt.Sprintf(format, args...)} // cost: fmt.Sprintf runtime.mallocgc
}

func digit(s string, i int) (int, error) {
	if i >= len(s) {
		return 0, fmt.Errorf("%d: %w", i, os.ErrInvalid) // cost: fmt.Errorf runtime.mallocgc; want
	}
	if c := s[i]; c < '0' || c > '9' {
		return 0, errorf(i, "%q is no digit", c) // cost: main.errorf fmt.Sprintf; want
	}
	return int(s[i] - '0'), nil
}

func never(s string) error {
	if s == "" {
		return errors.New("nothing") // cost: errors.New runtime.mallocgc
	}
	return nil
}

func main() {
	fmt.Println(digit("1x", 0))
	fmt.Println(digit("1x", 1))
	fmt.Println(digit("1x", 2))
	fmt.Println(never(""))
}
