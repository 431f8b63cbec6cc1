// Package unit generates the service definitions that run firn under systemd and launchd: its
// gateway, or a command that mirrors other tools. It does no I/O: callers write the text.
package unit

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"strings"
	"time"
)

// Service describes a command to run as a system service.
type Service struct {
	// What describes the service, and Label is its name for launchd. Empty means those of a
	// gateway.
	What, Label string
	// Command is the program and its arguments.
	Command []string
	// Env are environment variables, as NAME=VALUE.
	Env []string
	// Home is the directory of the sessions.
	Home string
	// Drain is the grace period for running turns at shutdown. The service manager waits
	// longer than that before it kills the process.
	Drain time.Duration
}

// what returns the description of the service.
func (s Service) what() string { return cmp.Or(s.What, "the gateway of "+s.Home) }

// stopTimeout returns the stop timeout in seconds.
func (s Service) stopTimeout() int { return int(s.Drain.Seconds()) + 15 }

// Systemd returns a systemd unit.
func (s Service) Systemd() string {
	words := make([]string, len(s.Command))
	for i, w := range s.Command {
		words[i] = systemdWord(w)
	}
	var more strings.Builder
	for _, variable := range s.Env {
		more.WriteString("Environment=" + systemdWord(variable) + "\n")
	}
	if s.What == "" { // a gateway
		more.WriteString("ExecReload=/bin/kill -HUP $MAINPID\n")
	}
	return fmt.Sprintf(`[Unit]
Description=firn, %s
After=network.target

[Service]
Type=exec
ExecStart=%s
%sRestart=on-failure
RestartSec=1
TimeoutStopSec=%d
UMask=0077
NoNewPrivileges=yes

[Install]
WantedBy=default.target
`, strings.ReplaceAll(s.what(), "%", "%%"), strings.Join(words, " "), more.String(), s.stopTimeout())
}

// systemdWord quotes a word of a command line for systemd.
func systemdWord(w string) string {
	w = strings.NewReplacer("%", "%%", "$", "$$").Replace(w)
	if w != "" && !strings.ContainsAny(w, " \t\"'\\") {
		return w
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(w) + `"`
}

// Launchd returns a launchd property list.
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
		"\t<key>Label</key>\n\t<string>" + xmlText(cmp.Or(s.Label, "firn.gateway")) + "</string>",
		"\t<key>ProgramArguments</key>\n\t<array>\n" + words.String() + "\t</array>",
		s.launchdEnv() + "\t<key>RunAtLoad</key>\n\t<true/>",
		"\t<key>KeepAlive</key>\n\t<dict>\n\t\t<key>SuccessfulExit</key>\n\t\t<false/>\n\t</dict>",
		fmt.Sprintf("\t<key>ExitTimeOut</key>\n\t<integer>%d</integer>", s.stopTimeout()),
		"\t<key>Umask</key>\n\t<integer>63</integer>",
		`</dict>`,
		`</plist>`,
	}
	return strings.Join(lines, "\n") + "\n"
}

// launchdEnv returns the environment variables as a member of a property list.
func (s Service) launchdEnv() string {
	if len(s.Env) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\t<key>EnvironmentVariables</key>\n\t<dict>\n")
	for _, variable := range s.Env {
		name, value, _ := strings.Cut(variable, "=")
		b.WriteString("\t\t<key>" + xmlText(name) + "</key>\n\t\t<string>" + xmlText(value) + "</string>\n")
	}
	b.WriteString("\t</dict>\n")
	return b.String()
}

// xmlText escapes a text for XML.
func xmlText(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a strings.Builder does not fail
	return b.String()
}
