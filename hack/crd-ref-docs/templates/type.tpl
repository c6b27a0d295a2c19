{{- define "type" -}}
{{- $type := . -}}
{{- if markdownShouldRenderType $type }}
## {{ $type.Name }}

{{ $type.Doc | trim }}
{{- if $type.References }}

Used in
{{- range $i, $ref := $type.SortedReferences }}{{ if $i }},{{ end }} {{ markdownRenderTypeLink $ref }}{{ end }}.
{{- end }}
{{ if $type.EnumValues }}
| Value | What it does |
| --- | --- |
{{ range $type.EnumValues -}}
| `{{ .Name }}` | {{ regexReplaceAll "^[A-Z][A-Za-z0-9]* " .Doc "" | replace "\n" " " | trim | markdownRenderFieldDoc }} |
{{ end -}}
{{- else if $type.Members }}
| Field | Type | What it is |
| --- | --- | --- |
{{ if $type.GVK -}}
| `apiVersion` | string | `{{ $type.GVK.Group }}/{{ $type.GVK.Version }}` |
| `kind` | string | `{{ $type.GVK.Kind }}` |
{{ end -}}
{{ range $type.Members -}}
| `{{ .Name }}` | {{ markdownRenderType .Type }} | {{ template "type_members" . }} |
{{ end -}}
{{- else if $type.Validation }}
{{ range $type.Validation -}}
- {{ . }}
{{ end -}}
{{- end -}}
{{- end -}}
{{- end -}}
