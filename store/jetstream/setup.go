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
	// The oldest supported server version.
	minMajor, minMinor = 2, 12
	// safeReplicas is the number of replicas needed to tolerate the loss of one.
	safeReplicas = 3
	// duplicateWindow is how long the server recognizes a repeated message.
	duplicateWindow = 2 * time.Minute
	// maxMessage is the maximum size of a message: a seal, its list of segments and its
	// headers.
	maxMessage = 1 << 20
)

// initialize checks that the cluster is durable, and creates missing streams and buckets.
func (st *connection) initialize(ctx context.Context) error {
	replicas, err := st.checkDurability(ctx)
	if err != nil {
		return err
	}
	bucket := func(name, what string) jetstream.KeyValueConfig {
		return jetstream.KeyValueConfig{Bucket: name, Description: what, Storage: jetstream.FileStorage, Replicas: replicas}
	}
	if err := st.engine.ensureBucket(ctx, bucket(st.names.keys(), "the session of each key")); err != nil {
		return err
	}
	if err := st.agreeOnShards(ctx); err != nil {
		return err
	}
	tasks := []func() error{
		func() error {
			return st.engine.ensureBucket(ctx, bucket(st.names.index(), "the rows of lists; derived, can be rebuilt"))
		},
		func() error { return st.openObjects(ctx, replicas) },
	}
	for shard := range st.names.shards {
		tasks = append(tasks, func() error { return st.ensureStream(ctx, shard, replicas) })
	}
	return runParallel(tasks)
}

// maxParallel is the number of concurrent requests that create streams and buckets.
const maxParallel = 8

