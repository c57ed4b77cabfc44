//go:build race

package server

// floodCalls are fewer with the race detector, which makes each much slower.
const floodCalls = 200_000
