package timer

import (
	"time"

	"firn.dev/store"
)

// Job is a message that is sent to an agent on a schedule. Each run has a session of its
// own, under the key cron:<ID>. The time of the last run is only in the log.
type Job struct {
	ID string
	// Schedule is a crontab expression of five fields, in the time zone Zone; nil means
	// that of all jobs.
	Schedule string
	Zone     *time.Location
	// Agent receives Message; empty means the default agent. Model answers it; empty means
	// the agent's model.
	Agent, Message, Model string
	// Timeout is the maximum duration of a run; zero means no limit.
	Timeout time.Duration
	// Keep is the number of latest runs that are listed, Retention how long a run is
	// listed; other runs are archived. Zero means no limit. The latest run is always
	// listed.
	Keep      int
	Retention time.Duration
	Enabled   bool
	// CatchUp runs the job once if no gateway was running when it was due.
	CatchUp bool
}

// By returns the sender of the job's messages.
func (j *Job) By() string { return "cron:" + j.ID }

// In returns the time zone of the job: its own, else the given one, else that of the
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

// Check returns an error if the schedule is invalid.
func (j *Job) Check() error {
	_, err := parseSchedule(j.Schedule, j.Zone)
	return err
}

// Next returns the next time after the given one when the job is due, or zero if never.
func (j *Job) Next(after time.Time, zone *time.Location) time.Time {
	s, err := parseSchedule(j.Schedule, j.In(zone))
	if err != nil || !j.Enabled {
		return time.Time{}
	}
	next, _ := s.next(after)
	return next
}

// Outlived returns the runs that should no longer be listed. runs is sorted newest first.
// The latest run is never included.
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
