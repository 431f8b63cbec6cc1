package cli

import (
	"cmp"
	"errors"
	"io"

	"firn.dev/client"
	"firn.dev/internal/term/chat"
)

// Host runs tools for turns of a gateway in another process.
type Host interface {
	client.ToolHost
	io.Closer
}

// hostTools makes this process run the tools of a chat. The returned function also ends them.
func (p chatCommands) hostTools(tools *Tools, o *chat.Options, release func() error) (func() error, error) {
	if p.host == nil {
		return release, nil
	}
	settings, err := p.settings()
	if err != nil {
		return nil, errors.Join(err, release())
	}
	h, err := p.host(GatewayOptions{Settings: settings, Home: settings.Home, Tools: tools, Report: o.Reports.Add}, cmp.Or(o.Agent, "main"))
	if err != nil {
		return nil, errors.Join(err, release())
	}
	o.Host, o.NoTools = h, tools.None
	return func() error { return errors.Join(h.Close(), release()) }, nil
}
