package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"firn"
	"firn/client"
	"firn/store/filestore"
	"firn/wire"
)

// hanging measures whether a model that hangs blocks only its own lanes: how
// long appends to other sessions take, with many turns that hang and without,
// in turns within one run. The best of several rounds is compared: what else the
// machine had to do meanwhile must not decide.
func (b *bench) hanging(ctx context.Context, st *filestore.Store, c *client.Client) error {
	const rounds = 9
	var calm, stuck []time.Duration
	for round := range rounds {
		took, err := appends(ctx, st, c, fmt.Sprintf("calm%d-", round), 8, 100)
		if err != nil {
			return err
		}
		calm = append(calm, took.part(99))
		if took, err = besideHanging(ctx, st, c, round); err != nil {
			return err
		}
		stuck = append(stuck, took.part(99))
	}
	r := ratio(slices.Min(stuck), slices.Min(calm))
	b.note("gateway: append acknowledged beside 64 turns that hang, p99", ms(slices.Min(stuck)))
	b.want("gateway: p99 of appends beside 64 turns that hang, against none", times(r), "≤ 1.5 ×", r <= 1.5)
	return nil
}

// besideHanging appends while the model hangs in 64 other sessions, and messages
// wait behind each.
func besideHanging(ctx context.Context, st *filestore.Store, c *client.Client, round int) (*samples, error) {
	const lanes, waiting = 64, 5
	at := func(i int) firn.ID { return firn.ID(fmt.Sprintf("hung%d-%02d", round, i)) }
	err := fan(8, lanes, func(i int) error {
		if err := begin(ctx, st, at(i)); err != nil {
			return err
		}
		for range 1 + waiting {
			if _, err := c.Turn(ctx, at(i), wire.Turn{Text: hang, Wait: new(bool)}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	took, err := appends(ctx, st, c, fmt.Sprintf("other%d-", round), 8, 100)
	if err != nil {
		return nil, err
	}
	return took, fan(8, lanes, func(i int) error {
		stopped, err := c.Stop(ctx, at(i))
		if err == nil && !stopped {
			err = fmt.Errorf("session %s did not hang", at(i))
		}
		return err
	})
}
