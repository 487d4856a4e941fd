// Command alertcheck checks alerting rules and queries of Prometheus, and evaluates the rules on given series.
//
// It is promtool's check and unit test of rules without the rest of promtool, whose dependencies take a gigabyte to
// build. Parser, engine and templates are Prometheus' own. It reads a request as JSON from standard input and writes
// the response to standard output.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/url"
	"os"
	"slices"
	"sort"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/template"
	"github.com/prometheus/prometheus/util/annotations"
)

// request asks for checks. Rules is the text of a rules file, without its alerts if it is empty.
type request struct {
	Rules   string   `json:"rules"`
	Queries []string `json:"queries"`
	Tests   []test   `json:"tests"`
}

// test has the notation of promtool: a value for each interval, such as "0 1 _x2 5+1x10".
type test struct {
	IntervalSeconds int64    `json:"interval_seconds"`
	Series          []series `json:"series"`
	AtSeconds       []int64  `json:"at_seconds"`
}

type series struct {
	Series string `json:"series"`
	Values string `json:"values"`
}

type response struct {
	// Alerts has the selectors of each alert.
	Alerts map[string][]selector `json:"alerts"`
	// Queries has the selectors of each query.
	Queries [][]selector `json:"queries"`
	// Tests has, for each test and each of its times, what fires.
	Tests [][][]alert `json:"tests"`
}

// selector is one selector of a query: the metric and the labels that it compares.
type selector struct {
	Metric string   `json:"metric"`
	Labels []string `json:"labels"`
}

