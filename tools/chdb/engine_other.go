//go:build !(linux && amd64)

package main

import "errors"

type engine struct{}

func open(string, string) (*engine, error) { return nil, errors.New("this engine is for linux/amd64") }

func (*engine) run(string, ...string) ([]byte, error) { return nil, errors.ErrUnsupported }
