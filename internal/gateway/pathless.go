package gateway

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

	"firn/wire"
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
	case wire.CompactionCompleted:
		var c wire.Compaction
		if json.Unmarshal(e.Data, &c) == nil && c.Error != "" {
			c.Error = pathless(c.Error)
			e.Data = event(e.Name, e.Session, c).Data
		}
	}
	return e
}

// withoutPlacesOf is an answer for somebody who may not know where files are: what
// it says is wrong with sessions is told without.
func withoutPlacesOf(answer any) any {
	switch a := answer.(type) {
	case wire.Session:
		a.Fault = pathless(a.Fault)
		return a
	case wire.Page[wire.Session]:
		a.Items = slices.Clone(a.Items)
		for i := range a.Items {
			a.Items[i].Fault = pathless(a.Items[i].Fault)
		}
		return a
	case wire.Page[wire.BatchResult]:
		a.Items = slices.Clone(a.Items)
		for i := range a.Items {
			a.Items[i].Error = pathless(a.Items[i].Error)
		}
		return a
	}
	return answer
}
