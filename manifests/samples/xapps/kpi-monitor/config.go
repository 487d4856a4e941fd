package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// Config is the run-time configuration. Every start begins with the configuration in the settings.
type Config struct {
	PeriodMilliseconds int      `json:"periodMilliseconds"`
	ThresholdPercent   float64  `json:"thresholdPercent"`
	Cells              []string `json:"cells"`
}

func (c Config) period() time.Duration {
	return time.Duration(c.PeriodMilliseconds) * time.Millisecond
}

//go:embed config.schema.json
var configSchema []byte

// configStore holds the current configuration and signals each change.
type configStore struct {
	schema  *jsonschema.Schema
	current atomic.Pointer[Config]
	changed chan struct{}
}

// fieldError is one error in a configuration.
type fieldError struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

// invalid lists all errors in a configuration.
type invalid struct{ errors []fieldError }

func (i invalid) Error() string {
	words := make([]string, 0, len(i.errors))
	for _, each := range i.errors {
		if each.Field == "" {
			words = append(words, each.Message)
			continue
		}
		words = append(words, each.Field+": "+each.Message)
	}
	return strings.Join(words, "; ")
}

func newConfigStore(initial []byte) (*configStore, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(configSchema))
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("config.schema.json", document); err != nil {
		return nil, err
	}
	schema, err := compiler.Compile("config.schema.json")
	if err != nil {
		return nil, err
	}
	store := &configStore{schema: schema, changed: make(chan struct{}, 1)}
	_, err = store.put(initial)
	return store, err
}

func (s *configStore) get() Config { return *s.current.Load() }

// put replaces the configuration. The error has the type invalid if the JSON does not match the schema.
func (s *configStore) put(text []byte) (Config, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return Config{}, err
	}
	if err := s.schema.Validate(document); err != nil {
		var wrong *jsonschema.ValidationError
		if errors.As(err, &wrong) {
			return Config{}, invalid{leaves(wrong)}
		}
		return Config{}, err
	}
	var config Config
	// The schema accepts 1e3 and 1000.0 as integers, but the decoder does not.
	if err := json.Unmarshal(text, &config); err != nil {
		return Config{}, invalid{[]fieldError{{Field: "periodMilliseconds", Message: "must be written with digits only"}}}
	}
	s.current.Store(&config)
	select {
	case s.changed <- struct{}{}:
	default:
	}
	return config, nil
}

func leaves(wrong *jsonschema.ValidationError) []fieldError {
	if len(wrong.Causes) == 0 {
		text := wrong.ErrorKind.LocalizedString(message.NewPrinter(language.English))
		return []fieldError{{Field: strings.Join(wrong.InstanceLocation, "."), Message: text}}
	}
	var found []fieldError
	for _, cause := range wrong.Causes {
		found = append(found, leaves(cause)...)
	}
	return found
}
