package cli

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/base/failure"
	"firn.dev/internal/ops/config"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// Serving configures a gateway for other processes.
type Serving struct {
	Settings *config.Settings
	// Reload reads the settings again, on request.
	Reload func() (*config.Settings, error)
	// Terminal is true if the log is written to a terminal.
	Terminal bool
	// Ready is called with the addresses when the gateway is listening.
	Ready func(address, socket, tcp string)
}

// gatewayCommands are the commands that run a gateway and show its state.
type gatewayCommands struct{ *program }

func (p gatewayCommands) serveCommand() *cobra.Command {
	var listen, socket, unit string
	var noWeb bool
	cmd := &cobra.Command{
		Use:     "serve",
		GroupID: "gateway",
		Short:   "Run the gateway: it owns the sessions and serves all clients",
		Long: `Run the gateway until it is stopped by Ctrl-C, SIGTERM or firn stop. Running
turns may finish; accepted messages without an answer are answered after the
next start. SIGHUP reloads the settings.

It listens on a Unix socket in the home, for its owner only, and with --listen
also on a loopback TCP address, where clients need a token and browsers find
the web UI (firn open). While it runs, all commands on this home use it.

--print-unit prints a systemd unit or a launchd property list that runs it.`,
		Example: "  firn serve\n  firn serve --listen 127.0.0.1:7766\n  firn serve --print-unit systemd > ~/.config/systemd/user/firn.service",
		Args:    none,
	}
	flags := cmd.Flags()
	flags.StringVar(&listen, "listen", "", "also listen on this TCP `address` (default gateway.listen)")
	flags.StringVar(&socket, "socket", "", "`path` of the Unix socket (default gateway.socket)")
	flags.BoolVar(&noWeb, "no-web", false, "do not serve the web UI (default gateway.web)")
	flags.StringVar(&unit, "print-unit", "", "print a unit for this `manager`, systemd or launchd, and exit")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		set := map[string]string{}
		if listen != "" {
			set["gateway.listen"] = listen
		}
		if socket != "" {
			set["gateway.socket"] = socket
		}
		if noWeb {
			set["gateway.web"] = "false"
		}
		if unit != "" {
			return p.printUnit(cmd, unit, set)
		}
		return p.runGateway(cmd, set)
	}
	return cmd
}

// runGateway runs the gateway until it is stopped.
func (p gatewayCommands) runGateway(cmd *cobra.Command, set map[string]string) error {
	if p.serve == nil {
		return failure.Of(firn.ErrUnsupported, "this program cannot run a gateway")
	}
	if p.address != "" {
		return usage(cmd, "--gateway is the address of another gateway; use --listen and --socket")
	}
	if err := p.mustBeOurs(); err != nil {
		return err
	}
	load := func() (*config.Settings, error) { return p.settingsWith(set) }
	settings, err := load()
	if err != nil {
		return err
	}
	if err := p.detectModel(cmd.Context(), settings, set); err != nil {
		return err
	}
	if settings, err = load(); err != nil {
		return err
	}
	return p.serve(cmd.Context(), Serving{
		Settings: settings, Reload: load, Terminal: isTerminal(p.stderr),
		Ready: func(address, socket, tcp string) { p.ready(settings.Home, address, socket, tcp) },
	})
}

// detectModel adds the model that is found to the flags of a gateway, if nothing is configured.
func (p gatewayCommands) detectModel(ctx context.Context, settings *config.Settings, set map[string]string) error {
	choice := p.startChoice(ctx, settings, "", "")
	if choice.found == nil {
		return nil
	}
	model, why := choice.resolved()
	if choice.setting != "" && model != "" {
		set[choice.setting] = model
	}
	if !p.json && isTerminal(p.stderr) {
		fmt.Fprintf(p.stderr, "model %s (%s); to change it: firn model\n", model, why)
	}
	return ctx.Err()
}

