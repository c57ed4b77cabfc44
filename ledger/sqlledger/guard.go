package sqlledger

import (
	"fmt"
	"net/url"
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

// refuseNetwork fails if a folder lies on a network filesystem. Where the
// system does not tell (it is not Linux), it takes the folder as it is.
func refuseNetwork(dir string) error {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	real, err := filepath.EvalSymlinks(dir)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return fmt.Errorf("looking at the ledger's folder: %w", err)
	}
	if kind := filesystemOf(real, string(mounts)); networkTypes[kind] {
		return fmt.Errorf("the folder %s lies on a network filesystem (%s), where SQLite cannot keep the ledger safe: please name a folder on a local disk with --data", dir, kind)
	}
	return nil
}

// filesystemOf finds the type of the mount that a path lies on. A later line
// hides an earlier one of the same mount point. The format of mountinfo is in
// proc_pid_mountinfo(5).
func filesystemOf(path, mountinfo string) string {
	best, kind := -1, ""
	for _, line := range strings.Split(mountinfo, "\n") {
		left, right, ok := strings.Cut(line, " - ")
		fields := strings.Fields(left)
		if !ok || len(fields) < 5 {
			continue
		}
		point := mountPoint.Replace(fields[4])
		if within(path, point) && len(point) >= best {
			best, kind = len(point), strings.Fields(right)[0]
		}
	}
	return kind
}

var mountPoint = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

func within(path, point string) bool {
	return point == "/" || path == point || strings.HasPrefix(path, point+"/")
}

// escapePath makes a path safe inside an SQLite URI, where ? and # end it.
// Source: https://www.sqlite.org/uri.html
func escapePath(path string) string {
	return (&url.URL{Path: path}).EscapedPath()
}
