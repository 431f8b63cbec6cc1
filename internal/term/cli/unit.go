package cli

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"firn.dev/internal/ops/unit"
)

// printUnit prints the service manager configuration of the gateway.
func (p gatewayCommands) printUnit(cmd *cobra.Command, kind string, set map[string]string) error {
	settings, err := p.settingsWith(set)
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the path of this program: %w", err)
	}
	command := []string{program, "--home", settings.Home, "serve"}
	if listen := set["gateway.listen"]; listen != "" {
		command = append(command, "--listen", listen)
	}
	if socket := set["gateway.socket"]; socket != "" {
		command = append(command, "--socket", socket)
	}
	if set["gateway.web"] == "false" {
		command = append(command, "--no-web")
	}
	service := unit.Service{Command: command, Home: settings.Home, Drain: time.Duration(settings.Gateway.Drain)}
	var text string
	switch kind {
	case "systemd":
		text = service.Systemd()
	case "launchd":
		text = service.Launchd()
	default:
		return usage(cmd, "unknown manager %q; the managers are systemd and launchd", kind)
	}
	return p.print(map[string]string{"kind": kind, "unit": text}, func() string { return text })
}
