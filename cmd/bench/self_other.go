//go:build !linux

package main

import "time"

// syncs cannot be counted here.
func syncs() int64 { return -1 }

// What processes use of the processors is not read here.
func cpuTime() time.Duration      { return -1 }
func childrenTime() time.Duration { return -1 }
