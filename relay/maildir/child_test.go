package maildir

import (
	"context"
	"fmt"
	"os"
	"time"

	"formledger/relay"
)

// sendAsChild makes one call and prints its verdict. The lease is over as soon
// as a file beside the folder says so.
func sendAsChild(dir string) {
	s, err := New(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	until := time.Now().Add(time.Hour)
	lease := relay.NewLease(until, func() time.Time {
		if _, err := os.Stat(dir + ".lapsed"); err == nil {
			return until
		}
		return time.Now()
	})
	v := s.Send(context.Background(), mailWith(1), lease)
	fmt.Println(v.Finding, v.Cause)
}