// ready prints the addresses of the gateway.
func (p gatewayCommands) ready(home, address, socket, tcp string) {
	if p.json {
		writeJSON(p.stdout, "", map[string]any{"address": address, "socket": socket, "tcp": tcp, "pid": os.Getpid()}) // a failing reader notices by itself
		return
	}
	var where []string
	for _, w := range []string{socket, tcp} {
		if w != "" {
			where = append(where, w)
		}
	}
	fmt.Fprintf(p.stdout, "serving %s on %s\n", home, strings.Join(where, " and "))
}

func (p gatewayCommands) stopCommand() *cobra.Command {
	var wait time.Duration
	cmd := &cobra.Command{
		Use:     "stop [SESSION]",
		GroupID: "gateway",
		Short:   "Stop the running turn of a session, or the gateway of the home",
		Long: `Stop the running turn of a session. The partial answer is kept, and queued
messages are not answered.

Without a session, stop the gateway of the home and wait for it to exit.
Running turns may finish within gateway.drain; messages without an answer are
answered after the next start.

` + sessionHelp,
		Example: "  firn stop 0198c5a2\n  firn stop",
		Args:    args(0, 1, "at most one session"), ValidArgsFunction: p.completeSession(false),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return p.stop(cmd.Context(), wait)
		}
		return p.with(mayChange, p.stopTurn)(cmd, args)
	}
	cmd.Flags().DurationVar(&wait, "wait", time.Minute, "`time` to wait for the gateway to exit")
	return cmd
}

// stopTurn stops the turn of a session.
func (p gatewayCommands) stopTurn(ctx context.Context, c *client.Client, args []string) error {
	s, err := p.session(ctx, c, args[0])
	if err != nil {
		return err
	}
	done, err := c.Stop(ctx, s.ID)
	if err != nil {
		return err
	}
	return p.print(wire.Stopped{Stopped: done}, func() string {
		if !done {
			return fmt.Sprintf("no turn is running in %s%s\n", prose.Short(s.ID), quotedName(s.Title))
		}
		return fmt.Sprintf("stopped %s%s; the partial answer is kept\n", prose.Short(s.ID), quotedName(s.Title))
	})
}

// stopped is the result of firn stop.
type stopped struct {
	Stopped bool   `json:"stopped"`
	Address string `json:"address"`
	PID     int    `json:"pid"`
}

// stop stops the gateway of the home and waits for it to end.
func (p gatewayCommands) stop(ctx context.Context, wait time.Duration) error {
	if err := p.mustBeOurs(); err != nil {
		return err
	}
	settings, err := p.settings()
	if err != nil {
		return err
	}
	address, ok := client.Find(ctx, settings.Home, nil)
	if !ok {
		return &hinted{failure.Of(firn.ErrNotFound, "no gateway is running for %s", settings.Home), "run firn serve to start one"}
	}
	status, err := p.statusOf(ctx, address, settings)
	if err != nil {
		return err
	}
	process, err := os.FindProcess(status.PID)
	if err == nil {
		err = terminate(process)
	}
	if err != nil {
		return fmt.Errorf("stop the gateway with process id %d: %w", status.PID, err)
	}
	if err := p.awaitExit(ctx, settings.Home, wait); err != nil {
		return err
	}
	return p.print(stopped{true, address, status.PID}, func() string { return fmt.Sprintf("stopped the gateway at %s\n", address) })
}

func (p *program) statusOf(ctx context.Context, address string, s *config.Settings) (wire.Status, error) {
	c, err := p.dial(address, s)
	if err != nil {
		return wire.Status{}, err
	}
	defer c.Close()
	return c.Status(ctx)
}

// awaitExit waits until no gateway serves a home.
func (p gatewayCommands) awaitExit(ctx context.Context, home string, wait time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, alive := client.Find(ctx, home, nil); !alive && ctx.Err() == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			if ctx.Err() == context.DeadlineExceeded {
				return &wire.Problem{Kind: wire.Busy, Message: "the gateway received the stop request but is still running", Hint: "turns may still be running; run firn status"}
			}
			return context.Cause(ctx)
		}
	}
}
