package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"formledger/ledger"
)

// keyState is the second word of a key's line.
type keyState string

const (
	inUse    keyState = "use"
	verifies keyState = "verify"
	prepared keyState = "next"
)

// keyFile is the text of a key file that ledger.ParseKeyRing takes, by lines.
type keyFile struct{ lines []string }

func parseKeyFile(text string) (keyFile, error) {
	if _, err := ledger.ParseKeyRing(text); err != nil {
		return keyFile{}, err
	}
	return keyFile{strings.Split(strings.TrimRight(text, "\r\n \t"), "\n")}, nil
}

// key is the ID and the state on a line; ok is false for one without a key.
func (f keyFile) key(i int) (id string, state keyState, ok bool) {
	words := strings.Fields(f.lines[i])
	if len(words) != 3 || strings.HasPrefix(words[0], "#") {
		return "", "", false
	}
	return words[0], keyState(words[1]), true
}

// last is the line and the ID of the last key in a state; -1 if there is none.
func (f keyFile) last(wanted keyState) (line int, id string) {
	line = -1
	for i := range f.lines {
		if found, state, ok := f.key(i); ok && state == wanted {
			line, id = i, found
		}
	}
	return line, id
}

// set changes the state on a line, and nothing else of it.
func (f keyFile) set(line int, state keyState) {
	words := strings.Fields(f.lines[line])
	f.lines[line] = words[0] + " " + string(state) + " " + words[2]
}

func (f keyFile) text() string { return strings.Join(f.lines, "\n") + "\n" }

// rotation is what rotating a key file did.
type rotation struct {
	used string // the key that is in use now
	was  string // the one that was; empty if that has not changed
	next string // the key that was prepared
}

// prepare adds a fresh key that only verifies so far.
func (f *keyFile) prepare() (rotation, error) {
	_, used := f.last(inUse)
	if line, id := f.last(prepared); line >= 0 {
		return rotation{}, fmt.Errorf("the key %s is prepared already: once every machine has the file, rotate without --prepare puts it in use", id)
	}
	k, err := ledger.NewKey(rand.Reader)
	if err != nil {
		return rotation{}, err
	}
	f.add(k, prepared)
	return rotation{used: used, next: k.ID}, nil
}

// rotate puts the prepared key in use, or a fresh one if none is prepared. What
// was in use goes on verifying.
func (f *keyFile) rotate() (rotation, error) {
	old, was := f.last(inUse)
	line, id := f.last(prepared)
	f.set(old, verifies)
	if line >= 0 {
		f.set(line, inUse)
		return rotation{used: id, was: was}, nil
	}
	k, err := ledger.NewKey(rand.Reader)
	if err != nil {
		return rotation{}, err
	}
	f.add(k, inUse)
	return rotation{used: k.ID, was: was}, nil
}

func (f *keyFile) add(k ledger.Key, state keyState) {
	f.lines = append(f.lines, strings.TrimSuffix(keyLine(k, state), "\n"))
}

// rewrite changes a key file as a whole: whoever reads it meanwhile finds the old
// one or the new one. The new file's name keeps everybody else from doing the same
// at once, or one of two fresh keys would be lost.
func rewrite(k keyStore, change func(*keyFile) (rotation, error)) (rotation, error) {
	file, err := filepath.EvalSymlinks(k.file)
	if err != nil {
		return rotation{}, fmt.Errorf("%s: %w", k.what, err)
	}
	fresh := file + ".new"
	out, err := os.OpenFile(fresh, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return rotation{}, fmt.Errorf("%s is there: another rotation is at work, or one has died; if none is, remove that file and try again", fresh)
	}
	if err != nil {
		return rotation{}, fmt.Errorf("writing the keys: %w", err)
	}
	done, err := write(out, k, file, change)
	if err = errors.Join(err, out.Close()); err == nil {
		err = os.Rename(fresh, file)
	}
	if err != nil {
		return rotation{}, errors.Join(err, os.Remove(fresh))
	}
	return done, syncFolder(filepath.Dir(file))
}

// write writes the changed keys to the disk. They belong to whoever the old ones
// belonged to, so that the server can read what root has rotated.
func write(out *os.File, k keyStore, file string, change func(*keyFile) (rotation, error)) (rotation, error) {
	text, err := readPrivate(file, k.what)
	if err != nil {
		return rotation{}, err
	}
	f, err := parseKeyFile(text)
	if err != nil {
		return rotation{}, fmt.Errorf("%s: %w", file, err)
	}
	done, err := change(&f)
	if err != nil {
		return rotation{}, err
	}
	if err := keepOwner(file, out); err != nil {
		return rotation{}, err
	}
	if _, err := out.WriteString(f.text()); err != nil {
		return rotation{}, fmt.Errorf("writing the keys: %w", err)
	}
	return done, out.Sync()
}
