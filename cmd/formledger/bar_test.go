package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

func TestABarIsDrawnAndWiped(t *testing.T) {
	var screen bytes.Buffer
	b := &bar{out: &screen, total: 4}
	b.step()
	b.show(3, 4)
	b.step()
	b.end()
	half := "\r[" + strings.Repeat("#", 7) + strings.Repeat(".", 23) + "] 1 of 4"
	if s := screen.String(); !strings.HasPrefix(s, half) || !strings.Contains(s, "] 3 of 4\r["+strings.Repeat("#", 30)+"] 4 of 4\r  ") || !strings.HasSuffix(s, " \r") {
		t.Errorf("%q", s)
	}
}

// Whatever is no terminal gets no bar.
func TestABarIsForTerminals(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/out")
	must(t, err)
	defer file.Close()
	b := newBar(file, 10)
	b.show(0, 0)
	b.step()
	b.end()
	if info, err := file.Stat(); err != nil || info.Size() != 0 {
		t.Errorf("%d bytes, %v", info.Size(), err)
	}
}
