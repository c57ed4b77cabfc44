package main

import (
	"strings"
	"time"

	"formledger/relay"
)

// patience fills in what the file leaves out of senders, queue and retry. The
// lease of retry grows with the call if it is left out, as that of timing does.
func (s settings) patience() relay.Patience {
	p, usual := relay.Patience{Queue: s.Queue, Retry: s.Retry, Senders: s.Senders}, relay.DefaultPatience()
	if work := s.Timing.Call + s.Timing.Settle; usual.Retry.Lease <= work {
		usual.Retry.Lease = (work + time.Minute).Truncate(time.Second)
	}
	if p.Queue.Pauses == nil { // an empty list means one attempt
		p.Queue.Pauses = usual.Queue.Pauses
	}
	p.Queue.Look = orUsual(p.Queue.Look, usual.Queue.Look)
	p.Retry.Lease = orUsual(p.Retry.Lease, usual.Retry.Lease)
	p.Retry.Sweep = orUsual(p.Retry.Sweep, usual.Retry.Sweep)
	p.Retry.Older = orUsual(p.Retry.Older, usual.Retry.Older)
	p.Retry.Attempts = orUsual(p.Retry.Attempts, usual.Retry.Attempts)
	p.Retry.Claims = orUsual(p.Retry.Claims, usual.Retry.Claims)
	p.Senders = orUsual(p.Senders, usual.Senders)
	return p
}

// settingOf is the setting that a fault of relay.Patience begins with.
func settingOf(fault error) string {
	if fault == nil {
		return ""
	}
	name, _, _ := strings.Cut(fault.Error(), " ")
	return strings.TrimSuffix(name, ":")
}
