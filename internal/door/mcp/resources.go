package mcp

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// The URIs of resources, as templates of RFC 6570. Sessions and entries can also be named
// as in tools; characters such as @ and # are percent-encoded.
const (
	sessionsURI     = "firn://sessions"
	sessionTemplate = "firn://session/{id}"
	entryTemplate   = "firn://session/{id}/entry/{entry}"
	imageTemplate   = "firn://session/{id}/entry/{entry}/image/{n}"
	noteTemplate    = "firn://note/{scope}/{name}{?agent,key,project}"
)

// Limits on resources.
const (
	// resourcePage is the usual number of sessions in a page of the list.
	resourcePage = 100
	// mostOfEntry is the maximum number of bytes of an entry or a note.
	mostOfEntry = 1 << 20
)

// resourceName is a parsed URI. Only the members of its kind are set.
type resourceName struct {
	kind string // sessions, session, entry, image or note
	// session and entry are as the client named them.
	session, entry string
	image          int
	place          wire.MemoryPlace
	note           string
}

// The kinds of resources.
const (
	kindSessions = "sessions"
	kindSession  = "session"
	kindEntry    = "entry"
	kindImage    = "image"
	kindNote     = "note"
)

// parseURI parses the URI of a resource. It reports whether it is one.
func parseURI(uri string) (resourceName, bool) {
	if uri == sessionsURI {
		return resourceName{kind: kindSessions}, true
	}
	rest, ok := strings.CutPrefix(uri, "firn://")
	if !ok {
		return resourceName{}, false
	}
	path, query, _ := strings.Cut(rest, "?")
	parts := strings.Split(path, "/")
	for i, part := range parts {
		var err error
		if parts[i], err = url.PathUnescape(part); err != nil || parts[i] == "" {
			return resourceName{}, false
		}
	}
	switch {
	case parts[0] == kindSession && query == "":
		return parseSession(parts[1:])
	case parts[0] == kindNote && len(parts) == 3:
		values, err := url.ParseQuery(query)
		return resourceName{kind: kindNote, note: parts[2], place: wire.MemoryPlace{
			Scope: parts[1], Agent: values.Get("agent"), Key: values.Get("key"), Project: values.Get("project"),
		}}, err == nil
	}
	return resourceName{}, false
}

// parseSession parses the path of a session, an entry or an image.
func parseSession(parts []string) (resourceName, bool) {
	switch {
	case len(parts) == 1:
		return resourceName{kind: kindSession, session: parts[0]}, true
	case len(parts) == 3 && parts[1] == "entry":
		return resourceName{kind: kindEntry, session: parts[0], entry: parts[2]}, true
	case len(parts) == 5 && parts[1] == "entry" && parts[3] == "image":
		n, err := strconv.Atoi(parts[4])
		return resourceName{kind: kindImage, session: parts[0], entry: parts[2], image: n}, err == nil && n > 0
	}
	return resourceName{}, false
}

// sessionURI returns the URI of a session.
func sessionURI(id firn.ID) string { return "firn://session/" + url.PathEscape(string(id)) }

// noteURI returns the URI of a note that belongs to the caller's default place.
func noteURI(n wire.Note) string {
	return "firn://note/" + url.PathEscape(n.Scope) + "/" + url.PathEscape(n.Name)
}

// addResources adds the templates, and the list of sessions as a resource.
func (d *toolServer) addResources(s *sdk.Server) {
	d.addSessionsResource(s)
	for _, t := range []sdk.ResourceTemplate{
		{Name: "session", Title: "Session", URITemplate: sessionTemplate, MIMEType: "text/plain", Description: "The messages of a session, latest last, as many as fit."},
		{Name: "entry", Title: "Entry", URITemplate: entryTemplate, MIMEType: "text/plain", Description: "One entry of a session, such as a message or a tool result. It never changes."},
		{Name: "image", Title: "Image", URITemplate: imageTemplate, Description: "An image of an entry, counted from 1."},
		{Name: "note", Title: "Note", URITemplate: noteTemplate, MIMEType: "text/markdown", Description: "A note of an agent, a person or a project; scope is agent, user or project."},
	} {
		s.AddResourceTemplate(&t, d.resource)
	}
}

// addSessionsResource adds the list of sessions. Adding it again notifies clients that the
// list of resources has changed: the SDK has no other way.
func (d *toolServer) addSessionsResource(s *sdk.Server) {
	s.AddResource(&sdk.Resource{
		Name: "sessions", Title: "Latest sessions", URI: sessionsURI, MIMEType: "text/plain",
		Description: "The latest sessions, with their IDs, titles and first messages.",
	}, d.resource)
}

// listResources answers resources/list: the list of sessions and the notes, then the
// sessions, latest first, page by page. The SDK knows only fixed resources.
func (d *toolServer) listResources(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		r, ok := req.(*sdk.ListResourcesRequest)
		if method != "resources/list" || !ok {
			return next(ctx, method, req)
		}
		var cursor string
		if r.Params != nil {
			cursor = r.Params.Cursor
		}
		out := &sdk.ListResourcesResult{Resources: []*sdk.Resource{}}
		if cursor == "" {
			result, err := next(ctx, method, req) // the fixed ones
			if err != nil {
				return nil, err
			}
			if fixed, ok := result.(*sdk.ListResourcesResult); ok {
				out = fixed
			}
			notes, err := d.noteResources(ctx)
			if err != nil {
				return nil, failure(err)
			}
			out.Resources = append(out.Resources, notes...)
		}
		page, err := d.c.SessionsPage(ctx, client.Query{Limit: d.page, Cursor: cursor})
		if wire.KindOf(err) == wire.Invalid {
			return nil, invalidParams("the cursor is not one of this list")
		}
		if err != nil {
			return nil, failure(err)
		}
		for _, s := range page.Items {
			out.Resources = append(out.Resources, sessionResource(s))
		}
		out.NextCursor = page.Cursor
		private(ctx, req, &out.Cacheable)
		return out, nil
	}
}

