// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// RegisterMetrics adds the metrics of the store to the registry:
//
//	holdfast_config_last_reload_successful         1, or 0 while the last change is refused or the source cannot be read
//	holdfast_config_last_reload_timestamp_seconds  Unix time of the last load that succeeded, that at start included
//	holdfast_config_reloads_total{result}          changes seen since the start, result being success or failure
func RegisterMetrics(registry prometheus.Registerer, store *Store) error {
	return errors.Join(
		registry.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "holdfast_config_last_reload_successful",
			Help: "1 if the last change of the configuration is in force, 0 if it was refused or the configuration could not be read.",
		}, func() float64 {
			if store.LastError() != nil {
				return 0
			}
			return 1
		})),
		registry.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "holdfast_config_last_reload_timestamp_seconds",
			Help: "Unix time at which a configuration was last loaded with success, at start or later.",
		}, func() float64 {
			return float64(store.last.Load().loaded.UnixMilli()) / 1000
		})),
		registry.Register(reloads("success", func() uint64 { return store.last.Load().successes })),
		registry.Register(reloads("failure", func() uint64 { return store.last.Load().failures })),
	)
}

func reloads(result string, count func() uint64) prometheus.Collector {
	return prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name:        "holdfast_config_reloads_total",
		Help:        "Changes of the configuration seen since the start, by whether they came into force.",
		ConstLabels: prometheus.Labels{"result": result},
	}, func() float64 { return float64(count()) })
}
