package handlers

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"formledger/ledger"
)

// sender is who sent a form without an ID, as far as a request shows. It goes
// into a keyed hash and is neither stored nor logged.
type sender struct{ address, agent string }

func senderOf(c echo.Context) sender {
	return sender{address: c.RealIP(), agent: c.Request().UserAgent()}
}

const (
	// sameEnquiry is how long the same words from the same sender count as a
	// reload or a double click after they were accepted.
	sameEnquiry = 10 * time.Minute
	// mostCounted bounds the search for a free counter.
	mostCounted = 10_000
)

// identify gives a submission without an ID one that is derived from its
// content and its sender, with the smallest counter whose row is absent, open,
// or accepted just now. So a reload and a double click are repeats, an open row
// always is, and the same words a day later are a new enquiry.
func (s *Server) identify(ctx context.Context, sub *submission) error {
	if sub.id != uuid.Nil {
		return nil
	}
	// Rows from before a rotation of the keys were derived under an older one.
	for key := s.keys.Len() - 1; key >= 0; key-- {
		id, seen, err := s.derived(ctx, sub, key)
		if err != nil {
			return err
		}
		if seen || key == 0 {
			sub.id = id
			return nil
		}
	}
	return nil
}

// derived finds the ID under one key, and tells whether the ledger knows it.
func (s *Server) derived(ctx context.Context, sub *submission, key int) (uuid.UUID, bool, error) {
	for counter := uint64(0); counter < mostCounted; counter++ {
		id := s.keys.DeriveID(key, counter, sub.canonical, []byte(sub.sender.address), []byte(sub.sender.agent))
		row, err := s.ledger.Submission(ctx, id)
		switch {
		case errors.Is(err, ledger.ErrUnseen):
			return id, false, nil
		case err != nil:
			return uuid.Nil, false, err
		case row.Open(), row.Status == ledger.Accepted && s.now().Sub(row.UpdatedAt) < sameEnquiry:
			return id, true, nil
		}
	}
	id, err := uuid.NewRandom()
	return id, false, err
}
