package main

import (
	"context"
	"log/slog"
	"math"
	"math/rand/v2"
	"sync"
	"time"
)

const (
	remembered = 256
	// behind is how many samples a listener may lag. A slower one is disconnected and can resume with its last id.
	behind      = 64
	wavePeriod  = 60.0
	meanPercent = 55.0
	swing       = 30.0
	noise       = 15.0
	usersAtFull = 120.0
)

// Sample is one measurement of one cell.
type Sample struct {
	ID             uint64    `json:"id"`
	Time           time.Time `json:"time"`
	Cell           string    `json:"cell"`
	PrbUsedPercent float64   `json:"prbUsedPercent"`
	ActiveUEs      int       `json:"activeUEs"`
	Loaded         bool      `json:"loaded"`
}

// measure simulates the indication of an E2 node: a wave with noise, with a different phase for each cell.
func measure(id uint64, config Config, now time.Time) Sample {
	index := int(id % uint64(len(config.Cells)))
	phase := 2 * math.Pi * (float64(now.UnixMilli())/1000/wavePeriod + float64(index)/float64(len(config.Cells)))
	used := meanPercent + swing*math.Sin(phase) + noise*(2*rand.Float64()-1)
	used = math.Round(10*min(max(used, 0), 100)) / 10
	return Sample{
		ID:             id,
		Time:           now.UTC(),
		Cell:           config.Cells[index],
		PrbUsedPercent: used,
		ActiveUEs:      int(used / 100 * usersAtFull),
		Loaded:         used > config.ThresholdPercent,
	}
}

// monitor takes samples, stores the newest ones, and sends each to all listeners.
type monitor struct {
	config *configStore
	keep   func(Sample) error
	meter  *meter

	mutex     sync.Mutex
	last      uint64
	recent    []Sample
	listeners map[chan Sample]struct{}
}

// run takes a sample at once and then periodically until ctx ends. It applies a new configuration immediately.
func (m *monitor) run(ctx context.Context) error {
	if err := m.take(time.Now()); err != nil {
		return err
	}
	for {
		timer := time.NewTimer(m.config.get().period())
		select {
		case <-ctx.Done():
			return nil
		case <-m.config.changed:
		case <-timer.C:
			if err := m.take(time.Now()); err != nil {
				return err
			}
		}
	}
}

func (m *monitor) take(now time.Time) error {
	m.mutex.Lock()
	sample := measure(m.last+1, m.config.get(), now)
	m.last = sample.ID
	m.recent = append(m.recent, sample)
	m.recent = m.recent[max(0, len(m.recent)-remembered):]
	for listener := range m.listeners {
		select {
		case listener <- sample:
		default:
			delete(m.listeners, listener)
			close(listener)
		}
	}
	m.mutex.Unlock()
	m.meter.observe(sample)
	log := slog.Info
	if sample.Loaded {
		log = slog.Warn
	}
	log("sample", "id", sample.ID, "cell", sample.Cell, "prbUsedPercent", sample.PrbUsedPercent, "loaded", sample.Loaded)
	return m.keep(sample)
}

// measuring returns whether a sample has been taken.
func (m *monitor) measuring() bool {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.last > 0
}

// listen returns the stored samples after the given id, and a channel with every new sample. The channel is closed if the
// listener falls behind. An id above the newest one comes from before a restart and is ignored.
func (m *monitor) listen(after uint64) (missed []Sample, next chan Sample, leave func()) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if after > m.last {
		after = 0
	}
	for _, sample := range m.recent {
		if after > 0 && sample.ID > after {
			missed = append(missed, sample)
		}
	}
	next = make(chan Sample, behind)
	m.listeners[next] = struct{}{}
	return missed, next, func() {
		m.mutex.Lock()
		defer m.mutex.Unlock()
		delete(m.listeners, next)
	}
}
