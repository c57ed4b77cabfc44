package smtp

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"formledger/relay"
)

// sendAsChild makes one call and prints its verdict. The lease is over as soon
// as a file says so.
func sendAsChild(port string) {
	n, _ := strconv.Atoi(port)
	s, err := New(Config{Host: "127.0.0.1", Port: n, TLS: Plain, HelloName: "client.example"})
	if err != nil {
		fmt.Println(err)
		return
	}
	until := time.Now().Add(time.Hour)
	lease := relay.NewLease(until, func() time.Time {
		if _, err := os.Stat(os.Getenv("SMTP_TEST_LAPSED")); err == nil {
			return until
		}
		return time.Now()
	})
	v := s.Send(context.Background(), mailOf(message(), mailText), lease)
	fmt.Println(v.Finding, v.Cause)
}
