package main

import (
	"encoding/json"
	"fmt"
	"os"
	"time"
)

const maxDrain = 60_000

// settings come from the values of the chart. They are read once. Config is what can change at run time.
type settings struct {
	Name        string `json:"name"`
	Version     string `json:"version"`
	Description string `json:"description"`
	Greeting    string `json:"greeting"`
	// Cluster is the address of the cluster, which the operator sets.
	Cluster string `json:"cluster"`
	// DrainMilliseconds is the time after the signal during which the xApp still accepts requests, so that clients can
	// learn that it stops.
	DrainMilliseconds int             `json:"drainMilliseconds"`
	Config            json.RawMessage `json:"config"`
	Storage           *storage        `json:"storage"`
	Faults            faults          `json:"faults"`
}

// storage says where and how many samples are stored.
type storage struct {
	Path string `json:"path"`
	Keep int    `json:"keep"`
}

func readSettings(path string) (settings, error) {
	found := settings{
		Name:              "kpi-monitor",
		Version:           version,
		Description:       "Measures the load of simulated cells",
		Greeting:          "Hello from the RIC",
		DrainMilliseconds: 1000,
		Config:            json.RawMessage(`{"periodMilliseconds": 1000, "thresholdPercent": 80, "cells": ["cell-1"]}`),
	}
	if path == "" {
		return found, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return found, err
	}
	if err := strictly(text, &found); err != nil {
		return found, fmt.Errorf("settings in %s: %w", path, err)
	}
	if found.Storage != nil && (found.Storage.Path == "" || found.Storage.Keep < 1) {
		return found, fmt.Errorf("settings in %s: storage needs a path, and a keep of at least 1", path)
	}
	if err := between("drainMilliseconds", found.DrainMilliseconds, 0, maxDrain); err != nil {
		return found, fmt.Errorf("settings in %s: %w", path, err)
	}
	if err := found.Faults.wrong(); err != nil {
		return found, fmt.Errorf("settings in %s: faults: %w", path, err)
	}
	return found, nil
}

func (s settings) drain() time.Duration {
	return time.Duration(s.DrainMilliseconds) * time.Millisecond
}
