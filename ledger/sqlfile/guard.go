package sqlfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// networkTypes are filesystems on which SQLite's locks or its shared memory do
// not work between machines, or at all.
// Source: https://www.sqlite.org/wal.html ("does not work over a network
// filesystem") and https://www.sqlite.org/howtocorrupt.html section 2.1.
var networkTypes = map[string]bool{
	"nfs": true, "nfs4": true, "cifs": true, "smb3": true, "smbfs": true, "ncpfs": true,
	"afs": true, "coda": true, "9p": true, "ceph": true, "lustre": true, "glusterfs": true,
	"fuse.sshfs": true, "fuse.glusterfs": true, "fuse.s3fs": true, "fuse.rclone": true,
	"fuse.davfs": true, "fuse.ceph-fuse": true, "fuse.gcsfuse": true, "fuse.cephfs": true,
}

// RefuseNetwork fails if a file lies, or would lie, on a network filesystem.
// Where the system does not tell (it is not Linux), it takes the file as it is.
func RefuseNetwork(file string) error {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	real, err := filepath.EvalSymlinks(file)
	if errors.Is(err, fs.ErrNotExist) {
		real, err = filepath.EvalSymlinks(filepath.Dir(file))
	}
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return fmt.Errorf("looking at the database's folder: %w", err)
	}
	if kind := filesystemOf(real, string(mounts)); networkTypes[kind] {
		return fmt.Errorf("%s lies on a network filesystem (%s), where SQLite cannot keep a database safe: please name a folder on a local disk with --data", file, kind)
	}
	return nil
}

// mount is one line of mountinfo.
type mount struct{ id, parent, point, kind string }

// filesystemOf finds the type of the mount that a path lies on, as the kernel
// does: from the root down, into the first mount that stands in the path's way,
// then on below that one. So a mount that lies hidden under another is passed
// by. The format of mountinfo is in proc_pid_mountinfo(5).
func filesystemOf(path, mountinfo string) string {
	mounts := mountsAround(path, mountinfo)
	known := map[string]bool{}
	for _, m := range mounts {
		known[m.id] = true
	}
	var at *mount
	for range mounts {
		next := nextMount(mounts, func(m mount) bool {
			if at == nil {
				return m.parent == m.id || !known[m.parent]
			}
			return m.parent == at.id && m.id != at.id
		})
		if next == nil {
			break
		}
		at = next
	}
	if at == nil {
		return ""
	}
	return at.kind
}

// nextMount is the one nearest to the root of those that are meant.
func nextMount(mounts []mount, meant func(mount) bool) *mount {
	var next *mount
	for i, m := range mounts {
		if meant(m) && (next == nil || len(m.point) <= len(next.point)) {
			next = &mounts[i]
		}
	}
	return next
}

// mountsAround reads the mounts whose mount point is the path or above it.
func mountsAround(path, mountinfo string) []mount {
	var mounts []mount
	for _, line := range strings.Split(mountinfo, "\n") {
		left, right, ok := strings.Cut(line, " - ")
		fields, kind := strings.Fields(left), strings.Fields(right)
		if !ok || len(fields) < 5 || len(kind) == 0 {
			continue
		}
		if point := mountPoint.Replace(fields[4]); within(path, point) {
			mounts = append(mounts, mount{fields[0], fields[1], point, kind[0]})
		}
	}
	return mounts
}

var mountPoint = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

func within(path, point string) bool {
	return point == "/" || path == point || strings.HasPrefix(path, point+"/")
}
