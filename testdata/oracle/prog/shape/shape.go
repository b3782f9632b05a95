// Package shape has functions that get inlined, recurse, are generic, or are called through an
// interface: each looks different in a profile.
package shape

import "math"

// A Shape has an area.
type Shape interface {
	Area() float64
}

// A Circle is one.
type Circle struct{ R float64 }

// Area is small enough to be inlined where the type is known.
func (c Circle) Area() float64 { return math.Pi * square(c.R) }

// A Square is another.
type Square struct{ Side float64 }

// Area is the square of the side.
func (s Square) Area() float64 { return square(s.Side) }

func square(x float64) float64 { return x * x }

// A Union is made of shapes.
type Union struct{ Of []Shape }

// Area calls Area of every part, so it recurses where unions hold unions.
func (u *Union) Area() float64 {
	total := 0.0
	for _, s := range u.Of {
		total += s.Area()
	}
	return total
}

// Total is the area of all shapes, summed n times.
func Total(shapes []Shape, n int) float64 {
	total := 0.0
	each := func(s Shape) {
		total += math.Sqrt(s.Area())
	}
	for range n {
		for _, s := range shapes {
			each(s)
		}
	}
	return total
}

// Fibonacci takes its time.
func Fibonacci(n int) int {
	if n < 2 {
		return n
	}
	return Fibonacci(n-1) + Fibonacci(n-2)
}

// A Tree is a search tree. The zero Tree holds the zero value.
type Tree[T ~int | ~string] struct {
	value       T
	size        int
	left, right *Tree[T]
}

// Len is the number of values that were inserted.
func (t *Tree[T]) Len() int { return t.size }

// Insert returns t with v in it.
func (t *Tree[T]) Insert(v T) *Tree[T] {
	if t == nil {
		return &Tree[T]{value: v, size: 1}
	}
	t.size++
	if v < t.value {
		t.left = t.left.Insert(v)
	} else {
		t.right = t.right.Insert(v)
	}
	return t
}
