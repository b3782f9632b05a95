package main

import (
	"errors"
	"fmt"
)

func check(n int) error {
	switch {
	case n == 0:
		return errors.New("none") // cost: errors.New; want
	case n < 0:
		return fmt.Errorf("negative") // cost: fmt.Errorf; want
	}
	return fmt.Errorf("%d is too many", n) // cost: fmt.Errorf
}

// errMany may be asked for, so others with its text are not it.
var errMany = errors.New("far too many")

type fieldError struct{ name string }

func (e *fieldError) Error() string { return e.name + " is missing" }

type countedError struct{ n int }

func (e *countedError) Error() string { e.n++; return fmt.Sprint(e.n) }

func fields(n int) (int, error) {
	switch n {
	case 0:
		return 0, &fieldError{"name"} // cost: runtime.newobject; want
	case 1:
		return 0, &fieldError{name: fmt.Sprint(n)} // cost: runtime.newobject
	case 2:
		return 0, &countedError{1} // cost: runtime.newobject
	case 3:
		return 0, errors.New("far too many") // cost: errors.New; want
	case 4:
		return 0, errors.New("fields: this text has as many words as a sentence") // cost: errors.New; want
	}
	return n, errMany
}

func worded(n int) error {
	const text = "out of " + "range"
	if n > 0 {
		return errors.New(text) // cost: errors.New; want
	}
	return errors.New("größer") // cost: errors.New; want
}

func main() {
	fmt.Println(worded(0), worded(1))
	for n := range 6 {
		fmt.Println(fields(n))
	}
	fmt.Println(check(0), check(-1), check(1))
}
