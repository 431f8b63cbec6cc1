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

// Where files of the gateway are is for who runs it. A token is told what went
// wrong, and the name of the file, but not where on the machine that is.

// places finds the paths of a machine in a sentence: from a root on, with at least
// one directory. What is behind :// is an address, and what begins with /v1/ ours.
var places = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(^|[\s"'(\[=<>,;:])((?:[A-Za-z]:)?(?:[/\\]+[^\s"'/\\:;,()\[\]<>]+)+[/\\]+)([^\s"'/\\:;,()\[\]<>]*)`)
})

// pathless is a sentence without the directories of the paths in it.
func pathless(text string) string {
	if !strings.ContainsAny(text, `/\`) {
		return text
	}
	return places().ReplaceAllStringFunc(text, func(found string) string {
		m := places().FindStringSubmatch(found)
		if strings.HasPrefix(m[2], "/v1/") || strings.HasPrefix(m[2], "//") {
			return found
		}
		return m[1] + "…/" + m[3]
	})
}

// knowsPlaces reports whether somebody may know where files are.
func (i identity) knowsPlaces() bool { return i.owner || i.scope.Includes(wire.ScopeAdmin) }

// withoutPlaces is a problem for somebody who may not know where files are. The
// paths that an error itself knows are taken out whatever they look like.
func withoutPlaces(p *wire.Problem, err error) *wire.Problem {
	out := *p
	for _, path := range pathsOf(err) {
		if filepath.IsAbs(path) {
			out.Message = strings.ReplaceAll(out.Message, path, "…/"+filepath.Base(path))
		}
	}
	out.Message, out.Hint = pathless(out.Message), pathless(out.Hint)
	return &out
}

// pathsOf are the paths in an error of the system, and in all that it wraps.
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

// withoutPlacesIn is an event for somebody who may not know where files are: what
// went wrong is told without, what was said is left as it is.
func withoutPlacesIn(e wire.Event) wire.Event {
	switch e.Name {
	case wire.TurnFailed, wire.Retry, wire.NoticeGiven:
		e.Data = json.RawMessage(pathless(string(e.Data)))
	case wire.SessionUpdated:
		var s wire.Session
		if json.Unmarshal(e.Data, &s) == nil && (s.Fault != "" || len(s.Files) > 0) {
			e.Data, _ = wire.Spell(placelessSession(s)) // which can always be spelt
		}
	case wire.CompactionCompleted:
		var c wire.Compaction
		if json.Unmarshal(e.Data, &c) == nil && c.Error != "" {
			c.Error = pathless(c.Error)
			e.Data, _ = wire.Spell(c) // which can always be spelt
		}
	}
	return e
}

// withoutPlacesOf is an answer for somebody who may not know where files are: the
// home is left out, files keep their names alone, and what is wrong is told without.
func withoutPlacesOf(answer any) any {
	switch a := answer.(type) {
	case wire.Session:
		return placelessSession(a)
	case wire.Page[wire.Session]:
		a.Items = eachWithout(a.Items, placelessSession)
		return a
	case wire.Imported:
		a.Session = placelessSession(a.Session)
		return a
	case wire.Key:
		return placelessKey(a)
	case wire.Page[wire.Key]:
		a.Items = eachWithout(a.Items, placelessKey)
		return a
	case wire.Page[wire.BatchResult]:
		a.Items = slices.Clone(a.Items)
		for i := range a.Items {
			a.Items[i].Error = pathless(a.Items[i].Error)
		}
		return a
	case wire.Removed:
		a.Files = eachWithout(a.Files, lastName)
		return a
	case wire.Status:
		return placelessStatus(a)
	case wire.Ops:
		return placelessOps(a)
	case wire.Page[wire.Source]:
		a.Items = eachWithout(a.Items, func(s wire.Source) wire.Source {
			s.Dir, s.Faults = lastName(s.Dir), eachWithout(s.Faults, pathless)
			return s
		})
		return a
	}
	return answer
}

// eachWithout is a list of its own, with something taken out of each item.
func eachWithout[T any](all []T, without func(T) T) []T {
	out := slices.Clone(all)
	for i := range out {
		out[i] = without(out[i])
	}
	return out
}

// lastName is a path without the directories that lead there.
func lastName(path string) string {
	if !filepath.IsAbs(path) {
		return path
	}
	return "…/" + filepath.Base(path)
}

func placelessSession(s wire.Session) wire.Session {
	s.Fault, s.Files = pathless(s.Fault), eachWithout(s.Files, lastName)
	return s
}

func placelessKey(k wire.Key) wire.Key {
	k.History = eachWithout(k.History, placelessSession)
	return k
}

// placelessStatus leaves out the home, and the socket that is in it.
func placelessStatus(s wire.Status) wire.Status {
	s.Home, s.Store, s.Gateway, s.TCP = "", "", "", ""
	s.Recent = eachWithout(s.Recent, placelessSession)
	return s
}

func placelessOps(o wire.Ops) wire.Ops {
	o.Status, o.Why, o.ClusterFault = placelessStatus(o.Status), pathless(o.Why), pathless(o.ClusterFault)
	o.Index.Failed = pathless(o.Index.Failed)
	if o.Verified != nil {
		v := *o.Verified
		v.Error = pathless(v.Error)
		v.Faults = eachWithout(v.Faults, func(f wire.VerifyFault) wire.VerifyFault {
			f.What = pathless(f.What)
			return f
		})
		o.Verified = &v
	}
	return o
}
