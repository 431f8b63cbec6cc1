package claudecode

import (
	"strconv"
	"time"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
)

// version is the version of Claude Code in written records.
const version = "2.1.325"

// stampForm is JavaScript's time format.
const stampForm = "2006-01-02T15:04:05.000Z"

// record is a line of the chain.
type record struct {
	kind, subtype string
	parent        string
	logical       string
	uuid          string
	at            time.Time
	message       []byte
	meta, summary bool
	failure       bool
	request       string
	result        []byte
	content       string
	compact       []byte
	copyOf        string
	firn          []byte
}

// record writes a line of the chain with the members in Claude Code's order. Readers of
// large files find some members by their position.
func (p *printer) record(dst []byte, r record) []byte {
	p.ours = r.uuid
	p.noteRecord(&line{kind: r.kind, subtype: r.subtype, uuid: r.uuid, parent: r.parent, logical: r.logical, message: r.message, copyOf: r.copyOf})
	w := writer{dst: append(dst, '{')}
	w.orNull("parentUuid", r.parent)
	w.optional("logicalParentUuid", r.logical)
	w.flag("isSidechain", p.side)
	w.optional("agentId", p.agent)
	at := r.at.Format(stampForm)
	switch r.kind {
	case "assistant":
		w.raw("message", r.message)
		w.optional("requestId", r.request)
		w.text("type", r.kind)
		w.text("uuid", r.uuid)
		w.text("timestamp", at)
	case "system":
		w.text("type", r.kind)
		w.text("subtype", r.subtype)
		w.text("content", r.content)
		w.flag("isMeta", false)
		w.text("timestamp", at)
		w.text("uuid", r.uuid)
		w.text("level", "info")
		w.raw("compactMetadata", r.compact)
	default:
		w.text("type", r.kind)
		w.raw("message", r.message)
		w.set("isMeta", r.meta)
		w.text("uuid", r.uuid)
		w.text("timestamp", at)
		w.raw("toolUseResult", r.result)
		w.set("isVisibleInTranscriptOnly", r.summary)
		w.set("isCompactSummary", r.summary)
	}
	w.set("isApiErrorMessage", r.failure)
	w.optional("copyOf", r.copyOf)
	w.raw("firn", r.firn)
	w.text("userType", "external")
	w.text("cwd", p.directory())
	w.text("sessionId", p.session)
	w.text("version", version)
	w.optional("gitBranch", p.branch)
	return append(w.dst, '}', '\n')
}

func (p *printer) directory() string {
	if p.cwd == "" {
		return "/"
	}
	return p.cwd
}

// private writes a line that Claude Code ignores.
func (p *printer) private(dst []byte, e firn.Entry, members ...member) []byte {
	inner := writer{dst: []byte{'{'}}
	inner.text("id", string(p.uuid(e.ID)))
	inner.text("kind", string(e.Body.Kind()))
	for _, m := range members {
		inner.raw(m.name, m.value)
	}
	w := writer{dst: append(dst, '{')}
	w.text("type", "firn")
	w.raw("firn", append(inner.dst, '}'))
	w.text("timestamp", p.stamp(e.Time).Format(stampForm))
	w.text("sessionId", p.session)
	return append(w.dst, '}', '\n')
}

// member is a member of an object. It is omitted if it has no value.
type member struct {
	name  string
	value []byte
}

func text(name, value string) member {
	if value == "" {
		return member{}
	}
	return member{name, quote(value)}
}

func raw(name string, value []byte) member { return member{name, value} }

func flag(name string, value bool) member {
	if !value {
		return member{}
	}
	return member{name, []byte("true")}
}

// object returns an object of the members that have a value.
func object(members ...member) []byte {
	w := writer{dst: []byte{'{'}}
	for _, m := range members {
		w.raw(m.name, m.value)
	}
	return append(w.dst, '}')
}

// writer writes the members of an object.
type writer struct{ dst []byte }

func (w *writer) name(name string) {
	if w.dst[len(w.dst)-1] != '{' {
		w.dst = append(w.dst, ',')
	}
	w.dst = append(rawjson.AppendString(w.dst, name), ':')
}

func (w *writer) text(name, value string) {
	w.name(name)
	w.dst = rawjson.AppendString(w.dst, value)
}

func (w *writer) optional(name, value string) {
	if value != "" {
		w.text(name, value)
	}
}

func (w *writer) orNull(name, value string) {
	if value != "" {
		w.text(name, value)
		return
	}
	w.name(name)
	w.dst = append(w.dst, "null"...)
}

func (w *writer) flag(name string, value bool) {
	w.name(name)
	w.dst = strconv.AppendBool(w.dst, value)
}

// set writes a boolean that is omitted if false.
func (w *writer) set(name string, value bool) {
	if value {
		w.flag(name, true)
	}
}

func (w *writer) integer(name string, value int64) {
	w.name(name)
	w.dst = strconv.AppendInt(w.dst, value, 10)
}

// raw writes a JSON value. It omits an empty or invalid value.
func (w *writer) raw(name string, value []byte) {
	if len(value) == 0 {
		return
	}
	before := len(w.dst)
	w.name(name)
	dst, err := rawjson.AppendValue(w.dst, value)
	if err != nil {
		w.dst = w.dst[:before]
		return
	}
	w.dst = dst
}
