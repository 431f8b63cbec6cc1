package store

import (
	"time"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
)

// memberNames maps the JSON members that have a Go field to a check of their values. An
// extra field that passes the check would be parsed as the Go field when the line is read,
// so it is rejected. A value of another type is allowed: readers preserve such values as
// extra fields, and these can be appended again.
type memberNames map[string]func(value *rawjson.Reader) bool

// entryNames are the members of every entry. The names id and parentId are always rejected.
var entryNames = memberNames{"timestamp": isTime}

// bodyNames are the members of an entry by kind. Members that the tree depends on are
// rejected with any value.
var bodyNames = map[firn.Kind]memberNames{
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
var messageNames = memberNames{
	"timestamp": isEpoch, "api": isText, "provider": isText, "model": isText,
	"usage": isUsage, "stopReason": isText, "errorMessage": isText,
}

// roleNames are the additional members of a message by role; plainNames those of all other
// roles.
var (
	roleNames = map[firn.Role]memberNames{
		firn.RoleToolResult: {"toolCallId": isText, "toolName": isText, "content": isContent, "details": isAny, "isError": isBool},
		firn.RoleShell: {
			"command": isText, "output": isText, "exitCode": isInt, "cancelled": isBool, "truncated": isBool,
			"fullOutputPath": isText, "excludeFromContext": isBool,
		},
	}
	plainNames = memberNames{"content": isContent}
)

// usageNames are the members of a usage. A usage with one invalid member is ignored
// completely, so any value is rejected. The member cost is handled by checkCost.
var usageNames = memberNames{"input": isAny, "output": isAny, "cacheRead": isAny, "cacheWrite": isAny, "totalTokens": isAny}

// Members of the parts of a message.
var (
	textNames     = memberNames{"text": isText, "textSignature": isText}
	imageNames    = memberNames{"data": isText, "mimeType": isText}
	thinkingNames = memberNames{"thinking": isText, "thinkingSignature": isText, "redacted": isBool}
	callNames     = memberNames{"id": isText, "name": isText, "arguments": isAny, "thoughtSignature": isText}
)

// matches reports whether a member with that name and value would be parsed as a Go field.
// The value must be valid JSON.
func (n memberNames) matches(f firn.Field) bool {
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

// isTime accepts the time of an entry.
func isTime(r *rawjson.Reader) bool {
	s, ok := r.Text()
	if !ok {
		return false
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	t = stamp(t)
	return err == nil && !t.IsZero() && t.Year() >= 0 && t.Year() <= 9999
}

// isEpoch accepts the time of a message: milliseconds within the range of JavaScript dates.
func isEpoch(r *rawjson.Reader) bool {
	const limit = 8_640_000_000_000_000
	ms, ok := r.Int()
	return ok && ms >= -limit && ms <= limit && !time.UnixMilli(ms).IsZero()
}

// isUsage accepts the usage of a message: null, or an object with integer counters.
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

// checkCost rejects an extra field cost that contradicts the Cost field. An extra cost is
// allowed only if it has additional members: it is then written in place of the Cost field,
// so its known members must be equal to it.
func (g *sanitizer) checkCost(u *firn.Usage) {
	for _, f := range u.Extra {
		if f.Name != "cost" {
			continue
		}
		if cost, whole := readCost(f.Value); whole || cost != u.Cost {
			g.reject("an extra field of its usage must not be called %q, unless it has the same cost and more", f.Name)
		}
	}
}

// readCost parses the known members of a cost. whole is true if there are no others.
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
