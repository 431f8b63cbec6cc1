package providertest

import "testing"

// TestGoroutines checks that a leaked goroutine is reported and an ended one is not.
func TestGoroutines(t *testing.T) {
	before := goroutines()
	stop, stopped := make(chan bool), make(chan bool)
	go func() {
		<-stop
		close(stopped)
	}()
	if n := len(goroutines()) - len(before); n != 1 {
		t.Errorf("%d goroutines are seen, want 1", n)
	}
	close(stop)
	<-stopped
	checkGoroutines(t, before)
}
