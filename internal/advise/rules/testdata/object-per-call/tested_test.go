package main

var _ func() encoder = newTested
