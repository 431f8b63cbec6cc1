package serve

import (
	"fmt"
	"os"
	"testing"

	"firn.dev/internal/ops/jetstreamtest"
)

// TestMain allows the test binary to run as a NATS server.
func TestMain(m *testing.M) {
	if config := os.Getenv(jetstreamtest.Env); config != "" {
		if err := jetstreamtest.Serve(config, os.Stdin); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}
