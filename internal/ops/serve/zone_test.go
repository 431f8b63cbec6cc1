package serve

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"firn.dev/wire"
)

// TestResetsInTheUsersZone writes before and after an hour that is 30 to 90 minutes away in
// Tokyo and nine hours later in Greenwich. The session must end according to the configured
// zone.
func TestResetsInTheUsersZone(t *testing.T) {
	tokyo, err := time.LoadLocation("Asia/Tokyo")
	if err != nil {
		t.Fatal(err)
	}
	hour := time.Now().In(tokyo).Add(90 * time.Minute).Hour()
	for zone, reset := range map[string]string{"Asia/Tokyo": "daily", "UTC": ""} {
		var ahead atomic.Int64
		settings := load(t, fmt.Sprintf("[session]\ntime_zone = %q\nreset = { mode = \"daily\", at_hour = %d }\n", zone, hour))
		_, c := openInstance(t, Options{Settings: settings, Clock: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
		write := func() wire.Routed {
			t.Helper()
			out, err := c.Inbound(t.Context(), wire.Inbound{Channel: "mail", PeerKind: "direct", PeerID: "ada", Text: "hello", Wait: true})
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		first := write()
		ahead.Store(int64(100 * time.Minute))
		if second := write(); second.Reset != reset || (second.Session == first.Session) != (reset == "") {
			t.Errorf("in %s, with the day ending at %d:00, it was reset: %q", zone, hour, second.Reset)
		}
	}
}
