package api

import (
	"slices"

	"firn.dev/wire"
)

func binRoutes() []operation {
	return []operation{
		{method: "GET", path: "/v1/bin", name: "listBin", scope: wire.ScopeRead, what: "Lists sessions in the trash bin, most recently removed first.", query: []param{count("limit", "Maximum number of results; default all.")}, action: give(binCalls.listBin)},
		{method: "POST", path: "/v1/bin/empty", name: "emptyBin", scope: wire.ScopeAdmin, what: "Permanently erases sessions in the trash bin: the given ones, or all.", action: take(binCalls.emptyBin)},
	}
}

// listBin lists the sessions in the trash bin. A bound token sees only the sessions of its
// agents and keys.
func (c binCalls) listBin() (wire.Bin, error) {
	limit := int(c.query.number("limit", 1<<31))
	if c.query.err != nil {
		return wire.Bin{}, c.query.err
	}
	bin, err := c.gateway.Bin(c.r.Context())
	if err != nil {
		return wire.Bin{}, err
	}
	if c.who.bound() {
		bin.Items = slices.DeleteFunc(bin.Items, func(b wire.Binned) bool { return !c.who.may(b.Agent, b.Key) })
		bin.Total, bin.Bytes = len(bin.Items), 0
		for _, b := range bin.Items {
			bin.Bytes += b.Bytes
		}
	}
	if limit > 0 && limit < len(bin.Items) {
		bin.Items = bin.Items[:limit]
	}
	return bin, nil
}

func (c binCalls) emptyBin(e wire.EmptyBin) (wire.EmptiedBin, error) {
	return c.gateway.EmptyBin(c.r.Context(), e)
}
