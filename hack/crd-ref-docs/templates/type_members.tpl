{{- define "type_members" -}}
{{- $field := . -}}
{{- if eq $field.Name "metadata" -}}
Standard object metadata.
{{- else -}}
{{ $field.Doc | trim | replace "\n\n" "<br />" | replace "\n" " " | markdownRenderFieldDoc }}
{{- end -}}
{{- with $field.Default }} Default: `{{ . }}`.{{ end -}}
{{- range $field.Validation -}}
{{- if hasPrefix "Required:" . }} Required.
{{- else if hasPrefix "Optional:" . -}}
{{- else if and (hasPrefix "Enum:" .) $field.Type.EnumValues -}}
{{- else }} {{ markdownRenderFieldDoc . }}.
{{- end -}}
{{- end -}}
{{- end -}}