type alert struct {
	Name        string            `json:"name"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

var promqlParser = parser.NewParser(parser.Options{})

func main() {
	var asked request
	decoder := json.NewDecoder(os.Stdin)
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&asked)
	if err == nil {
		var answer response
		if answer, err = check(asked); err == nil {
			err = json.NewEncoder(os.Stdout).Encode(answer)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func check(asked request) (response, error) {
	answer := response{Alerts: map[string][]selector{}, Queries: [][]selector{}, Tests: [][][]alert{}}
	rules, err := parseRules(asked.Rules)
	if err != nil {
		return answer, err
	}
	for _, rule := range rules {
		if answer.Alerts[rule.Alert], err = selectors(rule.Expr); err != nil {
			return answer, err
		}
	}
	for _, query := range asked.Queries {
		found, err := selectors(query)
		if err != nil {
			return answer, fmt.Errorf("%s: %w", query, err)
		}
		answer.Queries = append(answer.Queries, found)
	}
	for _, each := range asked.Tests {
		fired, err := run(each, rules)
		if err != nil {
			return answer, err
		}
		answer.Tests = append(answer.Tests, fired)
	}
	return answer, nil
}

func parseRules(text string) ([]rulefmt.Rule, error) {
	groups, errs := rulefmt.Parse([]byte(text), false, model.UTF8Validation, promqlParser, slog.Default())
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	var rules []rulefmt.Rule
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			if rule.Alert == "" || rule.KeepFiringFor != 0 {
				return nil, fmt.Errorf("%s%s: only alerts without keep_firing_for are supported", rule.Record, rule.Alert)
			}
			rules = append(rules, rule)
		}
	}
	return rules, nil
}

func selectors(query string) ([]selector, error) {
	expression, err := promqlParser.ParseExpr(query)
	if err != nil {
		return nil, err
	}
	found := []selector{}
	parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
		if vector, ok := node.(*parser.VectorSelector); ok {
			names := []string{}
			for _, matcher := range vector.LabelMatchers {
				if matcher.Name != model.MetricNameLabel {
					names = append(names, matcher.Name)
				}
			}
			sort.Strings(names)
			found = append(found, selector{Metric: vector.Name, Labels: names})
		}
		return nil
	})
	return found, nil
}

// run evaluates all rules at every interval, and returns what fires at the times of the test.
func run(asked test, rules []rulefmt.Rule) ([][]alert, error) {
	queryable, err := load(asked)
	if err != nil {
		return nil, err
	}
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: math.MaxInt32, Timeout: time.Minute, Parser: promqlParser})
	answer := make([][]alert, len(asked.AtSeconds))
	for at := range answer {
		answer[at] = []alert{}
	}
	since := make([]map[string]int64, len(rules)) // when each sample of a rule became active
	for second := int64(0); second <= slices.Max(asked.AtSeconds); second += asked.IntervalSeconds {
		for number, rule := range rules {
			samples, err := evaluate(engine, queryable, rule.Expr, second)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", rule.Alert, err)
			}
			active := map[string]int64{}
			for _, sample := range samples {
				key := sample.Metric.String()
				active[key] = second
				if before, ok := since[number][key]; ok {
					active[key] = before
				}
				if second-active[key] < int64(time.Duration(rule.For).Seconds()) {
					continue
				}
				for at, wanted := range asked.AtSeconds {
					if wanted == second {
						fired, err := expand(rule, sample, second)
						if err != nil {
							return nil, err
						}
						answer[at] = append(answer[at], fired)
					}
				}
			}
			since[number] = active
		}
	}
	return answer, nil
}

func load(asked test) (storage.Queryable, error) {
	loaded := []storage.Series{}
	for _, each := range asked.Series {
		lset, values, err := promqlParser.ParseSeriesDesc(each.Series + " " + each.Values)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", each.Series, err)
		}
		points := []promql.FPoint{}
		for index, value := range values {
			if !value.Omitted {
				points = append(points, promql.FPoint{T: int64(index) * asked.IntervalSeconds * 1000, F: value.Value})
			}
		}
		loaded = append(loaded, promql.NewStorageSeries(promql.Series{Metric: lset, Floats: points}))
	}
	slices.SortFunc(loaded, func(one, other storage.Series) int { return labels.Compare(one.Labels(), other.Labels()) })
	return &storage.MockQueryable{MockQuerier: &storage.MockQuerier{
		SelectMockFunction: func(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
			set := &seriesSet{at: -1}
			for _, each := range loaded {
				if matches(each.Labels(), matchers) {
					set.series = append(set.series, each)
				}
			}
			return set
		},
	}}, nil
}

func matches(lset labels.Labels, matchers []*labels.Matcher) bool {
	for _, matcher := range matchers {
		if !matcher.Matches(lset.Get(matcher.Name)) {
			return false
		}
	}
	return true
}

func evaluate(engine *promql.Engine, queryable storage.Queryable, query string, second int64) (promql.Vector, error) {
	ctx := context.Background()
	prepared, err := engine.NewInstantQuery(ctx, queryable, nil, query, time.Unix(second, 0))
	if err != nil {
		return nil, err
	}
	defer prepared.Close()
	result := prepared.Exec(ctx)
	if result.Err != nil {
		return nil, result.Err
	}
	vector, err := result.Vector()
	if err != nil {
		return nil, fmt.Errorf("an alert needs a vector: %w", err)
	}
	return slices.Clone(vector), nil
}

// expand returns the alert with its templates filled in, as Prometheus sends it.
func expand(rule rulefmt.Rule, sample promql.Sample, second int64) (alert, error) {
	own := sample.Metric.DropReserved(func(name string) bool { return name == model.MetricNameLabel }).Map()
	data := template.AlertTemplateData(own, nil, "", sample)
	fill := func(text string) (string, error) {
		text = "{{$labels := .Labels}}{{$value := .Value}}" + text
		return template.NewTemplateExpander(
			context.Background(), text, rule.Alert, data, model.Time(second*1000), nil, &url.URL{}, []string{"missingkey=error"},
		).Expand()
	}
	fired := alert{Name: rule.Alert, Labels: map[string]string{}, Annotations: map[string]string{}}
	for name, value := range own {
		fired.Labels[name] = value
	}
	for _, part := range []struct{ from, to map[string]string }{
		{rule.Labels, fired.Labels},
		{rule.Annotations, fired.Annotations},
	} {
		for name, text := range part.from {
			filled, err := fill(text)
			if err != nil {
				return fired, fmt.Errorf("%s, %s: %w", rule.Alert, name, err)
			}
			part.to[name] = filled
		}
	}
	return fired, nil
}

type seriesSet struct {
	series []storage.Series
	at     int
}

func (set *seriesSet) Next() bool         { set.at++; return set.at < len(set.series) }
func (set *seriesSet) At() storage.Series { return set.series[set.at] }
func (set *seriesSet) Err() error         { return nil }

func (set *seriesSet) Warnings() annotations.Annotations { return nil }
