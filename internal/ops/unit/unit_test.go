package unit

import (
	"encoding/xml"
	"strings"
	"testing"
	"time"
)

// TestSystemd checks the quoting in a unit, and that its stop timeout exceeds the gateway's
// grace period.
func TestSystemd(t *testing.T) {
	s := Service{Command: []string{"/opt/my firn/firn", "--home", "/the home/100%$x", "serve"}, Home: "/the home/100%$x", Drain: 30 * time.Second}
	text := s.Systemd()
	for _, want := range []string{
		"\n" + `ExecStart="/opt/my firn/firn" --home "/the home/100%%$$x" serve` + "\n",
		"\nDescription=firn, the gateway of /the home/100%%$x\n", "\nTimeoutStopSec=45\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the unit lacks %q:\n%s", want, text)
		}
	}
}

// TestLaunchd checks that a property list is valid XML for any arguments.
func TestLaunchd(t *testing.T) {
	text := Service{Command: []string{"a<b", "&"}, Drain: 5 * time.Second}.Launchd()
	var list struct {
		XMLName xml.Name `xml:"plist"`
		Words   []string `xml:"dict>array>string"`
		Numbers []int    `xml:"dict>integer"`
	}
	if err := xml.Unmarshal([]byte(text), &list); err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	if strings.Join(list.Words, " ") != "a<b &" || len(list.Numbers) != 2 || list.Numbers[0] != 20 {
		t.Errorf("got %q %v:\n%s", list.Words, list.Numbers, text)
	}
}
