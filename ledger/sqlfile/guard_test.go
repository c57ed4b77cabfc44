package sqlfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// mountinfo as in proc_pid_mountinfo(5): ID, parent, device, root, mount point.
const mountinfo = `
21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
22 21 0:20 / /proc rw,nosuid - proc proc rw
30 21 0:40 / /srv rw shared:3 - nfs4 server:/export rw,vers=4.2
31 30 8:2 / /srv/local rw - xfs /dev/sdb1 rw
32 21 0:41 / /mnt/two\040words rw master:2 propagate_from:1 - cifs //nas/share rw
33 21 0:42 / /mnt/tab\011and\134slash rw - nfs server:/x rw
40 21 8:1 /var/lib/bind /data rw - ext4 /dev/sda1 rw
41 40 0:43 /inside /data/net rw - fuse.sshfs me@host: rw
50 21 0:50 / /over rw - ext4 /dev/sdc1 rw
51 50 0:51 / /over rw - nfs4 server:/over rw
60 21 8:3 / /hidden/below rw - ext4 /dev/sdd1 rw
61 21 0:52 / /hidden rw - ceph 10.0.0.1:/ rw
70 21 0:53 / /cover/net rw - nfs4 server:/n rw
71 21 8:4 / /cover rw - btrfs /dev/sde1 rw
80 21 0:54 / /odd rw - 9p
malformed
90 21 0:55 / /short rw -
`

func TestFilesystemOf(t *testing.T) {
	for path, want := range map[string]string{
		"/":                         "ext4",
		"/var/lib/formledger":       "ext4",
		"/srv":                      "nfs4",
		"/srv/formledger":           "nfs4",
		"/srv/local":                "xfs", // a local disk inside a network mount
		"/srv/local/a/b":            "xfs",
		"/srvother":                 "ext4", // a name that only begins alike
		"/srv/localother":           "nfs4",
		"/mnt/two words/data":       "cifs",
		"/mnt/two":                  "ext4",
		"/mnt/tab\tand\\slash/data": "nfs",
		"/data/formledger":          "ext4", // a bind mount
		"/data/net/formledger":      "fuse.sshfs",
		"/over/formledger":          "nfs4",  // the second mount on one point hides the first
		"/hidden/below/formledger":  "ceph",  // mounted over the parent of an earlier mount
		"/cover/net/formledger":     "btrfs", // likewise, and the hidden one is the network's
		"/odd/formledger":           "9p",
		"/short/formledger":         "ext4",
		"/malformed":                "ext4",
	} {
		if got := filesystemOf(path, mountinfo); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// In a chroot the root need not be a mount of its own.
func TestFilesystemOfWithoutARoot(t *testing.T) {
	const info = "30 7 0:40 / /srv rw - nfs4 server:/export rw\n31 30 8:2 / /srv/local rw - xfs /dev/sdb1 rw\n"
	for path, want := range map[string]string{"/var": "", "/srv/x": "nfs4", "/srv/local/x": "xfs"} {
		if got := filesystemOf(path, info); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

func TestNetworkFilesystemsAreKnown(t *testing.T) {
	for _, kind := range []string{"nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "fuse.sshfs"} {
		if !networkTypes[kind] {
			t.Errorf("%s is taken for local", kind)
		}
	}
	for _, kind := range []string{"ext4", "xfs", "btrfs", "zfs", "tmpfs", "overlay", "fuseblk", ""} {
		if networkTypes[kind] {
			t.Errorf("%s is taken for a network filesystem", kind)
		}
	}
}

// A folder of the memory filesystem plays the network's: the file, or a link to
// it, is refused before anything is made there.
func TestANetworkFilesystemIsRefused(t *testing.T) {
	far, err := os.MkdirTemp("/dev/shm", "formledger-test")
	if err != nil {
		t.Skip("there is no second filesystem to test with:", err)
	}
	t.Cleanup(func() { os.RemoveAll(far) })
	networkTypes["tmpfs"] = true
	t.Cleanup(func() { delete(networkTypes, "tmpfs") })
	near := t.TempDir()
	if RefuseNetwork(filepath.Join(near, "x")) != nil || RefuseNetwork(filepath.Join(far, "x")) == nil {
		t.Skip("the two folders do not lie on different filesystems")
	}
	link := filepath.Join(near, "folder")
	fileLink := filepath.Join(near, "data.db")
	target := filepath.Join(far, "target.db")
	for _, err := range []error{os.Symlink(far, link), os.WriteFile(target, nil, 0o600), os.Symlink(target, fileLink)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{filepath.Join(far, "data.db"), filepath.Join(link, "data.db"), fileLink} {
		if err := Prepare(file); err == nil || !strings.Contains(err.Error(), "network filesystem (tmpfs)") {
			t.Errorf("%s: %v", file, err)
		}
	}
	if entries, err := os.ReadDir(far); err != nil || len(entries) != 1 {
		t.Errorf("something was made there: %v, %v", entries, err)
	}
}
