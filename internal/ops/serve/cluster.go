package serve

import (
	"context"

	"firn.dev/internal/door/api"
	"firn.dev/internal/gateway"
	peers "firn.dev/internal/ops/cluster"
)

// joinCluster joins the cluster if the store is shared between gateways. Read-only commands
// do not join.
func (h *Instance) joinCluster() (err error) {
	if h.cluster == nil || !h.cluster.Shared() || h.o.ReadOnly {
		return nil
	}
	h.peers, err = peers.Join(context.Background(), peers.Options{Engine: h.cluster, Sessions: h.store, Guest: !h.serves, Log: h.o.Log})
	return err
}

// gatewayPeers returns the other gateways, or nil if there are none.
func (h *Instance) gatewayPeers() gateway.Peers {
	if h.peers == nil {
		return nil
	}
	return h.peers
}

// apiPeers returns the other gateways for forwarding requests, or nil if there are none.
func (h *Instance) apiPeers() api.Peers {
	if h.peers == nil {
		return nil
	}
	return h.peers
}

// startPeers starts handling requests of the other gateways.
func (h *Instance) startPeers() error {
	if h.peers == nil {
		return nil
	}
	return h.peers.Start(h.Gateway, h.Handler)
}

// leaveCluster hands all sessions back to the other gateways.
func (h *Instance) leaveCluster(ctx context.Context) error {
	if h.peers == nil {
		return nil
	}
	return h.peers.Close(ctx)
}

// leads reports whether this gateway does the work that only one gateway does.
func (h *Instance) leads() bool { return h.peers == nil || h.peers.Leads() }
