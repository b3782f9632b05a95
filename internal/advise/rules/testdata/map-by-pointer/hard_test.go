package main

func visitNone() { visitStop(nil, map[*stop]string{}) }
