package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"firn.dev"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// minVersion is the oldest server that is known to work.
	minMajor, minMinor = 2, 12
	// safeReplicas is how many there must be so that one can be lost.
	safeReplicas = 3
	// duplicateWindow is how long the server knows a message again.
	duplicateWindow = 2 * time.Minute
	// maxMessage bounds a message: a seal, its list of segments and its headers.
	maxMessage = 1 << 20
)

// settle checks that the cluster is one to rely on, and makes what is missing.
func (st *Store) settle(ctx context.Context) error {
	replicas, err := st.guard(ctx)
	if err != nil {
		return err
	}
	bucket := func(name, what string) jetstream.KeyValueConfig {
		return jetstream.KeyValueConfig{Bucket: name, Description: what, Storage: jetstream.FileStorage, Replicas: replicas}
	}
	if err := st.engine.ensureBucket(ctx, bucket(st.names.keys(), "which session a key points at")); err != nil {
		return err
	}
	if err := st.settleShards(ctx); err != nil {
		return err
	}
	tasks := []func() error{
		func() error {
			return st.engine.ensureBucket(ctx, bucket(st.names.index(), "what a list tells; derived, can be thrown away"))
		},
		func() error { return st.settleObjects(ctx, replicas) },
	}
	for shard := range st.names.shards {
		tasks = append(tasks, func() error { return st.settleStream(ctx, shard, replicas) })
	}
	return together(tasks)
}

// atOnce is how many requests to make something are under way at a time.
const atOnce = 8

