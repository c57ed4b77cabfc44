package sqlledger

import (
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"formledger/ledger"
	"formledger/ledger/ledgertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	ledgertest.Run(t, func(t *testing.T) ledger.Ledger { return openTemp(t) })
}

func tempFile(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "ledger.db")
}

func openTemp(t *testing.T) *DB {
	t.Helper()
	return openFile(t, tempFile(t), Options{})
}

// openFile opens a ledger that the test's cleanup closes.
func openFile(t *testing.T, file string, o Options) *DB {
	t.Helper()
	d, err := Open(t.Context(), file, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}
