// Package unit is what the service manager of a system must be told to run firn's
// gateway. It is pure: where the text goes is for others to say.
package unit

import (
	"encoding/xml"
	"fmt"
	"strings"
	"time"
)

// Service is a gateway that a system is to run.
type Service struct {
	// Command is the program and its arguments.
	Command []string
	// Home is where its sessions are.
	Home string
	// Drain is how long it may take to end what runs. Before it is killed it gets
	// more than that.
	Drain time.Duration
}

// patience is how long, in seconds, the gateway may take to end.
func (s Service) patience() int { return int(s.Drain.Seconds()) + 15 }

// Systemd is a unit for systemd.
func (s Service) Systemd() string {
	words := make([]string, len(s.Command))
	for i, w := range s.Command {
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
`, strings.ReplaceAll(s.Home, "%", "%%"), strings.Join(words, " "), s.patience())
}

// systemdWord quotes a word of a command line for systemd.
func systemdWord(w string) string {
	w = strings.NewReplacer("%", "%%", "$", "$$").Replace(w)
	if w != "" && !strings.ContainsAny(w, " \t\"'\\") {
		return w
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(w) + `"`
}

// Launchd is a property list for launchd.
func (s Service) Launchd() string {
	var words strings.Builder
	for _, w := range s.Command {
		words.WriteString("\t\t<string>" + xmlText(w) + "</string>\n")
	}
	lines := []string{
		`<?xml version="1.0" encoding="UTF-8"?>`,
		`<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">`,
		`<plist version="1.0">`,
		`<dict>`,
		"\t<key>Label</key>\n\t<string>firn.gateway</string>",
		"\t<key>ProgramArguments</key>\n\t<array>\n" + words.String() + "\t</array>",
		"\t<key>RunAtLoad</key>\n\t<true/>",
		"\t<key>KeepAlive</key>\n\t<dict>\n\t\t<key>SuccessfulExit</key>\n\t\t<false/>\n\t</dict>",
		fmt.Sprintf("\t<key>ExitTimeOut</key>\n\t<integer>%d</integer>", s.patience()),
		"\t<key>Umask</key>\n\t<integer>63</integer>",
		`</dict>`,
		`</plist>`,
	}
	return strings.Join(lines, "\n") + "\n"
}

// xmlText escapes a text for XML.
func xmlText(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a builder takes everything
	return b.String()
}
