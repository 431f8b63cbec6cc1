package timer

import (
	"fmt"
	"time"

	"firn.dev"

	"github.com/adhocore/gronx"
)

// Schedule defines when a job is due, in the local time of a time zone.
//
// Gronx computes the times for a clock without daylight saving changes; the changes are
// handled here. A job for certain hours is due once a day in any case: if its time is
// skipped, it is due at the change; if its time occurs twice, the first one counts. A job
// for every hour follows elapsed time: it is due in both of two repeated hours.
type Schedule struct {
	// text is the crontab expression.
	text string
	zone *time.Location
	// hourly reports whether it is for every hour.
	hourly bool
}

// parseSchedule parses the five fields of a crontab, or one of its short names.
func parseSchedule(expr string, zone *time.Location) (Schedule, error) {
	segments, err := gronx.Segments(expr)
	if err != nil || !gronx.IsValid(expr) {
		return Schedule{}, fmt.Errorf("%w schedule %.80q: expected five crontab fields", firn.ErrInvalid, expr)
	}
	if zone == nil {
		zone = time.UTC
	}
	const hours = 2 // after seconds and minutes
	h := segments[hours]
	return Schedule{text: expr, zone: zone, hourly: h == "*" || h == "?" || h == "*/1"}, nil
}

// manyChanges is the maximum number of clock changes to search across. The rarest day of a
// crontab occurs every eight years, and some zones have four changes a year.
const manyChanges = 64

// dayJump is a clock change that skips a whole day, as when the date line moved. Jobs of a
// skipped day are not due.
const dayJump = 20 * time.Hour

// next returns the first time after t when the job is due, or false if there is none.
func (s Schedule) next(t time.Time) (time.Time, bool) {
	at, inclusive := t.In(s.zone), false
	for range manyChanges {
		begin, end := at.ZoneBounds()
		off := offset(at)
		from, incl := wall(at, off), inclusive
		if repeated := s.repeatedUntil(begin, off); from.Before(repeated) {
			from, incl = repeated, true
		}
		tick, err := gronx.NextTickAfter(s.text, from, incl)
		if err != nil {
			return time.Time{}, false
		}
		if due := tick.Add(-off); end.IsZero() || due.Before(end) {
			return due.In(s.zone), true
		}
		if ahead := offset(end) - off; !s.hourly && ahead > 0 && ahead < dayJump && tick.Before(wall(end, offset(end))) {
			return end.In(s.zone), true // its time is skipped
		}
		at, inclusive = end, true
	}
	return time.Time{}, false
}

// repeatedUntil returns the local time that clocks had reached before they were set back at
// begin. Times before it occurred already. It returns zero if clocks were not set back.
func (s Schedule) repeatedUntil(begin time.Time, off time.Duration) time.Time {
	if s.hourly || begin.IsZero() {
		return time.Time{}
	}
	before := offset(begin.Add(-time.Second))
	if before <= off {
		return time.Time{}
	}
	return wall(begin, before)
}

// wall returns the local time at an offset from UTC, represented as UTC.
func wall(t time.Time, off time.Duration) time.Time { return t.UTC().Add(off) }

// offset returns the offset from UTC at t in the zone of t.
func offset(t time.Time) time.Duration {
	_, seconds := t.Zone()
	return time.Duration(seconds) * time.Second
}
