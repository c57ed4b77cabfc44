//go:build !linux

package main

import (
	"errors"
	"os"
)

var errNotTold = errors.New("this system does not tell")

func freeSpace(string) (uint64, error) { return 0, errNotTold }

func clockSynced() (bool, error) { return false, errNotTold }

// mayWrite is found out at the start.
func mayWrite(string) error { return nil }

// keepOwner leaves the file to whoever made it.
func keepOwner(string, *os.File) error { return nil }
