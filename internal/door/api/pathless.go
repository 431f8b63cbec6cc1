package api

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"firn.dev/wire"
)

// File paths on the gateway's machine are for the operator only. Other callers see the
// cause of an error and the name of the file, without its directory.

// pathPattern matches file paths in a text: from a root, with at least one directory. URLs
// and API paths that begin with /v1/ are excluded.
var pathPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(^|[\s"'(\[=<>,;:])((?:[A-Za-z]:)?(?:[/\\]+[^\s"'/\\:;,()\[\]<>]+)+[/\\]+)([^\s"'/\\:;,()\[\]<>]*)`)
})

// stripDirs removes the directories from the paths in a text.
func stripDirs(text string) string {
	if !strings.ContainsAny(text, `/\`) {
		return text
	}
	return pathPattern().ReplaceAllStringFunc(text, func(found string) string {
		m := pathPattern().FindStringSubmatch(found)
		if strings.HasPrefix(m[2], "/v1/") || strings.HasPrefix(m[2], "//") {
			return found
		}
		return m[1] + "…/" + m[3]
	})
}

// seesPaths reports whether the caller may see file paths.
func (i identity) seesPaths() bool { return i.owner || i.scope.Includes(wire.ScopeAdmin) }

// problemWithoutPaths removes file paths from a problem. Paths recorded in err are removed
// whatever they look like.
func problemWithoutPaths(p *wire.Problem, err error) *wire.Problem {
	out := *p
	for _, path := range pathsOf(err) {
		if filepath.IsAbs(path) {
			out.Message = strings.ReplaceAll(out.Message, path, "…/"+filepath.Base(path))
		}
	}
	out.Message, out.Hint = stripDirs(out.Message), stripDirs(out.Hint)
	return &out
}

// pathsOf returns the paths in a system error and in all errors it wraps.
func pathsOf(err error) []string {
	var paths []string
	switch e := err.(type) {
	case nil:
	case *fs.PathError:
		paths = append(paths, e.Path)
	case *os.LinkError:
		paths = append(paths, e.Old, e.New)
	case interface{ Unwrap() []error }:
		for _, each := range e.Unwrap() {
			paths = append(paths, pathsOf(each)...)
		}
	default:
		paths = pathsOf(errors.Unwrap(err))
	}
	return paths
}

// eventWithoutPaths removes file paths from an event. Error texts are redacted, message
// content is left unchanged.
func eventWithoutPaths(e wire.Event) wire.Event {
	switch e.Name {
	case wire.TurnFailed, wire.Retry, wire.NoticeEvent:
		e.Data = json.RawMessage(stripDirs(string(e.Data)))
	case wire.SessionUpdated:
		var s wire.Session
		if json.Unmarshal(e.Data, &s) == nil {
			e.Data, _ = wire.Marshal(redactSession(s)) // cannot fail
		}
	case wire.CompactionCompleted:
		var c wire.Compaction
		if json.Unmarshal(e.Data, &c) == nil && c.Error != "" {
			c.Error = stripDirs(c.Error)
			e.Data, _ = wire.Marshal(c) // cannot fail
		}
	}
	return e
}

// answerWithoutPaths removes file paths from a response: the home is left out, files are
// reduced to their names, and errors are redacted.
func answerWithoutPaths(answer any) any {
	switch a := answer.(type) {
	case wire.Session:
		return redactSession(a)
	case wire.Page[wire.Session]:
		a.Items = mapItems(a.Items, redactSession)
		return a
	case wire.Imported:
		a.Session = redactSession(a.Session)
		return a
	case wire.Key:
		return redactKey(a)
	case wire.Page[wire.Key]:
		a.Items = mapItems(a.Items, redactKey)
		return a
	case wire.Page[wire.BatchResult]:
		a.Items = slices.Clone(a.Items)
		for i := range a.Items {
			a.Items[i].Error = stripDirs(a.Items[i].Error)
		}
		return a
	case wire.Found:
		a.Items = mapItems(a.Items, func(h wire.Hit) wire.Hit {
			h.CWD = baseName(h.CWD)
			return h
		})
		return a
	case wire.Removed:
		a.Files = mapItems(a.Files, baseName)
		return a
	case wire.Status:
		return redactStatus(a)
	case wire.Ops:
		return redactOps(a)
	case wire.Page[wire.Source]:
		a.Items = mapItems(a.Items, func(s wire.Source) wire.Source {
			s.Dir, s.Faults = baseName(s.Dir), mapItems(s.Faults, stripDirs)
			return s
		})
		return a
	}
	return answer
}

// mapItems returns a copy of a list with a function applied to each item.
func mapItems[T any](all []T, without func(T) T) []T {
	out := slices.Clone(all)
	for i := range out {
		out[i] = without(out[i])
	}
	return out
}

// baseName replaces the directory of an absolute path with an ellipsis.
func baseName(path string) string {
	if !filepath.IsAbs(path) {
		return path
	}
	return "…/" + filepath.Base(path)
}

func redactSession(s wire.Session) wire.Session {
	s.Fault, s.Files = stripDirs(s.Fault), mapItems(s.Files, baseName)
	s.CWD, s.Directories = baseName(s.CWD), mapItems(s.Directories, baseName)
	return s
}

func redactKey(k wire.Key) wire.Key {
	k.History = mapItems(k.History, redactSession)
	return k
}

// redactStatus removes the home and the socket from a status.
func redactStatus(s wire.Status) wire.Status {
	s.Home, s.Store, s.Gateway, s.TCP = "", "", "", ""
	s.Recent = mapItems(s.Recent, redactSession)
	s.MCP = mapItems(s.MCP, func(m wire.MCPServer) wire.MCPServer {
		m.Problem = stripDirs(m.Problem)
		return m
	})
	return s
}

func redactOps(o wire.Ops) wire.Ops {
	o.Status, o.Why, o.ClusterFault = redactStatus(o.Status), stripDirs(o.Why), stripDirs(o.ClusterFault)
	o.Index.Failed = stripDirs(o.Index.Failed)
	if o.Verified != nil {
		v := *o.Verified
		v.Error = stripDirs(v.Error)
		v.Faults = mapItems(v.Faults, func(f wire.VerifyFault) wire.VerifyFault {
			f.What = stripDirs(f.What)
			return f
		})
		o.Verified = &v
	}
	return o
}
