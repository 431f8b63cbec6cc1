package timer

import (
	"time"

	"firn.dev/store"
)

// Job is something that an agent is told at certain times. Each run has a
// session of its own, under the key cron:<ID>; the log alone tells when it ran
// last.
type Job struct {
	ID string
	// Schedule is five fields as in crontab, in Zone; nil means that of all
	// jobs.
	Schedule string
	Zone     *time.Location
	// Agent is who is told Message; empty means the default. Model answers,
	// empty means the agent's.
	Agent, Message, Model string
	// Timeout is how long a run may take; zero means any time.
	Timeout time.Duration
	// Keep is how many runs are listed, the latest ones, and Retention for how
	// long a run is; the others are archived. Zero means all, and for ever. The
	// latest is always listed.
	Keep      int
	Retention time.Duration
	Enabled   bool
	// CatchUp runs the job once if nobody was there when it was due.
	CatchUp bool
}

// By is who speaks when the job does.
func (j *Job) By() string { return "cron:" + j.ID }

// In is the time zone of the job: its own, else the one given, else that of the
// machine.
func (j *Job) In(zone *time.Location) *time.Location {
	switch {
	case j.Zone != nil:
		return j.Zone
	case zone != nil:
		return zone
	}
	return time.Local
}

// Check refuses a schedule that is none.
func (j *Job) Check() error {
	_, err := parseSchedule(j.Schedule, j.Zone)
	return err
}

// Next is when the job is due after a time; zero for never.
func (j *Job) Next(after time.Time, zone *time.Location) time.Time {
	s, err := parseSchedule(j.Schedule, j.In(zone))
	if err != nil || !j.Enabled {
		return time.Time{}
	}
	next, _ := s.next(after)
	return next
}

// Outlived are those runs of the job, of which the latest is the first, that are
// not to be listed any more. The latest is none of them.
func (j *Job) Outlived(now time.Time, runs []store.Info) []store.Info {
	var out []store.Info
	listed := 0
	for i, info := range runs {
		if info.Archived {
			continue
		}
		listed++
		tooMany := j.Keep > 0 && listed > j.Keep
		tooOld := j.Retention > 0 && now.Sub(info.Created) > j.Retention
		if i > 0 && (tooMany || tooOld) {
			out = append(out, info)
		}
	}
	return out
}
