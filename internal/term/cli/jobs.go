package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"firn.dev/client"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

func (p gatewayCommands) jobsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "jobs",
		GroupID: "gateway",
		Short:   "List scheduled jobs and their last runs",
		Long: `Jobs are messages that the gateway sends to agents on a schedule, as set by
[[cron]] in the settings. Each run has its own session. Requires a running
gateway.`,
		Example: "  firn jobs\n  firn jobs run daily",
		Args:    none,
		RunE: p.withJobs(func(ctx context.Context, c *client.Client, _ []string) error {
			jobs, err := c.Jobs(ctx)
			if err != nil {
				return err
			}
			page := wire.Page[wire.Job]{Items: append([]wire.Job{}, jobs...), Total: len(jobs)}
			return p.print(page, func() string { return p.jobsText(jobs) })
		}),
	}
	cmd.AddCommand(p.jobsRunCommand())
	return cmd
}

// withJobs returns a command function for jobs. It requires a running gateway.
func (p gatewayCommands) withJobs(do func(ctx context.Context, c *client.Client, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		c, err := p.running(cmd.Context(), "list the jobs", "run firn serve; jobs only run while it does")
		if err != nil {
			return err
		}
		defer c.Close()
		return do(cmd.Context(), c, args)
	}
}

// jobsText formats a list of jobs.
func (p gatewayCommands) jobsText(jobs []wire.Job) string {
	if len(jobs) == 0 {
		return "no jobs\n"
	}
	rows := [][]string{{"JOB", "WHEN", "AGENT", "NEXT", "LAST", "SESSION", "STATE"}}
	for _, j := range jobs {
		rows = append(rows, []string{
			prose.Clean(j.ID), prose.OneLine(strings.TrimSpace(j.Schedule+" "+j.Zone), 40), prose.Clean(j.Agent),
			when(j.Next), when(j.Last), prose.Short(j.Session), jobState(&j),
		})
	}
	return strings.Join(prose.Table(rows), "\n") + "\n"
}

// when formats a time that may be unknown.
func when(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format("2006-01-02 15:04")
}

// jobState describes the state of a job.
func jobState(j *wire.Job) string {
	switch {
	case j.Running:
		return "running"
	case j.Error != "":
		return "failed: " + prose.OneLine(j.Error, 60)
	case !j.Enabled:
		return "off"
	}
	return "waiting"
}

func (p gatewayCommands) jobsRunCommand() *cobra.Command {
	return &cobra.Command{
		Use: "run NAME", Short: "Run a job now", Args: args(1, 1, "the name of a job"), Example: "  firn jobs run daily",
		RunE: p.withJobs(func(ctx context.Context, c *client.Client, args []string) error {
			run, err := c.RunJob(ctx, args[0])
			if err != nil {
				return err
			}
			return p.print(run, func() string {
				return fmt.Sprintf("%s is running in session %s\n", prose.Clean(args[0]), prose.Short(run.Session))
			})
		}),
	}
}
