package timer

import (
	"fmt"
	"time"

	"firn.dev"

	"github.com/adhocore/gronx"
)

// Schedule says when a job is due, by the clocks on the walls of a time zone.
//
// Gronx is asked for ticks of a clock that is never put forward or back; what
// that means where clocks are is decided here. A job for certain hours is due
// once a day whatever clocks do: if its time is jumped over it is due when they
// jump, if it comes twice the first one counts. A job for every hour goes by
// the time that passes: it is due in both of two equal hours.
type Schedule struct {
	// text is how it is written.
	text string
	zone *time.Location
	// hourly: it is for every hour.
	hourly bool
}

// parseSchedule reads the five fields of a crontab, or one of its short names.
func parseSchedule(expr string, zone *time.Location) (Schedule, error) {
	segments, err := gronx.Segments(expr)
	if err != nil || !gronx.IsValid(expr) {
		return Schedule{}, fmt.Errorf("%w schedule %.80q: want five fields as in crontab", firn.ErrInvalid, expr)
	}
	if zone == nil {
		zone = time.UTC
	}
	const hours = 2 // behind seconds and minutes
	h := segments[hours]
	return Schedule{text: expr, zone: zone, hourly: h == "*" || h == "?" || h == "*/1"}, nil
}

// manyChanges bounds how many changes of clocks are looked beyond. The rarest
// day of a crontab comes every eight years, and some zones change four times a
// year.
const manyChanges = 64

// dayJump is a jump of clocks that leaves out a day of the calendar, as where
// the date line moved. What was due on a day that never was is not due.
const dayJump = 20 * time.Hour

// next is the first moment after t at which the job is due; false if there is
// none.
func (s Schedule) next(t time.Time) (time.Time, bool) {
	at, inclusive := t.In(s.zone), false
	for range manyChanges {
		begin, end := at.ZoneBounds()
		off := offset(at)
		from, incl := wall(at, off), inclusive
		if heard := s.heard(begin, off); from.Before(heard) {
			from, incl = heard, true
		}
		tick, err := gronx.NextTickAfter(s.text, from, incl)
		if err != nil {
			return time.Time{}, false
		}
		if due := tick.Add(-off); end.IsZero() || due.Before(end) {
			return due.In(s.zone), true
		}
		if ahead := offset(end) - off; !s.hourly && ahead > 0 && ahead < dayJump && tick.Before(wall(end, offset(end))) {
			return end.In(s.zone), true // its time is jumped over
		}
		at, inclusive = end, true
	}
	return time.Time{}, false
}

// heard is up to where clocks on the wall had been before they were put back at
// begin. Ticks before it were heard once; zero if nothing was put back.
func (s Schedule) heard(begin time.Time, off time.Duration) time.Time {
	if s.hourly || begin.IsZero() {
		return time.Time{}
	}
	before := offset(begin.Add(-time.Second))
	if before <= off {
		return time.Time{}
	}
	return wall(begin, before)
}

// wall is what a clock shows that is off ahead of UTC, as if it were UTC.
func wall(t time.Time, off time.Duration) time.Time { return t.UTC().Add(off) }

// offset is how far clocks are ahead of UTC at t where t is told.
func offset(t time.Time) time.Duration {
	_, seconds := t.Zone()
	return time.Duration(seconds) * time.Second
}
