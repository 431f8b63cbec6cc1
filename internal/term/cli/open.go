package cli

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/base/failure"
	"firn.dev/wire"
)

func (p gatewayCommands) openCommand() *cobra.Command {
	var read, print bool
	cmd := &cobra.Command{
		Use:     "open",
		GroupID: "gateway",
		Short:   "Open the web UI of the gateway in a browser, logged in",
		Long: `Open the web UI of the gateway in a browser. The gateway creates a login code
that works once, within two minutes. The browser then has its own token for 30
days; firn token ls lists it and firn token revoke revokes it.

--read gives the browser read-only access. --print prints the address instead of opening it; if no browser can be opened, it is printed anyway.

Requires a running gateway with a TCP address: firn serve --listen
127.0.0.1:7766.`,
		Example: "  firn open\n  firn open --read --print",
		Args:    none,
	}
	cmd.Flags().BoolVar(&read, "read", false, "read-only access")
	cmd.Flags().BoolVar(&print, "print", false, "print the address instead of opening it")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		order := wire.LoginOrder{}
		if read {
			order.Scope = wire.ScopeRead
		}
		code, err := p.orderLogin(cmd.Context(), order)
		if err != nil {
			return err
		}
		if print || p.json {
			return p.print(code, func() string { return code.URL + "\n" })
		}
		return p.browse(cmd.Context(), code)
	}
	return cmd
}

// orderLogin requests a login code from the running gateway. A gateway in this process
// would end before the browser connects, so it is not used.
func (p gatewayCommands) orderLogin(ctx context.Context, order wire.LoginOrder) (wire.LoginCode, error) {
	if err := p.awaitGateway(ctx); err != nil {
		return wire.LoginCode{}, err
	}
	c, err := p.running(ctx, "open the web UI", "run firn serve --listen 127.0.0.1:7766")
	if err != nil {
		return wire.LoginCode{}, err
	}
	defer c.Close()
	return c.Access.OrderLogin(ctx, order)
}

// openWait is how long firn open waits for a gateway that may be starting.
const openWait = 2 * time.Second

// awaitGateway waits until the gateway of the home is found, at most for a short time: firn
// open is often run right after firn serve.
func (p gatewayCommands) awaitGateway(ctx context.Context) error {
	settings, err := p.settings()
	if err != nil || settings.Client.Gateway != "" {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, openWait)
	defer cancel()
	for ctx.Err() == nil {
		if _, ok := client.Find(ctx, settings.Home, nil); ok {
			return nil
		}
		select {
		case <-time.After(openWait / 20):
		case <-ctx.Done():
		}
	}
	return nil
}

// running connects to the running gateway, for operations that a gateway in this process
// cannot do.
func (p gatewayCommands) running(ctx context.Context, what, hint string) (*client.Client, error) {
	settings, err := p.settings()
	if err != nil {
		return nil, err
	}
	address := settings.Client.Gateway
	if address == "" {
		var ok bool
		if address, ok = client.Find(ctx, settings.Home, nil); !ok {
			return nil, &hinted{failure.Of(firn.ErrNotFound, "cannot %s of %s: no gateway is running", what, settings.Home), hint}
		}
	}
	return p.dial(address, settings)
}

// browse opens the address in a browser, or prints it.
func (p gatewayCommands) browse(ctx context.Context, code wire.LoginCode) error {
	page, _, _ := strings.Cut(code.URL, "/login")
	err := p.startBrowser(ctx, code.URL)
	if err == nil {
		return p.print(code, func() string { return "opened " + page + " in a browser\n" })
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	fmt.Fprintf(p.stderr, "cannot open a browser: %s\nopen this address within two minutes; it works once:\n", err)
	return p.print(code, func() string { return code.URL + "\n" })
}

// browserWait is how long to wait for an error of the program that opens a browser. Some of
// these programs run as long as the browser.
const browserWait = 3 * time.Second

// startBrowser opens an address with the system's opener. It does not wait for the browser.
func (p gatewayCommands) startBrowser(ctx context.Context, address string) error {
	words, err := p.opener(runtime.GOOS)
	if err != nil {
		return err
	}
	program, err := exec.LookPath(words[0])
	if err != nil {
		return errors.New(words[0] + " not found")
	}
	// Not CommandContext: the browser may be its child and must outlive this process.
	cmd := exec.Command(program, append(words[1:], address)...)
	if err := cmd.Start(); err != nil {
		return errors.New(words[0] + " did not start")
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // ends at the latest with this process
	timer := time.NewTimer(browserWait)
	defer timer.Stop()
	select {
	case err := <-ended:
		if err != nil {
			return errors.New(words[0] + " failed")
		}
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// opener returns the command that opens addresses on a system.
func (p gatewayCommands) opener(system string) ([]string, error) {
	switch system {
	case "darwin":
		return []string{"open"}, nil
	case "windows":
		return []string{"rundll32", "url.dll,FileProtocolHandler"}, nil
	}
	if p.env("DISPLAY") == "" && p.env("WAYLAND_DISPLAY") == "" && p.env("WSL_DISTRO_NAME") == "" {
		return nil, errors.New("there is no display")
	}
	return []string{"xdg-open"}, nil
}
