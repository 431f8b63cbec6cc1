package cli

import (
	"encoding/xml"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"firn/internal/config"
)

// printUnit prints what a service manager needs to run the gateway.
func (p *program) printUnit(cmd *cobra.Command, kind string, set map[string]string) error {
	settings, err := p.settingsWith(set)
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find out where this program is: %w", err)
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
	var text string
	switch kind {
	case "systemd":
		text = systemdUnit(command, settings)
	case "launchd":
		text = launchdList(command, settings)
	default:
		return usage(cmd, "there are units for systemd and launchd, not for %q", kind)
	}
	return p.print(map[string]string{"kind": kind, "unit": text}, func() string { return text })
}

// systemdUnit is a unit for systemd. It gets longer than the gateway may take
// to drain before it is killed.
func systemdUnit(command []string, s *config.Settings) string {
	words := make([]string, len(command))
	for i, w := range command {
		words[i] = systemdWord(w)
	}
	return fmt.Sprintf(`[Unit]
Description=firn, the gateway of %s
After=network.target

[Service]
Type=exec
ExecStart=%s
ExecReload=/bin/kill -HUP $MAINPID
Restart=on-failure
RestartSec=1
TimeoutStopSec=%d
UMask=0077
NoNewPrivileges=yes

[Install]
WantedBy=default.target
`, strings.ReplaceAll(s.Home, "%", "%%"), strings.Join(words, " "), int(s.Gateway.Drain.Seconds())+15)
}

// systemdWord quotes a word of a command line for systemd.
func systemdWord(w string) string {
	w = strings.NewReplacer("%", "%%", "$", "$$").Replace(w)
	if w != "" && !strings.ContainsAny(w, " \t\"'\\") {
		return w
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(w) + `"`
}

// launchdList is a property list for launchd.
func launchdList(command []string, s *config.Settings) string {
	var words strings.Builder
	for _, w := range command {
		words.WriteString("\t\t<string>" + xmlText(w) + "</string>\n")
	}
	lines := slices.Concat([]string{
		`<?xml version="1.0" encoding="UTF-8"?>`,
		`<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">`,
		`<plist version="1.0">`,
		`<dict>`,
		"\t<key>Label</key>\n\t<string>firn.gateway</string>",
		"\t<key>ProgramArguments</key>\n\t<array>\n" + words.String() + "\t</array>",
		"\t<key>RunAtLoad</key>\n\t<true/>",
		"\t<key>KeepAlive</key>\n\t<dict>\n\t\t<key>SuccessfulExit</key>\n\t\t<false/>\n\t</dict>",
		fmt.Sprintf("\t<key>ExitTimeOut</key>\n\t<integer>%d</integer>", int(s.Gateway.Drain.Seconds())+15),
		"\t<key>Umask</key>\n\t<integer>63</integer>",
		`</dict>`,
		`</plist>`,
	})
	return strings.Join(lines, "\n") + "\n"
}

// xmlText escapes a text for XML.
func xmlText(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a builder takes everything
	return b.String()
}
