package maildir

import (
	"errors"
	"slices"
	"syscall"
)

// neverRenamed are the answers of rename(2) that exclude that it happened: it
// is atomic, and these are found before anything is changed.
var neverRenamed = []error{
	syscall.EACCES, syscall.EPERM, syscall.EROFS, syscall.ENOSPC, syscall.EDQUOT, syscall.EXDEV, syscall.ENOTDIR,
	syscall.EISDIR, syscall.EMLINK, syscall.ENAMETOOLONG, syscall.ELOOP, syscall.EINVAL,
}

func excluded(err error) bool {
	return slices.ContainsFunc(neverRenamed, func(e error) bool { return errors.Is(err, e) })
}

// causes are the codes of failures that an operator can act upon.
var causes = []struct {
	err  error
	code string
}{
	{syscall.ENOSPC, "disk_full"},
	{syscall.EDQUOT, "disk_full"},
	{syscall.EACCES, "no_permission"},
	{syscall.EPERM, "no_permission"},
	{syscall.EROFS, "read_only"},
	{syscall.ENOENT, "folder_missing"},
	{syscall.ENOTDIR, "folder_missing"},
	{syscall.EMFILE, "too_many_files"},
	{syscall.ENFILE, "too_many_files"},
}

func codeOf(err error) string {
	for _, c := range causes {
		if errors.Is(err, c.err) {
			return c.code
		}
	}
	return "io_error"
}
