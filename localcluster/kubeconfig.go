// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// contextName is the name of the one context in every kubeconfig written here.
const contextName = "holdfast-local"

// writeKubeconfig writes to path a kubeconfig, readable by its owner only, for the user whose
// certificate and key are the files cert and key of the PKI folder. They are embedded, so that the
// file can be copied elsewhere.
func writeKubeconfig(path, server, pki, cert, key string) error {
	content := map[string][]byte{}
	for _, name := range []string{serverCA, cert, key} {
		data, err := os.ReadFile(filepath.Join(pki, name))
		if err != nil {
			return fmt.Errorf("read the PKI: %w", err)
		}
		content[name] = data
	}

	config := api.NewConfig()
	config.Clusters[contextName] = &api.Cluster{Server: server, CertificateAuthorityData: content[serverCA]}
	config.AuthInfos[contextName] = &api.AuthInfo{ClientCertificateData: content[cert], ClientKeyData: content[key]}
	config.Contexts[contextName] = &api.Context{Cluster: contextName, AuthInfo: contextName}
	config.CurrentContext = contextName
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return fmt.Errorf("write a kubeconfig: %w", err)
	}
	return nil
}
