package serve

import (
	"context"

	"firn.dev/internal/door/api"
	"firn.dev/internal/gateway"
	peers "firn.dev/internal/ops/cluster"
)

// join makes this gateway one of several, if its sessions are where others can
// have them open too. Who only looks owns nothing.
func (h *House) join() (err error) {
	if h.cluster == nil || !h.cluster.Shared() || h.o.Looks {
		return nil
	}
	h.peers, err = peers.Join(context.Background(), peers.Options{Engine: h.cluster, Sessions: h.store, Guest: !h.serves, Log: h.o.Log})
	return err
}

// others are the other gateways; nil if there are none.
func (h *House) others() gateway.Peers {
	if h.peers == nil {
		return nil
	}
	return h.peers
}

// owners are the other gateways, as requests are passed on to them; nil if there
// are none.
func (h *House) owners() api.Peers {
	if h.peers == nil {
		return nil
	}
	return h.peers
}

// meet begins to take part.
func (h *House) meet() error {
	if h.peers == nil {
		return nil
	}
	return h.peers.Start(h.Gateway, h.Handler)
}

// part gives everything back to the others.
func (h *House) part(ctx context.Context) error {
	if h.peers == nil {
		return nil
	}
	return h.peers.Close(ctx)
}

// leads reports whether this gateway does what one does for all.
func (h *House) leads() bool { return h.peers == nil || h.peers.Leads() }
