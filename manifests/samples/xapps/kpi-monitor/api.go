package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
)

const maxBody = 64 << 10

// endpoint is one row of the API, and of the metadata that describe it.
type endpoint struct {
	Method      string `json:"method"`
	Path        string `json:"path"`
	Description string `json:"description"`
	handle      http.HandlerFunc
}

func (a *app) endpoints() []endpoint {
	return []endpoint{
		{"GET", "/", "a greeting, and which pod gives it", a.greet},
		{"GET", "/health/alive", "whether the process works", a.alive},
		{"GET", "/health/ready", "whether it does its work; 503 says why not", a.ready},
		{"GET", "/config", "the configuration at this moment", a.getConfig},
		{"PUT", "/config", "another configuration, at once and until the next start", a.putConfig},
		{"GET", "/config/schema", "the JSON schema of the configuration", a.getSchema},
		{"GET", "/metadata", "what this xApp is and offers", a.metadata},
		{"GET", "/metrics", "metrics for Prometheus", a.meter.handler().ServeHTTP},
		{"GET", "/events", "samples as Server-Sent Events; Last-Event-ID resumes", a.events},
		{"GET", "/ws", "a WebSocket that echoes; ?samples=true sends samples too", a.webSocket},
		{"GET", "/samples.csv", "the samples that are kept", a.samples},
		{"POST", "/echo", "the body, sent back while it comes in", a.echo},
		{"GET", "/bytes", "?size= bytes", a.bytes},
		{"GET", "/redirect", "a redirection ?to= with ?status=", a.redirect},
		{"GET", "/request", "the request as it arrived here", a.request},
		{"POST", "/faults/crash", "end with exitCode after afterMilliseconds, for a reason", a.crash},
		{"POST", "/faults/leak", "take megabytesPerSecond upToMegabytes", a.leak},
		{"POST", "/faults/slow", "answer everything after so many milliseconds", a.slow},
		{"POST", "/faults/unready", "say that it is not ready", a.unready(true)},
		{"POST", "/faults/ready", "take that back", a.unready(false)},
	}
}

func (a *app) routes() http.Handler {
	mux := http.NewServeMux()
	for _, each := range a.endpoints() {
		path := each.Path
		if path == "/" {
			// without the mark it would stand for every path that is not another's
			path = "/{$}"
		}
		mux.HandleFunc(each.Method+" "+path, each.handle)
	}
	return a.delaying(a.meter.counting(mux))
}

func (a *app) greet(w http.ResponseWriter, _ *http.Request) {
	host, _ := os.Hostname()
	answer(w, http.StatusOK, map[string]string{
		"greeting": a.settings.Greeting, "name": a.settings.Name, "version": a.settings.Version,
		"cluster": a.settings.Cluster, "pod": host,
	})
}

func (a *app) alive(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, map[string]string{"status": "alive"})
}

func (a *app) ready(w http.ResponseWriter, _ *http.Request) {
	if reason := a.whyNotReady(); reason != "" {
		refuse(w, http.StatusServiceUnavailable, reason)
		return
	}
	answer(w, http.StatusOK, map[string]string{"status": "ready"})
}

func (a *app) getConfig(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, a.config.get())
}

func (a *app) putConfig(w http.ResponseWriter, r *http.Request) {
	text, ok := body(w, r)
	if !ok {
		return
	}
	config, err := a.config.put(text)
	var wrong invalid
	switch {
	case errors.As(err, &wrong):
		refuse(w, http.StatusUnprocessableEntity, wrong.Error(), wrong.errors...)
	case err != nil:
		refuse(w, http.StatusBadRequest, "the body is no JSON: "+err.Error())
	default:
		slog.Info("configured", "config", config)
		answer(w, http.StatusOK, config)
	}
}

func (a *app) getSchema(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/schema+json")
	_, _ = w.Write(configSchema)
}

// metadata follow the descriptor of an xApp; the messages are those of the E2 interface that the simulation stands for.
func (a *app) metadata(w http.ResponseWriter, _ *http.Request) {
	type port struct {
		Name        string `json:"name"`
		Port        int    `json:"port"`
		Description string `json:"description"`
	}
	answer(w, http.StatusOK, map[string]any{
		"name": a.settings.Name, "version": a.settings.Version, "description": a.settings.Description,
		"endpoints": a.endpoints(),
		"messaging": map[string]any{
			"ports": []port{
				{"http", 8080, "the API"},
				{"metrics", 9090, "metrics for Prometheus"},
			},
			"simulated":  true,
			"rxMessages": []string{"RIC_SUB_RESP", "RIC_INDICATION"},
			"txMessages": []string{"RIC_SUB_REQ", "RIC_SUB_DEL_REQ"},
		},
	})
}

func (a *app) samples(w http.ResponseWriter, r *http.Request) {
	if a.settings.Storage == nil {
		refuse(w, http.StatusNotFound, "no samples are kept: the settings name no storage")
		return
	}
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	http.ServeFile(w, r, a.settings.Storage.Path)
}

func (a *app) crash(w http.ResponseWriter, r *http.Request) {
	take(w, r, crash.wrong, a.trouble.crash)
}

func (a *app) leak(w http.ResponseWriter, r *http.Request) {
	take(w, r, leak.wrong, func(l leak) { a.trouble.leak(context.Background(), l) })
}

func (a *app) slow(w http.ResponseWriter, r *http.Request) {
	take(w, r, slow.wrong, a.trouble.slow)
}

func (a *app) unready(unready bool) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		a.trouble.unready.Store(unready)
		slog.Warn("told", "unready", unready)
		answer(w, http.StatusAccepted, map[string]bool{"unready": unready})
	}
}

// take reads a fault, says what is wrong with it or lets it begin.
func take[F any](w http.ResponseWriter, r *http.Request, wrong func(F) error, begin func(F)) {
	text, ok := body(w, r)
	if !ok {
		return
	}
	if len(text) == 0 {
		text = []byte("{}")
	}
	if !json.Valid(text) {
		refuse(w, http.StatusBadRequest, "the body is no JSON")
		return
	}
	var fault F
	if err := strictly(text, &fault); err != nil {
		refuse(w, http.StatusUnprocessableEntity, err.Error())
		return
	}
	if err := wrong(fault); err != nil {
		refuse(w, http.StatusUnprocessableEntity, err.Error())
		return
	}
	answer(w, http.StatusAccepted, fault)
	begin(fault)
}

func body(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		refuse(w, http.StatusRequestEntityTooLarge, "the body may have at most 65536 bytes")
	} else if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
	}
	return text, err == nil
}
