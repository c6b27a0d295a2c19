// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package serving

import "github.com/prometheus/client_golang/prometheus"

// Why a connection or a request was turned away.
const (
	reasonConnections   = "connections"    // there is no room for another connection
	reasonConnectionCut = "connection-cut" // its client held more than another that needed one
	reasonMemory        = "memory"         // there is no memory for another large body
	reasonBodyCut       = "body-cut"       // its client held more than another that needed some
	reasonSlow          = "slow"           // its body did not arrive in time
	reasonSize          = "size"
	reasonNoReview      = "no-review"   // another method or content type, or half a body
	reasonCertificate   = "certificate" // the client has none that is accepted
)

var turnedAway = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "holdfast_webhook_turned_away_total",
	Help: "Connections and requests at the webhook port that were not answered by a webhook, by reason.",
}, []string{"reason"})

// RegisterMetrics adds the metrics of a server to a registry.
func (s *Server) RegisterMetrics(r prometheus.Registerer) {
	r.MustRegister(turnedAway,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "holdfast_webhook_connections",
			Help: "Connections to the webhook port now.",
		}, s.conns.inUse),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "holdfast_webhook_body_bytes",
			Help: "Bytes that are reserved now for large bodies of requests to the webhook port.",
		}, s.bodies.inUse),
	)
	for _, reason := range []string{
		reasonConnections, reasonConnectionCut, reasonMemory, reasonBodyCut, reasonSlow, reasonSize, reasonNoReview, reasonCertificate,
	} {
		turnedAway.WithLabelValues(reason)
	}
}
