//go:build !failpoints

package failpoint

// Hit does nothing in a binary that is built without the tag failpoints.
func Hit(string) {}
