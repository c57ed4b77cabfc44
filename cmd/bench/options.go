package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// options is the command line.
type options struct {
	rounds  int
	window  time.Duration // measured, for each cell
	warm    time.Duration // before it, not measured
	most    int           // submissions of a cell
	conns   []int
	rows    []row
	dir     string // the temporary folder is made in it
	profile string // a file for the server's CPU profile

	server mode   // set in the child
	data   string // the child's own folder
}

const (
	mostConns  = 1024
	mostRounds = 1000
	mostWindow = 10 * time.Minute
)

func parseOptions(args []string, help io.Writer) (options, error) {
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(help)
	var o options
	var seconds, warm float64
	var conns, rows string
	quick := f.Bool("quick", false, "a smoke run of a few seconds: its numbers mean little")
	f.IntVar(&o.rounds, "rounds", 5, "interleaved `rounds`; the table shows medians")
	f.Float64Var(&seconds, "seconds", 1, "measured time of each cell, in `seconds`")
	f.Float64Var(&warm, "warm", 0.2, "warm-up before it, in `seconds`")
	f.IntVar(&o.most, "submissions", 1_000_000, "`most` submissions of a cell, if it has not ended before")
	f.StringVar(&conns, "conns", "1,8,64,256", "numbers of `connections`")
	f.StringVar(&rows, "rows", letters(), "`letters` of the rows to measure; the order is fixed")
	f.StringVar(&o.dir, "dir", ".", "`folder` on the disk to measure; a temporary one is made in it")
	f.StringVar(&o.profile, "cpuprofile", "", "`file` for the server's CPU profile of the last cell")
	f.StringVar((*string)(&o.server), "server", "", "for the bench itself: run as the child, in this `mode`")
	f.StringVar(&o.data, "data", "", "for the bench itself: the child's `folder`")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if *quick {
		quicken(f, &o, &seconds, &warm, &conns)
	}
	o.window, o.warm = duration(seconds), duration(warm)
	return o, errors.Join(o.choose(rows, conns), o.check(f.NArg()))
}

// quicken shortens what the command line leaves open.
func quicken(f *flag.FlagSet, o *options, seconds, warm *float64, conns *string) {
	given := map[string]bool{}
	f.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if !given["rounds"] {
		o.rounds = 1
	}
	if !given["seconds"] {
		*seconds = 0.2
	}
	if !given["warm"] {
		*warm = 0.05
	}
	if !given["conns"] {
		*conns = "1,64"
	}
}

func duration(seconds float64) time.Duration {
	return time.Duration(seconds * float64(time.Second))
}

func (o *options) choose(rows, conns string) error {
	for _, r := range allRows {
		if strings.Contains(rows, r.letter) {
			o.rows = append(o.rows, r)
		}
	}
	if len(o.rows) != len(rows) || len(rows) == 0 {
		return fmt.Errorf("-rows %q: please give some of the letters %s, each once", rows, letters())
	}
	for _, text := range strings.Split(conns, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < 1 || n > mostConns {
			return fmt.Errorf("-conns %q: please give numbers from 1 to %d, separated by commas", conns, mostConns)
		}
		o.conns = append(o.conns, n)
	}
	slices.Sort(o.conns)
	o.conns = slices.Compact(o.conns)
	return nil
}

func (o *options) check(further int) error {
	switch {
	case further > 0:
		return errors.New("only flags are taken; see -help")
	case o.rounds < 1 || o.rounds > mostRounds:
		return fmt.Errorf("-rounds has to be from 1 to %d", mostRounds)
	case o.window <= 0 || o.warm < 0 || o.window+o.warm > mostWindow:
		return fmt.Errorf("-seconds and -warm have to be positive, and at most %s together", mostWindow)
	case o.most < 1:
		return errors.New("-submissions has to be positive")
	}
	return nil
}
