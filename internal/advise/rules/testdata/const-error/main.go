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

func main() { fmt.Println(check(0), check(-1), check(1)) }