// sessionResource describes a session.
func sessionResource(s wire.Session) *sdk.Resource {
	r := &sdk.Resource{
		Name: string(s.ID), Title: prose.OneLine(s.Title, 200), URI: sessionURI(s.ID), MIMEType: "text/plain",
		Description: prose.OneLine(s.Prompt, 200), // its size as text is not known
	}
	if !s.Updated.IsZero() {
		r.Annotations = &sdk.Annotations{LastModified: s.Updated.UTC().Format("2006-01-02T15:04:05Z")}
	}
	return r
}

// noteResources describes the notes of the default agent. There are none if notes are
// disabled, or if the token has no access to them.
func (d *toolServer) noteResources(ctx context.Context) ([]*sdk.Resource, error) {
	notes, err := d.c.Memory.Notes(ctx, wire.MemoryPlace{})
	if err != nil {
		return nil, unlessAbsent(err)
	}
	out := make([]*sdk.Resource, 0, len(notes))
	for _, n := range notes {
		out = append(out, &sdk.Resource{
			Name: n.Ref, Title: prose.OneLine(n.Title, 200), URI: noteURI(n), MIMEType: "text/markdown",
			Description: prose.OneLine(n.Description, 200), Size: int64(n.Bytes),
		})
	}
	return out, nil
}

// unlessAbsent returns nil for an error that means that the caller has no such thing.
func unlessAbsent(err error) error {
	switch wire.KindOf(err) {
	case wire.NotFound, wire.Invalid, wire.Ambiguous, wire.Unsupported:
		return nil
	}
	return err
}

// resource reads a resource.
func (d *toolServer) resource(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	uri := req.Params.URI
	name, ok := parseURI(uri)
	if !ok {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	contents, err := d.contents(ctx, name)
	if err != nil && unlessAbsent(err) == nil {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	if err != nil {
		return nil, failure(err)
	}
	contents.URI = uri
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{contents}}, nil
}

// contents returns the contents of a resource.
func (d *toolServer) contents(ctx context.Context, name resourceName) (*sdk.ResourceContents, error) {
	switch name.kind {
	case kindSessions:
		text, err := d.sessionsText(ctx)
		return &sdk.ResourceContents{MIMEType: "text/plain", Text: text}, err
	case kindNote:
		return d.noteContents(ctx, name)
	}
	id, err := d.c.Resolve(ctx, name.session)
	if err != nil {
		return nil, err
	}
	switch name.kind {
	case kindEntry:
		e, err := d.c.Entry(ctx, id, name.entry, false)
		if err != nil {
			return nil, err
		}
		return &sdk.ResourceContents{MIMEType: "text/plain", Text: cut(prose.Entry(e, true), mostOfEntry)}, nil
	case kindImage:
		data, mime, err := d.c.Image(ctx, id, name.entry, name.image)
		return &sdk.ResourceContents{MIMEType: mime, Blob: data}, err
	}
	text, err := d.sessionText(ctx, id)
	return &sdk.ResourceContents{MIMEType: "text/plain", Text: text}, err
}

// noteContents returns the text of a note.
func (d *toolServer) noteContents(ctx context.Context, name resourceName) (*sdk.ResourceContents, error) {
	n, err := d.c.Memory.Note(ctx, name.place, name.note)
	if err != nil {
		return nil, err
	}
	return &sdk.ResourceContents{MIMEType: "text/markdown", Text: cut(n.Body, mostOfEntry)}, nil
}

// cut returns at most n bytes of a text, and marks what it leaves out.
func cut(text string, n int) string {
	short := firn.CutText(text, n)
	if short == text {
		return text
	}
	return fmt.Sprintf("%s\n… %d bytes omitted\n", short, len(text)-len(short))
}

// sessionText returns the messages of a session.
func (d *toolServer) sessionText(ctx context.Context, id firn.ID) (string, error) {
	r := excerpt{c: d.c, id: id, view: wire.ViewBranch}
	if err := r.latest(ctx, mostEntries); err != nil {
		return "", err
	}
	return r.text(2 * mostText), nil
}

// sessionsText returns the list of the latest sessions.
func (d *toolServer) sessionsText(ctx context.Context) (string, error) {
	page, err := d.c.SessionsPage(ctx, client.Query{Limit: 30})
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, s := range page.Items {
		fmt.Fprintf(&b, "%s  %s  %s\n", s.ID, s.Updated.UTC().Format("2006-01-02 15:04"), title(s))
	}
	if b.Len() == 0 {
		return "no sessions yet\n", nil
	}
	return b.String(), nil
}

// title returns the title of a session, or its first message.
func title(s wire.Session) string {
	if s.Title != "" {
		return prose.OneLine(s.Title, 200)
	}
	return prose.OneLine(s.Prompt, 200)
}
