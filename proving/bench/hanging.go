package main

import (
	"context"
	"fmt"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/store/filestore"
	"firn.dev/wire"
)

// hanging measures whether a hanging model blocks only its own lanes: the duration of
// appends to other sessions with and without many hanging turns, alternating within one
// run. The rounds are short and many, so that other load affects both equally.
func (b *bench) hanging(ctx context.Context, st *filestore.Store, c *client.Client) error {
	const rounds = 40
	var calm, stuck samples
	for round := range rounds {
		without, err := appends(ctx, st, c, fmt.Sprintf("calm%02d-", round), 8, 50)
		if err != nil {
			return err
		}
		with, err := besideHanging(ctx, st, c, round)
		if err != nil {
			return err
		}
		calm.all, stuck.all = append(calm.all, without.all...), append(stuck.all, with.all...)
	}
	r := ratio(stuck.part(99), calm.part(99))
	b.note("gateway: append acknowledged beside 64 turns that hang, p50 / p99", stuck.String())
	b.want("gateway: p99 of appends beside 64 turns that hang, against none", times(r), "≤ 1.5 ×", r <= 1.5)
	return nil
}

// besideHanging appends while the model hangs in 64 other sessions with queued messages.
func besideHanging(ctx context.Context, st *filestore.Store, c *client.Client, round int) (*samples, error) {
	const lanes, waiting = 64, 2
	at := func(i int) firn.ID { return firn.ID(fmt.Sprintf("hung%02d-%02d", round, i)) }
	err := runParallel(8, lanes, func(i int) error {
		if err := createSession(ctx, st, at(i)); err != nil {
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
	took, err := appends(ctx, st, c, fmt.Sprintf("other%02d-", round), 8, 50)
	if err != nil {
		return nil, err
	}
	return took, runParallel(8, lanes, func(i int) error {
		stopped, err := c.Stop(ctx, at(i))
		if err == nil && !stopped {
			err = fmt.Errorf("session %s did not hang", at(i))
		}
		return err
	})
}
