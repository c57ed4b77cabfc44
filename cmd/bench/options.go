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
	senders []int // of the courier
	rows    []row
	dir     string // the temporary folder is made in it
	profile string // a file for the server's CPU profile

	server mode   // set in the child
	data   string // the child's own folder
}

const (
	mostConns   = 1024
	mostSenders = 256
	mostRounds  = 1000
	mostWindow  = 10 * time.Minute
)

func parseOptions(args []string, help io.Writer) (options, error) {
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(help)
	var o options
	var seconds, warm float64
	var conns, rows, senders string
	quick := f.Bool("quick", false, "a smoke run of a few seconds: its numbers mean little")
	f.IntVar(&o.rounds, "rounds", 5, "interleaved `rounds`; the table shows medians")
	f.Float64Var(&seconds, "seconds", 1, "measured time of each cell, in `seconds`")
	f.Float64Var(&warm, "warm", 0.2, "warm-up before it, in `seconds`")
	f.IntVar(&o.most, "submissions", 1_000_000, "`most` submissions of a cell, if it has not ended before")
	f.StringVar(&conns, "conns", "1,8,64,256", "numbers of `connections`")
	f.StringVar(&senders, "senders", "1,4,16", "numbers of the courier's `senders`, for row s")
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
	var wrong [2]error
	o.conns, wrong[0] = numbersOf("conns", conns, mostConns)
	o.senders, wrong[1] = numbersOf("senders", senders, mostSenders)
	return o, errors.Join(o.choose(rows), wrong[0], wrong[1], o.check(f.NArg()))
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

func (o *options) choose(rows string) error {
	for _, r := range allRows {
		if strings.Contains(rows, r.letter) {
			o.rows = append(o.rows, r)
		}
	}
	if len(o.rows) != len(rows) || len(rows) == 0 {
		return fmt.Errorf("-rows %q: please give some of the letters %s, each once", rows, letters())
	}
	return nil
}

// numbersOf reads a list of numbers, and sorts it.
func numbersOf(flag, list string, most int) ([]int, error) {
	var numbers []int
	for _, text := range strings.Split(list, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < 1 || n > most {
			return nil, fmt.Errorf("-%s %q: please give numbers from 1 to %d, separated by commas", flag, list, most)
		}
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	return slices.Compact(numbers), nil
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
