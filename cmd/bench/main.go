// Command bench measures how many enquiries formledger takes on this machine,
// and what the ledger costs. It starts the server as a child process of its own,
// once for every cell of its table, and drives it over loopback.
//
//	go run ./cmd/bench          # some minutes
//	go run ./cmd/bench -quick   # a few seconds, to see that it works
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// run is the whole program, as a bench or as its child. It returns the exit
// code; a target that is not met is a result and no failure.
func run(args []string, in io.Reader, out, log io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	o, err := parseOptions(args, log)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintln(log, "bench: "+err.Error())
		return 2
	}
	if o.server != "" {
		err = serve(ctx, o, in, out, log)
	} else {
		err = measure(ctx, o, out, log)
	}
	if err != nil {
		fmt.Fprintln(log, "bench: "+err.Error())
		return 1
	}
	return 0
}
