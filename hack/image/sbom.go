// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// document is the part of SPDX 2.3 that says which modules are in a binary.
type document struct {
	Version       string         `json:"spdxVersion"`
	License       string         `json:"dataLicense"`
	ID            string         `json:"SPDXID"`
	Name          string         `json:"name"`
	Namespace     string         `json:"documentNamespace"`
	Creation      creation       `json:"creationInfo"`
	Packages      []module       `json:"packages"`
	Relationships []relationship `json:"relationships"`
}

type creation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type module struct {
	ID        string     `json:"SPDXID"`
	Name      string     `json:"name"`
	Version   string     `json:"versionInfo,omitempty"`
	Location  string     `json:"downloadLocation"`
	Analyzed  bool       `json:"filesAnalyzed"`
	Reference []external `json:"externalRefs,omitempty"`
}

type external struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type relationship struct {
	Element string `json:"spdxElementId"`
	Type    string `json:"relationshipType"`
	Related string `json:"relatedSpdxElement"`
}

// sbomOf refers to the image, as registries and scanners look for it.
func sbomOf(image v1.Image, binary, name string) (v1.Image, error) {
	digest, err := image.Digest()
	if err != nil {
		return nil, err
	}
	text, err := describe(binary, name, digest)
	if err != nil {
		return nil, err
	}
	out := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), sbomType)
	if out, err = mutate.AppendLayers(out, static.NewLayer(text, sbomType)); err != nil {
		return nil, err
	}
	subject, err := partial.Descriptor(image)
	if err != nil {
		return nil, err
	}
	referring, ok := mutate.Subject(out, *subject).(v1.Image)
	if !ok {
		return nil, errors.New("what refers to an image is no image itself")
	}
	return referring, nil
}

// describe reads out of a binary what was built into it.
func describe(binary, name string, image v1.Hash) ([]byte, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	const root = "SPDXRef-DOCUMENT"
	d := document{
		Version: "SPDX-2.3", License: "CC0-1.0", ID: root, Name: name,
		Namespace: "https://github.com/holdfast-dev/holdfast/sbom/" + image.Hex,
		Creation:  creation{Created: "1970-01-01T00:00:00Z", Creators: []string{"Tool: holdfast/hack/image"}}, // no time, so that builds can be compared
	}
	add := func(path, version string) string {
		id := fmt.Sprintf("SPDXRef-Package-%d", len(d.Packages))
		d.Packages = append(d.Packages, module{
			ID: id, Name: path, Version: version, Location: "NOASSERTION",
			Reference: []external{{Category: "PACKAGE-MANAGER", Type: "purl", Locator: "pkg:golang/" + path + "@" + version}},
		})
		return id
	}
	main := add(info.Main.Path, info.Main.Version)
	d.Relationships = append(d.Relationships, relationship{root, "DESCRIBES", main})
	for _, dep := range info.Deps {
		if dep.Replace != nil {
			dep = dep.Replace
		}
		d.Relationships = append(d.Relationships, relationship{main, "DEPENDS_ON", add(dep.Path, dep.Version)})
	}
	d.Relationships = append(d.Relationships, relationship{main, "DEPENDS_ON", add("stdlib", info.GoVersion)})
	return json.MarshalIndent(d, "", " ")
}
