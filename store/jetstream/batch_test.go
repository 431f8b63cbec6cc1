package jetstream_test

import (
	"testing"

	"github.com/nats-io/nats.go"
)

// TestInterruptedBatch reads a batch for which the server sends one message and then neither
// another nor an end, as a killed or damaged server does.
func TestInterruptedBatch(t *testing.T) {
	t.Parallel()
	st, o := opened(t)
	nc, err := o.Server.Dial()
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	stream := o.Space + "_BROKEN"
	_, err = nc.Subscribe("$JS.API.DIRECT.GET."+stream, func(m *nats.Msg) {
		if err := m.RespondMsg(&nats.Msg{Header: nats.Header{"Nats-Sequence": {"1"}, "Nats-Subject": {"x"}}, Data: []byte("one")}); err != nil {
			t.Error(err)
		}
	})
	if err == nil {
		err = nc.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	if n, err := st.CountBatch(t.Context(), stream); err != nil || n != 1 {
		t.Errorf("a batch that breaks off after one message has %d, %v", n, err)
	}
}
