package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"

	"github.com/spf13/cobra"
)

// version is that of the newest entry in CHANGELOG.md.
const version = "0.1.0"

// Exit codes, for scripts; the help of formledger lists them.
const (
	exitDone    = 0
	exitFailed  = 1 // it did not work; the message says why
	exitUsage   = 2 // the command line is wrong
	exitNoMatch = 3 // no submission has this reference
)

// streams are what a command reads and writes, so that tests can hold them.
type streams struct {
	in       io.Reader // nil: there is nothing to read
	out, err io.Writer
	environ  []string
}

func systemStreams() streams {
	return streams{in: os.Stdin, out: os.Stdout, err: os.Stderr, environ: os.Environ()}
}

// usageError is a wrong command line.
type usageError struct{ error }

// run is the whole program, but for the exit.
func run(ctx context.Context, args []string, s streams) int {
	root := newRoot(s)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	fmt.Fprintln(s.err, "formledger: "+err.Error())
	return exitCode(err)
}

func exitCode(err error) int {
	switch {
	case errors.As(err, new(usageError)):
		return exitUsage
	case isNoMatch(err):
		return exitNoMatch
	default:
		return exitFailed
	}
}

func newRoot(s streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "formledger",
		Short: "A contact-form backend that makes no duplicates behind your back, and never hides a lost enquiry",
		Long: `formledger takes the enquiries of contact forms, records each one, and sends it
as mail, once. If nobody can tell whether a message went out, it says so, and
gives its operator the means to settle it.

Start with: formledger serve

Exit codes:
  0  done
  1  it did not work, and the message says why; or, of several references, not
     all could be settled; or doctor found something that fails
  2  the command line is wrong, and nothing was done
  3  no submission has this reference`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          usage(cobra.NoArgs),
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w; see %s --help", err, c.CommandPath())}
	})
	places := &places{}
	root.PersistentFlags().StringVar(&places.config, "config", "", "configuration `file` (TOML); none runs a demo form")
	root.PersistentFlags().StringVar(&places.data, "data", "", "`folder` of the ledger, the keys and the mail (default \"./formledger-data\")")
	root.AddCommand(newServe(s, places), newConfig(s, places), newQueue(s, places), newList(s, places), newShow(s, places), newEvidence(s, places), newResolve(s, places), newNote(s, places), newEvents(s, places), newExport(s, places), newReconcile(s, places), newTestSend(s, places), newAlert(s, places), newSnippet(s, places), newDoctor(s, places), newRelay(s, places), newKeys(s, places), newForget(s, places), newBackup(s, places), newRestore(s, places), newKeygen(s), newVersion(s))
	return root
}

// places are the flags that every command shares.
type places struct{ config, data string }

func newVersion(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  usage(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(s.out, "formledger "+version)
			return err
		},
	}
}

// usage marks what a check of arguments finds as a wrong command line.
func usage(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if err := check(c, args); err != nil {
			return usageError{fmt.Errorf("%w; see %s --help", err, c.CommandPath())}
		}
		return nil
	}
}

// operatorName is who decides, unless they say otherwise.
func operatorName() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "operator"
}
