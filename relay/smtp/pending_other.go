//go:build !unix

package smtp

// pending cannot be told here. What the server did before the dot is then seen
// after it, and may be doubt where it could have been proof.
func (w *wire) pending() bool { return false }
