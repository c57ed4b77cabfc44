//go:build race

package desk_test

// The race detector makes each of them much slower, and says nothing about how
// long they take.
const (
	raceEnabled = true
	outage      = 1_000
)
