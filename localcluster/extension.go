// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/x509/pkix"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apiserver/pkg/storage/storagebackend"

	"github.com/holdfast-dev/holdfast/localcluster/extension"
)

const extensionUsage = `Run an extension API server for a cluster that runs on this machine.

It serves the kind Flunder in version v1 of a group. When it is ready a line of JSON on standard output
tells what an APIService needs. It ends when standard input does, and its objects with it.

Usage:
  localcluster extension --dir DIR --group GROUP --service NAMESPACE/NAME [flags]

Flags:
`

// extensionOptions are the flags of the extension command.
type extensionOptions struct {
	dir, group, service string
	admission           bool
}

// extensionStatus is the line that the extension command prints.
type extensionStatus struct {
	Host     string `json:"host"`
	Port     int    `json:"port"`
	CABundle []byte `json:"caBundle"`
}

func parseExtensionOptions(args []string) (extensionOptions, error) {
	var o extensionOptions
	flags := pflag.NewFlagSet("localcluster extension", pflag.ContinueOnError)
	flags.StringVar(&o.dir, "dir", "", "folder of the cluster")
	flags.StringVar(&o.group, "group", "", "API group to serve")
	flags.StringVar(&o.service, "service", "", "namespace/name of the service that the APIService names")
	flags.BoolVar(&o.admission, "admission", false, "run the admission plugins, with the cluster's policies and webhooks")
	flags.Usage = func() { write(os.Stderr, extensionUsage+flags.FlagUsages()) }
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if o.dir == "" || o.group == "" || strings.Count(o.service, "/") != 1 {
		return o, errors.New("--dir, --group and --service NAMESPACE/NAME are required")
	}
	return o, nil
}

// serverName is the name that the API server expects in the certificate of an extension API server.
func (o extensionOptions) serverName() string {
	namespace, name, _ := strings.Cut(o.service, "/")
	return name + "." + namespace + ".svc"
}

// extensionCommand runs an extension API server until its standard input ends and returns the exit code.
func extensionCommand(args []string) int {
	o, err := parseExtensionOptions(args)
	if errors.Is(err, pflag.ErrHelp) {
		return 0
	}
	progress := log.New(os.Stderr, "localcluster: ", 0)
	if err != nil {
		progress.Print(err)
		return 2
	}
	ended := make(chan error, 1)
	go func() { ended <- runExtension(context.Background(), o, os.Stdout) }()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // an input that cannot be read has ended, too
		ended <- nil
	}()
	// An end in order would wait for the watches, and there is nothing that it would save.
	if err := <-ended; err != nil {
		progress.Print(err)
		return 1
	}
	return 0
}

func runExtension(ctx context.Context, o extensionOptions, stdout io.Writer) error {
	files := layout{o.dir}
	p, err := readPorts(files.ports())
	if err != nil {
		return err
	}
	authority, err := newAuthority("holdfast-local-extension-ca")
	if err != nil {
		return err
	}
	cert, key, err := authority.issue(pkix.Name{CommonName: o.serverName()}, o.serverName())
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", address(0))
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	at := listener.Addr().(*net.TCPAddr)
	line, err := json.Marshal(extensionStatus{Host: at.IP.String(), Port: at.Port, CABundle: encodeCertificate(authority.cert.Raw)})
	if err != nil {
		return fmt.Errorf("encode the state: %w", err)
	}
	return extension.Run(ctx, extension.Options{
		Group:      o.group,
		Admission:  o.admission,
		Kubeconfig: files.adminKubeconfig(),
		Etcd: storagebackend.TransportConfig{
			ServerList:    []string{"https://" + address(p.Etcd)},
			CertFile:      files.key(etcdClientCert),
			KeyFile:       files.key(etcdClientKey),
			TrustedCAFile: files.key(serverCA),
		},
		// Each run has its own objects, as if they had been in memory.
		Prefix:   "/extension/" + string(uuid.NewUUID()),
		Listener: listener,
		Cert:     cert,
		Key:      key,
		Ready:    func() { write(stdout, string(line)+"\n") },
	})
}
