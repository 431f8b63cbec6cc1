package store

import (
	"time"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
)

// names are the members that have a field, and what a value must be to be read
// into it. An extra field of that name and kind would be taken for the field
// when the line is read. One of another kind would not: it is how readers carry
// what does not fit, and may be appended again.
type names map[string]func(value *rawjson.Reader) bool

// entryNames are the members of every entry; id and parentId are refused in
// any case.
var entryNames = names{"timestamp": isTime}

// bodyNames are the members of an entry by its kind. Those that the tree
// depends on must not be there twice, whatever they are.
var bodyNames = map[firn.Kind]names{
	firn.KindHeader: {"version": isInt, "firn": isInt, "cwd": isText, "parentSession": isText, "agent": isText, "key": isText},

	firn.KindMessage:        {"message": isAny},
	firn.KindCompaction:     {"summary": isText, "firstKeptEntryId": isText, "tokensBefore": isInt, "details": isAny, "fromHook": isBool},
	firn.KindBranchSummary:  {"fromId": isText, "summary": isText, "details": isAny, "fromHook": isBool},
	firn.KindTombstone:      {"targetId": isAny, "reason": isText},
	firn.KindLabel:          {"targetId": isAny, "label": isText},
	firn.KindTitle:          {"name": isText, "source": isText},
	firn.KindModelChange:    {"provider": isText, "modelId": isText},
	firn.KindThinkingChange: {"thinkingLevel": isText},
	firn.KindCustom:         {"customType": isText, "data": isAny},
	firn.KindCustomMessage:  {"customType": isText, "content": isContent, "display": isBool, "details": isAny},
	firn.KindHead:           {"reason": isText},
}

// messageNames are the members of every message.
var messageNames = names{
	"timestamp": isEpoch, "api": isText, "provider": isText, "model": isText,
	"usage": isUsage, "stopReason": isText, "errorMessage": isText,
}

// roleNames are those of a message by its role; plainNames of all other roles.
var (
	roleNames = map[firn.Role]names{
		firn.RoleToolResult: {"toolCallId": isText, "toolName": isText, "content": isContent, "details": isAny, "isError": isBool},
		firn.RoleShell: {
			"command": isText, "output": isText, "exitCode": isInt, "cancelled": isBool, "truncated": isBool,
			"fullOutputPath": isText, "excludeFromContext": isBool,
		},
	}
	plainNames = names{"content": isContent}
)

// usageNames are the members of a usage. If one of them does not fit, nothing
// of the usage is read. The cost is a matter of its own.
var usageNames = names{"input": isAny, "output": isAny, "cacheRead": isAny, "cacheWrite": isAny, "totalTokens": isAny}

// The members of the parts of a message.
var (
	textNames     = names{"text": isText, "textSignature": isText}
	imageNames    = names{"data": isText, "mimeType": isText}
	thinkingNames = names{"thinking": isText, "thinkingSignature": isText, "redacted": isBool}
	callNames     = names{"id": isText, "name": isText, "arguments": isAny, "thoughtSignature": isText}
)

// claims reports whether a member of that name and value has a field. The value
// must be valid JSON.
func (n names) claims(f firn.Field) bool {
	fits, ok := n[f.Name]
	if !ok {
		return false
	}
	r := rawjson.New(f.Value)
	return fits(&r)
}

func isAny(*rawjson.Reader) bool { return true }

func isText(r *rawjson.Reader) bool { _, ok := r.Text(); return ok }

func isBool(r *rawjson.Reader) bool { _, ok := r.Bool(); return ok }

func isInt(r *rawjson.Reader) bool { _, ok := r.Int(); return ok }

func isContent(r *rawjson.Reader) bool { return isText(r) || r.Array() }

// isTime fits the time of an entry.
func isTime(r *rawjson.Reader) bool {
	s, ok := r.Text()
	if !ok {
		return false
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	t = stamp(t)
	return err == nil && !t.IsZero() && t.Year() >= 0 && t.Year() <= 9999
}

// isEpoch fits the time of a message: milliseconds, as far as JavaScript goes.
func isEpoch(r *rawjson.Reader) bool {
	const limit = 8_640_000_000_000_000
	ms, ok := r.Int()
	return ok && ms >= -limit && ms <= limit && !time.UnixMilli(ms).IsZero()
}

// isUsage fits the usage of a message: nothing, or an object whose numbers are.
func isUsage(r *rawjson.Reader) bool {
	if r.Null() {
		return true
	}
	if !r.Object() {
		return false
	}
	for r.Member() {
		if _, number := usageNames[r.KeyText()]; number && !isInt(r) {
			return false
		} else if !number {
			r.Skip()
		}
	}
	return true
}

// cost refuses an extra cost that would be read as something else. There may be
// one if it tells more than there are fields for: it is then written in their
// place, so it must tell of them what they tell.
func (g *gate) cost(u *firn.Usage) {
	for _, f := range u.Extra {
		if f.Name != "cost" {
			continue
		}
		if cost, whole := readCost(f.Value); whole || cost != u.Cost {
			g.refuse("an extra field of its usage must not be called %q, unless it tells the same cost and more", f.Name)
		}
	}
}

// readCost reads what there are fields for; whole if that is all there is.
func readCost(value []byte) (c firn.Cost, whole bool) {
	fields := map[string]*float64{"input": &c.Input, "output": &c.Output, "cacheRead": &c.CacheRead, "cacheWrite": &c.CacheWrite, "total": &c.Total}
	r := rawjson.New(value)
	whole = r.Object()
	for r.Err() == nil && r.Member() {
		price, ok := r.Float()
		if field := fields[r.KeyText()]; ok && field != nil {
			*field = price
			continue
		}
		whole = false
		if !ok {
			r.Skip()
		}
	}
	return c, whole
}
