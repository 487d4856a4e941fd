package main

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// meter holds the metrics of this xApp.
type meter struct {
	registry *prometheus.Registry
	used     *prometheus.GaugeVec
	samples  prometheus.Counter
	loaded   prometheus.Counter
	requests *prometheus.CounterVec
}

func newMeter(s settings) *meter {
	m := &meter{
		registry: prometheus.NewRegistry(),
		used: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "kpi_prb_used_percent", Help: "Usage of physical resource blocks in the newest sample of a cell, in percent.",
		}, []string{"cell"}),
		samples: prometheus.NewCounter(prometheus.CounterOpts{Name: "kpi_samples_total", Help: "Samples taken."}),
		loaded: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "kpi_loaded_samples_total", Help: "Samples with a usage above the threshold.",
		}),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "http_requests_total", Help: "Requests that the API answered.",
		}, []string{"code", "method"}),
	}
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "kpi_monitor_info", Help: "The running version.",
		ConstLabels: prometheus.Labels{"name": s.Name, "version": s.Version},
	})
	info.Set(1)
	m.registry.MustRegister(m.used, m.samples, m.loaded, m.requests, info,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *meter) observe(sample Sample) {
	m.samples.Inc()
	m.used.WithLabelValues(sample.Cell).Set(sample.PrbUsedPercent)
	if sample.Loaded {
		m.loaded.Inc()
	}
}

func (m *meter) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

func (m *meter) counting(next http.Handler) http.Handler {
	return promhttp.InstrumentHandlerCounter(m.requests, next)
}
