package api

import (
	"io"
	"net/http"
	"net/textproto"
	"slices"
	"time"

	"firn.dev/wire"
)

// hook handles a call of a hook. It requires the hook's token, a valid signature, or an
// admin token. For other tokens the hook appears not to exist.
func (c workCalls) hook() (wire.Routed, error) {
	name := c.r.PathValue("hook")
	token, err := c.gateway.HookToken(name)
	theirs := c.who.hook != "" && c.who.hook == name || c.who.hook == "" && token != "" && token == c.who.name
	if err == nil && !theirs && c.who.scope != wire.ScopeAdmin {
		c.h.config.Metrics.Refused("hook")
		err = &wire.Problem{Kind: wire.NotFound, Message: "no such hook for this token", Hint: "set the token of the hook in the settings"}
	}
	if err != nil {
		return wire.Routed{}, err
	}
	body, err := c.readBody()
	if err != nil {
		return wire.Routed{}, err
	}
	head := c.r.Header.Clone()
	head.Del("Authorization") // credentials are not passed on
	head.Del(apiKeyHeader)
	return c.gateway.Hook(c.r.Context(), name, body, textproto.MIMEHeader(head))
}

// readBody reads a body of any type, limited in size and time.
func (c *call) readBody() ([]byte, error) {
	return c.readBodyUpTo(c.h.config.MaxBody, c.h.config.BodyTimeout)
}

// readBodyUpTo reads a body of any type with the given limits on size and time.
func (c *call) readBodyUpTo(most int64, patience time.Duration) ([]byte, error) {
	if c.r.ContentLength > most {
		c.w.Header().Set("Connection", "close")
		return nil, tooLarge(most)
	}
	body, err := io.ReadAll(http.MaxBytesReader(c.w.ResponseWriter, c.pacedBody(patience), most))
	if err != nil {
		return nil, c.bodyError(err)
	}
	c.bodyArrived()
	return body, nil
}

func (c workCalls) listJobs() (wire.Page[wire.Job], error) {
	all, err := c.gateway.Jobs(c.r.Context())
	if err != nil {
		return wire.Page[wire.Job]{}, err
	}
	return pageOf(slices.DeleteFunc(all, func(j wire.Job) bool { return !c.who.may(j.Agent, j.Key) })), nil
}

func (c workCalls) runJob(none) (wire.Routed, error) {
	id := c.r.PathValue("job")
	if c.who.bound() {
		theirs, err := c.listJobs()
		if err != nil {
			return wire.Routed{}, err
		}
		if !slices.ContainsFunc(theirs.Items, func(j wire.Job) bool { return j.ID == id }) {
			return wire.Routed{}, &wire.Problem{Kind: wire.NotFound, Message: "no such job"}
		}
	}
	return c.gateway.RunJob(c.r.Context(), id)
}

func (c workCalls) maintain(m wire.Maintain) (wire.Maintenance, error) {
	report, err := c.gateway.MaintainNow(c.r.Context(), m.Enforce)
	if err != nil {
		return wire.Maintenance{}, err
	}
	return report, nil
}
