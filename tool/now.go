package tool

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"firn.dev"
)

// nowArguments are the arguments of now.
type nowArguments struct {
	Zone string `json:"zone,omitempty" desc:"A time zone by its IANA name, such as Europe/Berlin, or UTC, or an offset such as +02:00; the local one if not given."`
}

// nowDetails is the machine-readable result of now.
type nowDetails struct {
	Time time.Time `json:"time"`
	Zone string    `json:"zone"`
}

// Now returns the tool now, which returns the time. It supports the time zones of the
// system. A nil clock means the system clock.
func Now(clock func() time.Time) Tool {
	if clock == nil {
		clock = time.Now
	}
	return New("now", "Tells the date, the weekday and the time.", func(_ context.Context, a nowArguments) (Result, error) {
		zone, err := zoneOf(strings.TrimSpace(a.Zone))
		if err != nil {
			return Result{}, err
		}
		t := clock().In(zone).Round(0)
		name := zone.String()
		if short, _ := t.Zone(); short != name && short != "" && short[0] != '+' && short[0] != '-' {
			name = strings.TrimPrefix(name+", "+short, "Local, ")
		}
		_, week := t.ISOWeek()
		return Result{
			Parts:   TextResult(fmt.Sprintf("%s, %s (%s; week %d)", t.Format(time.RFC3339), t.Weekday(), name, week)).Parts,
			Details: quote(nowDetails{Time: t, Zone: zone.String()}),
		}, nil
	})
}

// zoneOf returns a time zone by its name or offset.
func zoneOf(name string) (*time.Location, error) {
	switch strings.ToLower(name) {
	case "", "local":
		return time.Local, nil
	case "utc", "gmt", "z":
		return time.UTC, nil
	}
	if zone, ok := offsetZone(name); ok {
		return zone, nil
	}
	zone, err := time.LoadLocation(name)
	if err == nil {
		return zone, nil
	}
	if _, err := time.LoadLocation("Europe/Berlin"); err != nil {
		return nil, fmt.Errorf("get the time in %s: this system has no time zones by name; give an offset such as +02:00 (%w)", display(name), firn.ErrUnsupported)
	}
	return nil, fmt.Errorf("%w zone %s: give an IANA name such as Europe/Berlin, or an offset such as +02:00", firn.ErrInvalid, display(name))
}

// offsetZone parses an offset such as +02:00, +0200, +2 or UTC-3.
func offsetZone(s string) (*time.Location, bool) {
	for _, prefix := range []string{"UTC", "GMT", "utc", "gmt"} {
		s = strings.TrimPrefix(s, prefix)
	}
	if len(s) < 2 || s[0] != '+' && s[0] != '-' {
		return nil, false
	}
	digits := strings.Replace(s[1:], ":", "", 1)
	minutes := "0"
	if len(digits) > 2 {
		digits, minutes = digits[:len(digits)-2], digits[len(digits)-2:]
	}
	h, err := strconv.ParseUint(digits, 10, 8)
	m, err2 := strconv.ParseUint(minutes, 10, 8)
	if err != nil || err2 != nil || h > 14 || m > 59 {
		return nil, false
	}
	seconds := int(h*3600 + m*60)
	if s[0] == '-' {
		seconds = -seconds
	}
	return time.FixedZone(fmt.Sprintf("UTC%c%02d:%02d", s[0], h, m), seconds), true
}