// together does some things at the same time, and returns what went wrong first
// in their order.
func together(tasks []func() error) error {
	errs := make([]error, len(tasks))
	turns := make(chan struct{}, atOnce)
	var wg sync.WaitGroup
	for i, task := range tasks {
		turns <- struct{}{}
		wg.Go(func() {
			errs[i] = task()
			<-turns
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// settleObjects opens the object store, and makes it if there is none.
func (st *Store) settleObjects(ctx context.Context, replicas int) error {
	cfg := jetstream.ObjectStoreConfig{Bucket: st.names.blobs(), Description: "what is too large for a message", Storage: jetstream.FileStorage, Replicas: replicas}
	var objects jetstream.ObjectStore
	err := st.engine.steady(ctx, func(ctx context.Context) (err error) {
		if objects, err = st.engine.js.ObjectStore(ctx, cfg.Bucket); errors.Is(err, jetstream.ErrBucketNotFound) {
			objects, err = st.engine.js.CreateOrUpdateObjectStore(ctx, cfg)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("the object store %s: %w", cfg.Bucket, err)
	}
	st.blobs = blobs{engine: st.engine, bucket: cfg.Bucket, objects: objects}
	return nil
}

// steady does something until the cluster answers, or for as long as we wait. A
// cluster that has just started has nobody who answers.
func (e *engine) steady(ctx context.Context, do func(context.Context) error) error {
	return e.steadily(ctx, 0, do)
}

// steadily is steady for what takes longer than a request.
func (e *engine) steadily(ctx context.Context, longer time.Duration, do func(context.Context) error) error {
	patient, cancel := context.WithTimeout(ctx, e.wait+longer)
	defer cancel()
	_, err := insist(patient, func(ctx context.Context) (struct{}, error) {
		once, cancel := context.WithTimeout(ctx, attempt+longer)
		defer cancel()
		err := do(once)
		var refusal *jetstream.APIError
		if errors.As(err, &refusal) && refusal.Code != http.StatusServiceUnavailable {
			err = &apiError{refusal.Code, int(refusal.ErrorCode), refusal.Description}
		}
		return struct{}{}, err
	})
	return err
}

// guard refuses a cluster that may lose what it has acknowledged. It returns how
// many replicas new streams get.
func (st *Store) guard(ctx context.Context) (int, error) {
	nc := st.engine.nc
	if !atLeast(nc.ConnectedServerVersion(), minMajor, minMinor) {
		return 0, fmt.Errorf("server %q is of version %s: %w: want %d.%d or later", nc.ConnectedServerName(), nc.ConnectedServerVersion(), firn.ErrUnsupported, minMajor, minMinor)
	}
	clustered := nc.ConnectedClusterName() != ""
	replicas := st.opts.Replicas
	if replicas == 0 {
		if replicas = 1; clustered {
			replicas = safeReplicas
		}
	}
	if st.opts.Unsafe || st.opts.Server != nil {
		return replicas, nil
	}
	if clustered && replicas < safeReplicas {
		return 0, fmt.Errorf("%w: a cluster with %d replicas, want %d: what it acknowledges is lost with a server", firn.ErrUnsupported, replicas, safeReplicas)
	}
	if len(st.opts.Monitors) == 0 {
		return 0, fmt.Errorf("%w: nobody tells whether the servers sync what they acknowledge; name the addresses of their monitoring", firn.ErrUnsupported)
	}
	client, err := monitorClient(st.opts)
	if err != nil {
		return 0, err
	}
	for _, address := range st.opts.Monitors {
		if err := checkSync(ctx, client, address); err != nil {
			return 0, err
		}
	}
	return replicas, nil
}

// atLeast reports whether a version is not older than one.
func atLeast(version string, major, minor int) bool {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(parts) < 2 {
		return false
	}
	a, errA := strconv.Atoi(parts[0])
	b, errB := strconv.Atoi(parts[1])
	return errA == nil && errB == nil && (a > major || a == major && b >= minor)
}

// checkSync asks a server's monitoring whether it syncs before it acknowledges.
func checkSync(ctx context.Context, client *http.Client, address string) error {
	var told struct {
		Name      string `json:"server_name"`
		JetStream struct {
			Config struct {
				SyncAlways bool `json:"sync_always"`
			} `json:"config"`
		} `json:"jetstream"`
	}
	if err := monitor(ctx, client, address, "/varz", &told); err != nil {
		return err
	}
	if !told.JetStream.Config.SyncAlways {
		return fmt.Errorf("%w: server %q at %s syncs now and then: a power cut loses what it has acknowledged; set sync_interval: always", firn.ErrUnsupported, told.Name, address)
	}
	return nil
}

// monitor asks a server's monitoring.
func monitor(ctx context.Context, client *http.Client, address, path string, told any) error {
	once, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	req, err := http.NewRequestWithContext(once, http.MethodGet, strings.TrimSuffix(address, "/")+path, nil)
	if err != nil {
		return fmt.Errorf("%w address of monitoring %q: %w", firn.ErrInvalid, address, err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("ask the monitoring %s: %w", address, refusal(err))
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(told); err != nil {
		return fmt.Errorf("ask the monitoring %s: %w", address, err)
	}
	return nil
}

func (e *engine) ensureBucket(ctx context.Context, cfg jetstream.KeyValueConfig) error {
	err := e.steady(ctx, func(ctx context.Context) error {
		_, err := e.js.KeyValue(ctx, cfg.Bucket)
		if errors.Is(err, jetstream.ErrBucketNotFound) {
			_, err = e.js.CreateOrUpdateKeyValue(ctx, cfg)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("the bucket %s: %w", cfg.Bucket, err)
	}
	return nil
}

// settleShards agrees with all who open the store on the number of shards: the
// first one's counts.
func (st *Store) settleShards(ctx context.Context) error {
	value, _, err := st.keys().change(ctx, shardsName, func(value []byte) ([]byte, error) {
		if value != nil {
			return nil, nil
		}
		return []byte(strconv.Itoa(st.opts.Shards)), nil
	})
	if err != nil {
		return fmt.Errorf("the number of shards: %w", err)
	}
	n, err := strconv.Atoi(string(value))
	if err != nil || n < 1 || n > maxShards {
		return fmt.Errorf("the number of shards is told as %q: %w", value, firn.ErrCorrupt)
	}
	st.names.shards = n
	return nil
}

func (st *Store) settleStream(ctx context.Context, shard, replicas int) error {
	name := st.names.stream(shard)
	wanted := jetstream.StreamConfig{
		Name: name, Description: "sessions of firn", Subjects: []string{st.names.all(shard)}, Storage: jetstream.FileStorage, Replicas: replicas,
		Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardNew, MaxMsgSize: maxMessage, Duplicates: duplicateWindow,
		AllowDirect: true, AllowRollup: true,
	}
	var cfg jetstream.StreamConfig
	err := st.engine.steady(ctx, func(ctx context.Context) error {
		stream, err := st.engine.js.Stream(ctx, name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			stream, err = st.engine.js.CreateOrUpdateStream(ctx, wanted)
		}
		if err == nil {
			cfg = stream.CachedInfo().Config
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("the stream %s: %w", name, err)
	}
	if !cfg.AllowDirect || !cfg.AllowRollup || cfg.MaxAge != 0 || cfg.MaxMsgsPerSubject > 0 || cfg.Storage != jetstream.FileStorage {
		return fmt.Errorf("the stream %s: %w: it was not made for sessions", name, firn.ErrUnsupported)
	}
	if cfg.Replicas < min(replicas, safeReplicas) && !st.opts.Unsafe {
		return fmt.Errorf("the stream %s: %w: it has %d replicas, want %d", name, firn.ErrUnsupported, cfg.Replicas, replicas)
	}
	return nil
}
