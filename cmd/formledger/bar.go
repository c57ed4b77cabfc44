package main

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// bar shows on a terminal how far a long command has come.
type bar struct {
	out         io.Writer // nil: no terminal
	done, total int
}

const barWidth = 30

func newBar(w io.Writer, total int) *bar {
	f, isFile := w.(*os.File)
	if !isFile || total < 2 {
		return &bar{total: total}
	}
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return &bar{total: total}
	}
	return &bar{out: w, total: total}
}

// step is one thing done.
func (b *bar) step() { b.show(b.done+1, b.total) }

// show draws how much is done.
func (b *bar) show(done, total int) {
	b.done, b.total = done, total
	if b.out != nil && total > 0 {
		full := barWidth * done / total
		fmt.Fprintf(b.out, "\r[%s%s] %d of %d", strings.Repeat("#", full), strings.Repeat(".", barWidth-full), done, total)
	}
}

// end wipes the bar, so that only the table stays.
func (b *bar) end() {
	if b.out != nil && b.done > 0 {
		fmt.Fprintf(b.out, "\r%s\r", strings.Repeat(" ", barWidth+30))
	}
}
