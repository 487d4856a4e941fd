package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	headerTime   = 10 * time.Second
	shutdownTime = 5 * time.Second
)

// app is the xApp with its configuration, measurements, metrics and active faults.
type app struct {
	settings settings
	config   *configStore
	monitor  *monitor
	meter    *meter
	trouble  trouble
	ending   atomic.Bool
	// streams is canceled when the process stops. Events and WebSockets watch it, because Shutdown does not end them.
	streams     context.Context
	stopStreams context.CancelFunc
	open        sync.WaitGroup
}

func newApp(s settings) (*app, error) {
	config, err := newConfigStore(s.Config)
	if err != nil {
		return nil, errors.Join(errors.New("settings: config"), err)
	}
	keep := func(Sample) error { return nil }
	if s.Storage != nil {
		keeper, err := newKeeper(*s.Storage)
		if err != nil {
			return nil, err
		}
		keep = keeper.keep
	}
	a := &app{settings: s, config: config, meter: newMeter(s)}
	a.monitor = &monitor{config: config, keep: keep, meter: a.meter, listeners: map[chan Sample]struct{}{}}
	a.streams, a.stopStreams = context.WithCancel(context.Background())
	return a, nil
}

// run serves until ctx ends, then drains: it reports that it is not ready, still answers new requests for a while, and
// finishes the requests in progress.
func (a *app) run(ctx context.Context, address, metricsAddress string) error {
	failed := make(chan error, 3)
	servers := []*http.Server{}
	serve := func(name, address string, handler http.Handler) error {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			return err
		}
		server := &http.Server{Handler: handler, ReadHeaderTimeout: headerTime}
		servers = append(servers, server)
		slog.Info("listening", "port", name, "address", listener.Addr().String())
		go func() {
			if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
				failed <- err
			}
		}()
		return nil
	}
	if err := serve("http", address, a.routes()); err != nil {
		return err
	}
	if metricsAddress != "" {
		if err := serve("metrics", metricsAddress, a.meter.handler()); err != nil {
			return err
		}
	}
	host, _ := os.Hostname()
	slog.Info("started", "name", a.settings.Name, "version", a.settings.Version, "pod", host, "config", a.config.get())
	measuring, stopMeasuring := context.WithCancel(context.Background())
	defer stopMeasuring()
	go func() {
		if err := a.monitor.run(measuring); err != nil {
			failed <- err
		}
	}()
	a.trouble.begin(measuring, a.settings.Faults)
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		return a.drain(servers)
	}
}

func (a *app) drain(servers []*http.Server) error {
	a.ending.Store(true)
	slog.Info("asked to stop", "drainMilliseconds", a.settings.DrainMilliseconds)
	time.Sleep(a.settings.drain())
	a.stopStreams()
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTime)
	defer cancel()
	for _, server := range servers {
		if err := server.Shutdown(ctx); err != nil {
			slog.Warn("requests aborted", "error", err.Error())
			server.Close()
		}
	}
	a.open.Wait()
	slog.Info("stopped")
	return nil
}

// whyNotReady returns why this xApp is not ready, or an empty text if it is.
func (a *app) whyNotReady() string {
	switch {
	case a.ending.Load():
		return "the xApp is stopping"
	case a.trouble.unready.Load():
		return "the fault unready is active"
	case !a.monitor.measuring():
		return "the first sample has not been taken yet"
	}
	return ""
}

// delaying delays every answer while the fault slow is active, except the answer of /faults/slow itself.
func (a *app) delaying(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		delay := time.Duration(a.trouble.delay.Load())
		if delay > 0 && r.URL.Path != "/faults/slow" {
			select {
			case <-time.After(delay):
			case <-r.Context().Done():
				return
			case <-a.streams.Done():
			}
		}
		next.ServeHTTP(w, r)
	})
}

// problem is an error as RFC 9457 defines it.
type problem struct {
	Type   string       `json:"type"`
	Title  string       `json:"title"`
	Status int          `json:"status"`
	Detail string       `json:"detail"`
	Errors []fieldError `json:"errors,omitempty"`
}

func refuse(w http.ResponseWriter, status int, detail string, wrong ...fieldError) {
	w.Header().Set("Content-Type", "application/problem+json")
	write(w, status, problem{"about:blank", http.StatusText(status), status, detail, wrong})
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	write(w, status, body)
}

func write(w http.ResponseWriter, status int, body any) {
	w.WriteHeader(status)
	// The caller may have closed the connection.
	_ = json.NewEncoder(w).Encode(body)
}
