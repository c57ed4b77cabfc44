// Command formledger runs the form backend and the operator's commands.
package main

import (
	"context"
	"os"
)

func main() { os.Exit(run(context.Background(), os.Args[1:], systemStreams())) }
