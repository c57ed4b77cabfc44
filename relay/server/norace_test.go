//go:build !race

package server

const floodCalls = 1_000_000
