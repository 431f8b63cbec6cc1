package serve

import (
	"fmt"
	"os"
	"testing"

	"firn.dev/store/jetstream/jetstreamtest"
)

// TestMain lets the test binary be a server of NATS too.
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
