package basetest

import (
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
)

// Ports that systems never assign automatically, neither for a listener on port 0 nor for
// outgoing connections: those begin at 32768 and above.
const firstPort, lastPort = 20000, 32000

// FreePorts returns TCP ports of 127.0.0.1 on which nothing listens. They are reserved for
// the test until it ends, even while nothing listens there: no other call returns them, in
// any process.
func FreePorts(t testing.TB, n int) []int {
	t.Helper()
	var ports []int
	for tries := 0; len(ports) < n; tries++ {
		if tries > 10*(lastPort-firstPort) {
			t.Fatalf("no %d free ports between %d and %d", n, firstPort, lastPort)
		}
		if port := firstPort + rand.IntN(lastPort-firstPort); reserve(t, port) {
			ports = append(ports, port)
		}
	}
	return ports
}

// reserve reserves a port for the test; it returns false if the port is in use. A TCP port
// is marked as reserved by holding the UDP port with the same number while the test runs.
func reserve(t testing.TB, port int) bool {
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	mark, err := net.ListenPacket("udp4", address)
	if err != nil {
		return false
	}
	l, err := net.Listen("tcp4", address)
	if err != nil {
		_ = mark.Close()
		return false
	}
	_ = l.Close()
	t.Cleanup(func() { _ = mark.Close() })
	return true
}

// DeadAddress returns an address of 127.0.0.1 on which nothing listens during the test.
func DeadAddress(t testing.TB) string {
	t.Helper()
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(FreePorts(t, 1)[0]))
}
