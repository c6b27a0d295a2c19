// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"

	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/source/remote"
)

// isUnsure says whether a HEAD request failed for what a GET request may tell better:
// an answer to HEAD has no words, and some registries do not take it.
func isUnsure(err error) bool {
	if t, ok := errors.AsType[*transport.Error](err); ok {
		return t.StatusCode == http.StatusMethodNotAllowed || t.StatusCode == http.StatusNotImplemented || t.StatusCode == http.StatusBadRequest
	}
	var n net.Error
	return !errors.As(err, &n) && !isCertificate(err)
}

func isCertificate(err error) bool {
	var verify *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	return errors.As(err, &verify) || errors.As(err, &authority)
}

// explain says what is wrong and what to do.
func (i *Image) explain(ctx context.Context, err error) *knv.Error {
	var text string
	var t *transport.Error
	switch cause := context.Cause(ctx); {
	case remote.IsContent(err):
		text = fmt.Sprintf("cannot be used: %v", err)
	case errors.Is(cause, errTimeout):
		text = "did not come in time; check the registry, the network, and the size of the image"
	case cause != nil:
		text, err = "was not read: Holdfast ends", cause
	case errors.As(err, &t):
		text = i.sayStatus(t.StatusCode)
	default:
		text = sayNetwork(err)
	}
	out := fmt.Sprintf("the image %s %s", i.ref, text)
	return knv.New(knv.Source, "%s", remote.Hide(out, string(i.remote.Password))).Because(err)
}

// sayStatus says what a registry means.
func (i *Image) sayStatus(code int) string {
	switch {
	case (code == http.StatusUnauthorized || code == http.StatusForbidden) && i.remote.Password != "":
		return fmt.Sprintf("cannot be read: the registry does not take the credentials, or they have expired (%d); "+
			`check the keys "username" and "password" of the Secret of spec.oci.secretRef`, code)
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return fmt.Sprintf("cannot be read: the registry wants credentials (%d); set spec.oci.auth to \"token\" and spec.oci.secretRef, or correct spec.oci.image", code)
	case code == http.StatusNotFound:
		return "does not exist (404); correct spec.oci.image, or push it"
	case code == http.StatusTooManyRequests, code >= http.StatusInternalServerError:
		return fmt.Sprintf("cannot be read: the registry has an error (%d); it is asked again soon", code)
	}
	return fmt.Sprintf("cannot be read: the registry answers %d", code)
}

// sayNetwork says why there is no answer. The words of the error itself have ports in
// them that are different each time, and are left out where that is known.
func sayNetwork(err error) string {
	var dns *net.DNSError
	var operation *net.OpError
	var n net.Error
	switch {
	case isCertificate(err):
		return `is in a registry with a certificate that is not trusted; put the CA into the key "cert" of the Secret of spec.oci.caCertSecretRef (` + certificateWords(err) + ")"
	case errors.As(err, &dns):
		return "is in a registry whose host is not known; correct spec.oci.image, or check the name server"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "cannot be pulled: the disk of Holdfast is full; give its volume for sources more room"
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return "broke off while it was read; it is asked again soon"
	case errors.As(err, &operation), errors.As(err, &n):
		return "cannot be reached; check the registry, the network and spec.oci.image"
	}
	return fmt.Sprintf("cannot be read: %v", err)
}

// certificateWords are those of the innermost error, which is about the certificate
// alone.
func certificateWords(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}
