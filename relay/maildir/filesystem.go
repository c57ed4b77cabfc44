package maildir

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// filesystem is what a delivery does to the disk, one method for each step that
// can fail by itself.
type filesystem interface {
	exists(path string) (bool, error)
	create(path string) (file, error)
	rename(from, to string) error
	remove(path string) error
	syncDir(dir string) error
}

type file interface {
	io.WriteCloser
	Sync() error
}

// disk is the real one.
type disk struct{}

func (disk) exists(path string) (bool, error) {
	_, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// create makes a file that does not exist yet. Only its owner reads enquiries.
func (disk) create(path string) (file, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err // never a nil *os.File inside a file that is not nil
	}
	return f, nil
}

func (disk) rename(from, to string) error { return os.Rename(from, to) }

func (disk) remove(path string) error { return os.Remove(path) }

// syncDir makes the names in a folder durable: syncing a file does not sync the
// entry that leads to it (fsync(2)).
func (disk) syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
