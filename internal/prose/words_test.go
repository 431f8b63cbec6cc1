package prose

import (
	"strings"
	"testing"
)

// TestAround cuts a long text near a place, never within a rune.
func TestAround(t *testing.T) {
	const most = 300
	long := strings.Repeat("ö", 1000) + " needle " + strings.Repeat("x", 1000)
	if got := Around(long, strings.Index(long, "needle"), most); !strings.Contains(got, "needle") || len(got) > most+6 || !strings.HasPrefix(got, "…ö") {
		t.Errorf("around the needle is %q", got)
	}
	if got := Around("short", 3, most); got != "short" {
		t.Errorf("a short text became %q", got)
	}
}
