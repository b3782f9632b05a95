package main

func (m *message) reset() { m.wholeOfIt = []byte("x") }
