// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hns

import (
	"context"
	"fmt"
	"io"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/rest"
)

const (
	// asTable asks the API server for the columns that kubectl shows, and takes
	// plain objects from one that cannot make them.
	asTable = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"

	// pageSize is how many objects are asked for at once.
	pageSize = 500
)

// tables reads the objects of one kind as tables.
type tables struct {
	client   rest.Interface
	resource string
}

func (c *client) tables(r schema.GroupVersionResource) (*tables, error) {
	config, err := c.Config()
	if err != nil {
		return nil, err
	}
	config.APIPath = "/apis"
	if r.Group == "" {
		config.APIPath = "/api"
	}
	gv := r.GroupVersion()
	config.ContentConfig = resource.UnstructuredPlusDefaultContentConfig()
	config.GroupVersion = &gv
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, err
	}
	return &tables{client: client, resource: r.Resource}, nil
}

// request is for a namespace, or for all if that is empty.
func (t *tables) request(namespace string, o metav1.ListOptions) *rest.Request {
	return t.client.Get().
		NamespaceIfScoped(namespace, namespace != "").
		Resource(t.resource).
		VersionedParams(&o, metav1.ParameterCodec).
		SetHeader("Accept", asTable)
}

// list reads all objects of a namespace.
func (t *tables) list(ctx context.Context, namespace string) (*metav1.Table, error) {
	first, err := t.page(ctx, namespace, metav1.ListOptions{Limit: pageSize})
	if err != nil {
		return nil, err
	}
	return t.rest(ctx, namespace, first)
}

// rest adds the pages after the first to it.
func (t *tables) rest(ctx context.Context, namespace string, first *metav1.Table) (*metav1.Table, error) {
	whole := *first
	for whole.Continue != "" {
		next, err := t.page(ctx, namespace, metav1.ListOptions{Limit: pageSize, Continue: whole.Continue})
		if apierrors.IsResourceExpired(err) {
			// It took too long: all at once.
			return t.page(ctx, namespace, metav1.ListOptions{})
		}
		if err != nil {
			return nil, err
		}
		whole.Rows = append(whole.Rows, next.Rows...)
		whole.ListMeta = next.ListMeta
	}
	return &whole, nil
}

func (t *tables) page(ctx context.Context, namespace string, o metav1.ListOptions) (*metav1.Table, error) {
	answer := t.request(namespace, o).Do(ctx)
	if err := answer.Error(); err != nil {
		return nil, err // with what the API server says; Raw would not
	}
	data, err := answer.Raw()
	if err != nil {
		return nil, err
	}
	return decodeTable(data, time.Now())
}

func (t *tables) watchFrom(ctx context.Context, version, namespace string) (watch.Interface, error) {
	return t.request(namespace, metav1.ListOptions{Watch: true, ResourceVersion: version}).Watch(ctx)
}

// decodeTable reads a table; of plain objects, as some extension API servers have
// them, it makes one of name and age.
func decodeTable(data []byte, now time.Time) (*metav1.Table, error) {
	t := &metav1.Table{}
	if err := json.Unmarshal(data, t); err != nil {
		return nil, fmt.Errorf("read the API server's answer: %w", err)
	}
	if t.Kind != "Table" {
		var list metav1.PartialObjectMetadataList
		if err := json.Unmarshal(data, &list); err != nil {
			return nil, fmt.Errorf("read the API server's answer: %w", err)
		}
		return plainTable(&list, now), nil
	}
	for i := range t.Rows {
		m := &metav1.PartialObjectMetadata{}
		if err := json.Unmarshal(t.Rows[i].Object.Raw, m); err != nil {
			return nil, fmt.Errorf("read the API server's answer: %w", err)
		}
		t.Rows[i].Object.Object = m
	}
	return t, nil
}

// eventRows are the rows of an event of a watch.
func eventRows(o runtime.Object, now time.Time) ([]metav1.TableRow, error) {
	served, ok := o.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("the API server answered with %T", o)
	}
	if served.GetKind() != "Table" {
		m, err := decode[metav1.PartialObjectMetadata](served)
		if err != nil {
			return nil, err
		}
		return []metav1.TableRow{plainRow(m, now)}, nil
	}
	data, err := served.MarshalJSON()
	if err != nil {
		return nil, err
	}
	t, err := decodeTable(data, now)
	if err != nil {
		return nil, err
	}
	return t.Rows, nil
}

// plainColumns are those of objects that come without any.
var plainColumns = []metav1.TableColumnDefinition{{Name: "Name", Type: "string", Format: "name"}, {Name: "Age", Type: "string"}}

func plainTable(list *metav1.PartialObjectMetadataList, now time.Time) *metav1.Table {
	t := &metav1.Table{ListMeta: list.ListMeta, ColumnDefinitions: plainColumns}
	for i := range list.Items {
		t.Rows = append(t.Rows, plainRow(&list.Items[i], now))
	}
	return t
}

func plainRow(m *metav1.PartialObjectMetadata, now time.Time) metav1.TableRow {
	age := "<unknown>"
	if !m.CreationTimestamp.IsZero() {
		age = duration.HumanDuration(now.Sub(m.CreationTimestamp.Time))
	}
	return metav1.TableRow{Cells: []any{m.Name, age}, Object: runtime.RawExtension{Object: m}}
}

// rowMeta is the metadata of the object in a row.
func rowMeta(r *metav1.TableRow) *metav1.PartialObjectMetadata {
	if m, ok := r.Object.Object.(*metav1.PartialObjectMetadata); ok {
		return m
	}
	return &metav1.PartialObjectMetadata{}
}

// tablePrinter prints rows as kubectl does, with their namespace, and the header
// once.
type tablePrinter struct {
	printer printers.ResourcePrinter
	// out remembers how wide the columns are.
	out interface {
		io.Writer
		Flush() error
	}
}

func newTablePrinter(out io.Writer) *tablePrinter {
	return &tablePrinter{
		printer: printers.NewTablePrinter(printers.PrintOptions{WithNamespace: true}),
		out:     printers.GetNewTabWriter(out),
	}
}

func (p *tablePrinter) print(columns []metav1.TableColumnDefinition, rows []metav1.TableRow) error {
	if err := p.printer.PrintObj(&metav1.Table{ColumnDefinitions: columns, Rows: rows}, p.out); err != nil {
		return err
	}
	return p.out.Flush()
}
