package cluster_test

import (
	"context"
	"testing"
	"time"

	"firn.dev/wire"
)

// TestStatusListsGateways checks that the status lists all gateways and the server that
// stores the sessions.
func TestStatusListsGateways(t *testing.T) {
	o := space(t)
	a, b := join(t, o, 15*time.Second), join(t, o, 15*time.Second)
	id := a.newSession()
	text := make(chan struct{})
	go func() {
		defer close(text)
		a.ask("POST", "/v1/sessions/"+string(id)+"/turns", wire.Turn{Text: "wait for it"})
	}()
	<-a.asked
	var ops wire.Ops
	for ops.Cluster == nil || len(ops.Cluster.Gateways) < 2 { // a response may be late
		if err := context.Cause(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.get("GET", "/v1/ops", nil, &ops)
	}
	here, other := ops.Cluster.Gateways[0], ops.Cluster.Gateways[1]
	if here.Name != b.cluster.Name() || other.Name != a.cluster.Name() || here.Owns != 0 || other.Owns != 1 || other.Running != 1 {
		t.Errorf("the gateways are %+v", ops.Cluster.Gateways)
	}
	if s := ops.Cluster.Servers; len(s) != 1 || s[0].Name != "firn" || s[0].Streams != 1 || s[0].Leads != 1 || s[0].Offline {
		t.Errorf("the servers are %+v", s)
	}
	close(a.gate)
	<-text
}
