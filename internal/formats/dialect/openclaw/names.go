package openclaw

import (
	"net/url"
	"strings"

	"firn.dev/internal/base/pattern"
)

// ext is the extension of transcripts.
const ext = ".jsonl"

// fileName is a parsed name of a transcript.
type fileName struct {
	// id is the session ID, topic the thread of the session, if any.
	id, topic string
	// reason is why the file was archived: reset, deleted or bak; "" if it was not.
	reason string
	// at is the time of archiving.
	at string
	// packed is set if the file is compressed.
	packed bool
}

// archivedName matches the suffix of an archived file.
var archivedName = pattern.New(`^(reset|deleted|bak)\.(\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}(?:\.\d{3})?Z)$`)

// forkedName matches pi's file names, which forks of threads use.
var forkedName = pattern.New(`^\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}-\d{3}Z_(.+)$`)

// parseName parses a file name. It returns false if it is not a transcript's.
func parseName(name string) (f fileName, ok bool) {
	name, f.packed = strings.CutSuffix(name, ".zst")
	stem, rest, ok := strings.Cut(name, ext)
	if !ok || stem == "" {
		return f, false
	}
	if rest != "" {
		m := archivedName().FindStringSubmatch(strings.TrimPrefix(rest, "."))
		if m == nil || rest[0] != '.' {
			return f, false
		}
		f.reason, f.at = m[1], m[2]
	}
	if m := forkedName().FindStringSubmatch(stem); m != nil {
		stem = m[1]
	}
	f.id = stem
	if id, topic, ok := strings.Cut(stem, topicMark); ok && id != "" && topic != "" {
		f.id, f.topic = id, topic
	}
	return f, true
}

// topicMark separates the session ID from the thread.
const topicMark = "-topic-"

// topicOf returns the thread that a key names, encoded as in file names.
func topicOf(key string) string {
	i := strings.LastIndex(key, ":topic:")
	if i < 0 {
		return ""
	}
	return encodeURIComponent(key[i+len(":topic:"):])
}

// encodeURIComponent is JavaScript's function of that name.
func encodeURIComponent(s string) string {
	s = strings.ReplaceAll(url.QueryEscape(s), "+", "%20")
	return strings.NewReplacer("%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*").Replace(s)
}

// mainAgent is the default agent.
const mainAgent = "main"

// agentName normalizes the name of an agent as OpenClaw does: lower-case letters, digits,
// dashes and underscores, starting with a letter or digit, at most 64 characters.
func agentName(name string) string {
	clean := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_' {
			return c
		}
		return '-'
	}, strings.ToLower(name))
	for strings.Contains(clean, "--") && clean != strings.ToLower(name) {
		clean = strings.ReplaceAll(clean, "--", "-")
	}
	clean = strings.TrimLeft(clean, "-_")
	if clean = strings.TrimRight(clean[:min(len(clean), 64)], "-"); clean == "" {
		return mainAgent
	}
	return clean
}

// sameKey reports whether two keys lead to the same session: releases before March 2026
// write "dm" instead of "direct".
func sameKey(a, b string) bool { return normalizeKey(a) == normalizeKey(b) }

// normalizeKey returns a key in its current spelling.
func normalizeKey(key string) string {
	parts := strings.Split(strings.ToLower(key), ":")
	for i, part := range parts {
		// agent:A:dm:peer or agent:A:channel:dm:peer; in later positions "dm" is a name.
		if part == "dm" && (i == 2 || i == 3) && i < len(parts)-1 {
			parts[i] = "direct"
			break
		}
	}
	return strings.Join(parts, ":")
}
