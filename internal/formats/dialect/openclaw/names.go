package openclaw

import (
	"net/url"
	"regexp"
	"strings"
)

// ext ends the names of transcripts.
const ext = ".jsonl"

// fileName is what the name of a transcript tells.
type fileName struct {
	// id is the session's, and topic the thread that it is about, if any.
	id, topic string
	// why tells why it was put aside: reset, deleted or bak; "" if it was not.
	why string
	// at is when.
	at string
	// packed is set if the file is compressed.
	packed bool
}

// archived is how the name of a file ends that was put aside.
var archived = regexp.MustCompile(`^(reset|deleted|bak)\.(\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}(?:\.\d{3})?Z)$`)

// forked is how pi names its files, which forks of threads are named like.
var forked = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}-\d{3}Z_(.+)$`)

// parseName reads the name of a file; false if it is no transcript.
func parseName(name string) (f fileName, ok bool) {
	name, f.packed = strings.CutSuffix(name, ".zst")
	stem, rest, ok := strings.Cut(name, ext)
	if !ok || stem == "" {
		return f, false
	}
	if rest != "" {
		m := archived.FindStringSubmatch(strings.TrimPrefix(rest, "."))
		if m == nil || rest[0] != '.' {
			return f, false
		}
		f.why, f.at = m[1], m[2]
	}
	if m := forked.FindStringSubmatch(stem); m != nil {
		stem = m[1]
	}
	f.id = stem
	if id, topic, ok := strings.Cut(stem, topicMark); ok && id != "" && topic != "" {
		f.id, f.topic = id, topic
	}
	return f, true
}

// topicMark stands between the id of a session and the thread it is about.
const topicMark = "-topic-"

// topicOf is the thread that a key names, as file names have it.
func topicOf(key string) string {
	i := strings.LastIndex(key, ":topic:")
	if i < 0 {
		return ""
	}
	return component(key[i+len(":topic:"):])
}

// component is JavaScript's encodeURIComponent.
func component(s string) string {
	s = strings.ReplaceAll(url.QueryEscape(s), "+", "%20")
	return strings.NewReplacer("%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*").Replace(s)
}

// mainAgent is the agent that is meant where none is named.
const mainAgent = "main"

// agentName is the name of an agent as OpenClaw spells it: small letters,
// digits, dashes and underscores, a letter or digit first, at most 64.
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

// sameKey reports whether two keys lead to the same session: releases before
// March 2026 call direct what is "direct" since "dm".
func sameKey(a, b string) bool { return modern(a) == modern(b) }

// modern is a key as it is written today.
func modern(key string) string {
	parts := strings.Split(strings.ToLower(key), ":")
	for i, part := range parts {
		// agent:A:dm:peer or agent:A:channel:dm:peer; further back "dm" is a name.
		if part == "dm" && (i == 2 || i == 3) && i < len(parts)-1 {
			parts[i] = "direct"
			break
		}
	}
	return strings.Join(parts, ":")
}
