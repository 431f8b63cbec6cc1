package config

import (
	"fmt"
	"strings"
)

// preface is the start of the documentation.
const preface = `# Settings

A test generates this page from the settings in internal/ops/config.

Every setting has a default, so no file is needed. Values are taken from these places; later ones
override earlier ones:

1. the default,
2. the file: ` + "`firn.toml`" + ` in the home (` + "`~/.firn`" + `), or the file that ` + "`FIRN_CONFIG`" + ` names,
3. the environment: ` + "`FIRN_`" + ` and the path of the setting in capitals, with two
   underscores for each dot, such as ` + "`FIRN_GATEWAY__LISTEN`" + `,
4. flags of the command.

An unknown key or an invalid value is an error, and firn does not start with it.
` + "`firn config check`" + ` lists all errors at once, each with its line and a suggestion. A running
gateway reads the file again on SIGHUP, and keeps its settings if the file has errors. Settings
marked *restart* take effect at its next start.

- A *time* has units: ` + "`\"30s\"`" + `, ` + "`\"5m\"`" + `, ` + "`\"1h30m\"`" + `, ` + "`\"30d\"`" + `, ` + "`\"2w\"`" + `.
- A *size* is a number of bytes, or has a unit: ` + "`\"10mb\"`" + ` is ten million, ` + "`\"10mib\"`" + ` is
  10 × 1,048,576.
- A *path* may begin with ` + "`~`" + `, your home directory, or ` + "`<home>`" + `, firn's home. Relative paths in
  the file start at the file's directory.
- A *name* has lowercase letters, digits, ` + "`-`" + ` and ` + "`_`" + `.
- A *model* is ` + "`provider/model`" + `, such as ` + "`anthropic/claude-sonnet-4-5`" + `.
- In variables, the items of a list are separated by commas. An empty variable is not set.

Some variables are shorter than their paths:

| Variable | |
|---|---|
| ` + "`FIRN_HOME`" + ` | ` + "`home`" + ` |
| ` + "`FIRN_CONFIG`" + ` | settings file |
| ` + "`FIRN_MODEL`" + ` | ` + "`defaults.model`" + `, and the model of the default agent, regardless of its table |
| ` + "`FIRN_AGENT`" + ` | ` + "`default_agent`" + ` |
| ` + "`FIRN_STORE`" + ` | ` + "`store.url`" + ` |
| ` + "`FIRN_GATEWAY`" + ` | ` + "`client.gateway`" + ` |
| ` + "`FIRN_TOKEN`" + ` | the token for a gateway over TCP |

Secrets are never in the file. Settings that end in ` + "`_env`" + ` name a variable that holds a secret,
those that end in ` + "`_file`" + ` a file. It has the secret on one line; the files of a cluster have the
formats of NATS and TLS.

An example:

` + "```toml" + `
` + example + "```" + `
`

// example is a valid settings file with the common settings.
const example = `default_agent = "main"

[defaults]
model = "anthropic/claude-sonnet-4-5"
fallbacks = ["ollama/qwen3"]

[agents.main]
workspace = "~/notes"
workspace_write = true

[agents.coder]
model = "openai/gpt-5"
thinking = "high"
shell = { enabled = true, timeout = "5m" }
compaction = { mode = "suggest", keep_recent = 30000 }

[gateway]
listen = "127.0.0.1:7766"

[session]
dm_scope = "per-peer"
time_zone = "Europe/Berlin"
reset = { at_hour = 5, idle = "12h" }

[session.identity_links]
ann = ["telegram:4711", "whatsapp:+491711234567"]

[[bindings]]
agent = "coder"
channel = "slack"

[providers.local]
kind = "openai-chat"
url = "http://localhost:9000/v1"

[models."local/big"]
window = 131072

[[cron]]
id = "morning"
schedule = "30 7 * * 1-5"
message = "What is on today?"
`

// documentation returns docs/configuration.md.
func documentation() string {
	var b strings.Builder
	b.WriteString(preface)
	fields := Schema()
	b.WriteString("\n## At the top of the file\n")
	writeRows(&b, rowsOf(fields, ""))
	for _, f := range fields {
		if !f.Table {
			continue
		}
		fmt.Fprintf(&b, "\n%s `%s`\n\n%s\n", heading(f.Path), header(f), prose(f.Description))
		if f.Allowed != nil {
			fmt.Fprintf(&b, "The names are %s.\n", codes(f.Allowed))
		}
		if each, ok := strings.CutPrefix(f.Type, "by name: "); ok {
			fmt.Fprintf(&b, "Each name has a %s.\n", each)
		}
		if f.Like != "" {
			fmt.Fprintf(&b, "The keys are those of `%s`.\n", f.Like)
			continue
		}
		writeRows(&b, rowsOf(fields, below(f)))
	}
	return b.String()
}

// heading returns the heading level, deeper for nested tables.
func heading(path string) string {
	return strings.Repeat("#", min(2+strings.Count(path, "."), 4))
}

// header returns the header of a table in the file.
func header(f Field) string {
	path := strings.ReplaceAll(f.Path, ".#", "")
	if strings.HasPrefix(f.Type, "tables, any") {
		return "[[" + path + "]]"
	}
	if f.Type == "tables by name" {
		path += ".<name>"
	}
	return "[" + path + "]"
}

// below returns the prefix of the paths of a table's settings.
func below(f Field) string {
	switch f.Type {
	case "tables, any number":
		return f.Path + ".#."
	case "tables by name":
		return f.Path + ".<name>."
	}
	return f.Path + "."
}

// rowsOf returns the settings directly below a path that are not tables.
func rowsOf(fields []Field, prefix string) []Field {
	var rows []Field
	for _, f := range fields {
		rest, ok := strings.CutPrefix(f.Path, prefix)
		if ok && !f.Table && !strings.Contains(rest, ".") {
			f.Path = rest
			rows = append(rows, f)
		}
	}
	return rows
}

func writeRows(b *strings.Builder, rows []Field) {
	if len(rows) == 0 {
		return
	}
	b.WriteString("\n| Key | Type | Default | |\n|---|---|---|---|\n")
	for _, f := range rows {
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", f.Path, typeOf(f), defaultOf(f), cell(prose(describe(f))))
	}
}

// typeOf describes the allowed values of a setting.
func typeOf(f Field) string {
	if f.Allowed != nil {
		return cell(codes(f.Allowed))
	}
	text := f.Type
	if f.Range != "" {
		low, high, _ := strings.Cut(f.Range, "..")
		switch {
		case high == "":
			text += ", at least " + low
		default:
			text += ", " + low + " to " + high
		}
	}
	return cell(text)
}

func defaultOf(f Field) string {
	switch {
	case f.Needed:
		return "*required*"
	case f.Default == "" || f.Default == `""` || f.Default == "[]":
		return ""
	}
	return "`" + cell(f.Default) + "`"
}

func describe(f Field) string {
	if f.Restart {
		return f.Description + " *restart*"
	}
	return f.Description
}

// codes lists choices, without the empty one.
func codes(names []string) string {
	var quoted []string
	for _, n := range names {
		if n != "" {
			quoted = append(quoted, "`"+n+"`")
		}
	}
	return strings.Join(quoted, ", ")
}

// cell escapes a text for a table cell.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// prose escapes angle brackets outside of code.
func prose(text string) string { return strings.ReplaceAll(text, "<", `\<`) }
