//go:build !race

package desk_test

// outage is how many references one leaves uncertain.
const (
	raceEnabled = false
	outage      = 10_000
)