// runParallel runs tasks concurrently and returns the error of the first failed one in
// their order.
func runParallel(tasks []func() error) error {
	errs := make([]error, len(tasks))
	turns := make(chan struct{}, maxParallel)
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

// openObjects opens the object store, and creates it if it does not exist.
func (st *connection) openObjects(ctx context.Context, replicas int) error {
	cfg := jetstream.ObjectStoreConfig{Bucket: st.names.blobs(), Description: "data that is too large for a message", Storage: jetstream.FileStorage, Replicas: replicas}
	var objects jetstream.ObjectStore
	err := st.engine.retry(ctx, func(ctx context.Context) (err error) {
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

// retry calls do until the cluster responds, for up to the configured wait. A cluster that
// has just started may not respond.
func (e *engine) retry(ctx context.Context, do func(context.Context) error) error {
	return e.retryFor(ctx, 0, do)
}

// retryFor is retry for operations that take longer than a request.
func (e *engine) retryFor(ctx context.Context, longer time.Duration, do func(context.Context) error) error {
	waitCtx, cancel := context.WithTimeout(ctx, e.wait+longer)
	defer cancel()
	_, err := askUntilAnswered(waitCtx, func(ctx context.Context) (struct{}, error) {
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

// checkDurability rejects a cluster that may lose acknowledged entries. It returns the
// number of replicas for new streams.
func (st *connection) checkDurability(ctx context.Context) (int, error) {
	nc := st.engine.nc
	if !atLeast(nc.ConnectedServerVersion(), minMajor, minMinor) {
		return 0, fmt.Errorf("server %q has version %s: %w: expected %d.%d or later", nc.ConnectedServerName(), nc.ConnectedServerVersion(), firn.ErrUnsupported, minMajor, minMinor)
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
		return 0, fmt.Errorf("%w: a cluster with %d replicas, expected %d: acknowledged data is lost with a server", firn.ErrUnsupported, replicas, safeReplicas)
	}
	if len(st.opts.Monitors) == 0 {
		return 0, fmt.Errorf("%w: cannot check whether the servers sync acknowledged data; set the addresses of their monitoring", firn.ErrUnsupported)
	}
	client, err := monitorClient(st.opts)
	if err != nil {
		return 0, err
	}
	return replicas, st.checkServers(ctx, client)
}

// checkServers checks that the servers sync before they acknowledge. If a minority of them
// does not respond, the store can be used, and they are checked when they are back.
func (st *connection) checkServers(ctx context.Context, client *http.Client) error {
	var mu sync.Mutex
	var away []string
	var last error
	var tasks []func() error
	for _, address := range st.opts.Monitors {
		tasks = append(tasks, func() error {
			err := checkSync(ctx, client, address)
			if !errors.Is(err, firn.ErrUnavailable) {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			away, last = append(away, address), err
			return nil
		})
	}
	if err := runParallel(tasks); err != nil {
		return err
	}
	if 2*len(away) >= len(st.opts.Monitors) && len(away) > 0 {
		return last
	}
	for _, address := range away {
		st.opts.Report(fmt.Sprintf("the server at %s does not respond; its sync setting will be checked when it is back", address))
		st.engine.watch.work.Go(func() { st.checkReturned(st.engine.watch.life, client, address) })
	}
	return nil
}

// checkReturned checks a server once it responds.
func (st *connection) checkReturned(ctx context.Context, client *http.Client, address string) {
	for sleepContext(ctx, checkAgainAfter) == nil {
		switch err := checkSync(ctx, client, address); {
		case err == nil:
			return
		case errors.Is(err, firn.ErrUnsupported):
			st.opts.Report(err.Error())
			return
		}
	}
}

// checkAgainAfter is the time after which a server that did not respond is checked again.
const checkAgainAfter = 5 * time.Second

// atLeast reports whether a version is at least the given one.
func atLeast(version string, major, minor int) bool {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(parts) < 2 {
		return false
	}
	a, errA := strconv.Atoi(parts[0])
	b, errB := strconv.Atoi(parts[1])
	return errA == nil && errB == nil && (a > major || a == major && b >= minor)
}

// checkSync asks a server's monitoring endpoint whether it syncs before it acknowledges.
func checkSync(ctx context.Context, client *http.Client, address string) error {
	var reported struct {
		Name      string `json:"server_name"`
		JetStream struct {
			Config struct {
				SyncAlways bool `json:"sync_always"`
			} `json:"config"`
		} `json:"jetstream"`
	}
	if err := monitor(ctx, client, address, "/varz", &reported); err != nil {
		return err
	}
	if !reported.JetStream.Config.SyncAlways {
		return fmt.Errorf("%w: server %q at %s syncs only periodically: a power failure loses acknowledged data; set sync_interval: always", firn.ErrUnsupported, reported.Name, address)
	}
	return nil
}

// monitor queries a server's monitoring endpoint.
func monitor(ctx context.Context, client *http.Client, address, path string, reported any) error {
	once, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	req, err := http.NewRequestWithContext(once, http.MethodGet, strings.TrimSuffix(address, "/")+path, nil)
	if err != nil {
		return fmt.Errorf("%w address of monitoring %q: %w", firn.ErrInvalid, address, err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("ask the monitoring %s: %w", address, connectError(err))
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(reported); err != nil {
		return fmt.Errorf("ask the monitoring %s: %w", address, &Unavailable{Cause: err})
	}
	return nil
}

func (e *engine) ensureBucket(ctx context.Context, cfg jetstream.KeyValueConfig) error {
	err := e.retry(ctx, func(ctx context.Context) error {
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

// agreeOnShards determines the number of shards: that of the first process that opened the
// store.
func (st *connection) agreeOnShards(ctx context.Context) error {
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
		return fmt.Errorf("the number of shards is stored as %q: %w", value, firn.ErrCorrupt)
	}
	st.names.shards = n
	return nil
}

func (st *connection) ensureStream(ctx context.Context, shard, replicas int) error {
	name := st.names.stream(shard)
	wanted := jetstream.StreamConfig{
		Name: name, Description: "sessions of firn", Subjects: []string{st.names.all(shard)}, Storage: jetstream.FileStorage, Replicas: replicas,
		Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardNew, MaxMsgSize: maxMessage, Duplicates: duplicateWindow,
		AllowDirect: true, AllowRollup: true,
	}
	var cfg jetstream.StreamConfig
	err := st.engine.retry(ctx, func(ctx context.Context) error {
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
		return fmt.Errorf("the stream %s: %w: it was not created for sessions", name, firn.ErrUnsupported)
	}
	if cfg.Replicas < min(replicas, safeReplicas) && !st.opts.Unsafe {
		return fmt.Errorf("the stream %s: %w: it has %d replicas, expected %d", name, firn.ErrUnsupported, cfg.Replicas, replicas)
	}
	return nil
}
