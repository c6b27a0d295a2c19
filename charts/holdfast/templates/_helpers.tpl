{{- /* The mode of a feature: (list . "deletion" "Enforce"), the last the default of the configuration. */ -}}
{{- define "holdfast.mode" -}}
{{- $root := index . 0 -}}
{{- $feature := index $root.Values.configuration (index . 1) | default dict -}}
{{- $feature.mode | default (index . 2) -}}
{{- end -}}

{{- /* The configuration, as it goes into the ConfigMap. */ -}}
{{- define "holdfast.configuration" -}}
{{- $c := deepCopy .Values.configuration -}}
{{- if .Values.certManager.enabled -}}
{{- $c = mergeOverwrite $c (dict "certificates" (dict "provider" "Secret")) -}}
{{- end -}}
{{- if .Values.webhookClients.configMap -}}
{{- $clients := dict "caFile" (include "holdfast.webhookClients" .) -}}
{{- with .Values.webhookClients.commonNames -}}{{- $_ := set $clients "commonNames" . -}}{{- end -}}
{{- $c = mergeOverwrite $c (dict "admission" (dict "webhookClients" $clients)) -}}
{{- end -}}
{{- if $c -}}
{{- toYaml (merge $c (dict "apiVersion" "config.holdfast.dev/v1alpha1" "kind" "HoldfastConfiguration")) -}}
{{- end -}}
{{- end -}}

{{- /* Where the guard has the authorities of the webhooks' clients. */ -}}
{{- define "holdfast.webhookClients" -}}/etc/holdfast/webhook-clients/ca.crt{{- end -}}

{{- define "holdfast.secretName" -}}
{{- $certificates := .Values.configuration.certificates | default dict -}}
{{- $certificates.secretName | default "holdfast-guard-tls" -}}
{{- end -}}

{{- /* "yes" if something else keeps the Secret of the certificate. */ -}}
{{- define "holdfast.foreignSecret" -}}
{{- $certificates := .Values.configuration.certificates | default dict -}}
{{- if or .Values.certManager.enabled (eq ($certificates.provider | default "Holdfast") "Secret") -}}yes{{- end -}}
{{- end -}}

{{- /* The names of a scope, as JSON, if it is a list of exact names and nothing else; otherwise nothing. */ -}}
{{- define "holdfast.exactNames" -}}
{{- $names := list -}}
{{- $exact := true -}}
{{- range (. | default dict).namespaces -}}
{{- $name := trim (toString .) -}}
{{- if regexMatch "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$" $name -}}
{{- $names = append $names $name -}}
{{- else if $name -}}
{{- $exact = false -}}
{{- end -}}
{{- end -}}
{{- if and $exact $names -}}{{- $names | uniq | toJson -}}{{- end -}}
{{- end -}}

{{- /* The namespaces whose evictions are guarded, as JSON, if either scope is a list of exact names. */ -}}
{{- define "holdfast.evictionNames" -}}
{{- $eviction := .Values.configuration.eviction | default dict -}}
{{- $own := include "holdfast.exactNames" $eviction.scope -}}
{{- $global := include "holdfast.exactNames" .Values.configuration.scope -}}
{{- if and $own $global -}}
{{- $both := list -}}
{{- range fromJsonArray $own -}}
{{- if has . (fromJsonArray $global) -}}{{- $both = append $both . -}}{{- end -}}
{{- end -}}
{{- $both | toJson -}}
{{- else -}}
{{- $own | default $global -}}
{{- end -}}
{{- end -}}

{{- /* (list . "guard") */ -}}
{{- define "holdfast.image" -}}
{{- $root := index . 0 -}}
{{- $own := dict -}}
{{- if eq (index . 1) "sync" -}}{{- $own = $root.Values.sync.image -}}{{- end -}}
{{- $image := mergeOverwrite (deepCopy $root.Values.image) $own -}}
{{- if $image.digest -}}
{{- $image.repository }}@{{ $image.digest -}}
{{- else -}}
{{- $image.repository }}:{{ $image.tag | default $root.Chart.AppVersion -}}
{{- end -}}
{{- end -}}

{{- define "holdfast.selector" -}}
app.kubernetes.io/name: holdfast
app.kubernetes.io/component: {{ . }}
{{- end -}}

{{- define "holdfast.labels" -}}
{{ include "holdfast.selector" . }}
app.kubernetes.io/part-of: holdfast
{{- end -}}

{{- /* The binding of a ClusterRole to the identity of a workload: (list . "role" "account"). */ -}}
{{- define "holdfast.clusterRoleBinding" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ index . 1 }}
  labels:
    app.kubernetes.io/part-of: holdfast
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ index . 1 }}
subjects:
- kind: ServiceAccount
  name: {{ index . 2 }}
  namespace: {{ (index . 0).Release.Namespace }}
{{- end -}}

{{- /* The same of a Role in a namespace: (list . "role" "account" "namespace"). */ -}}
{{- define "holdfast.roleBinding" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ index . 1 }}
  namespace: {{ index . 3 }}
  labels:
    app.kubernetes.io/part-of: holdfast
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ index . 1 }}
subjects:
- kind: ServiceAccount
  name: {{ index . 2 }}
  namespace: {{ (index . 0).Release.Namespace }}
{{- end -}}

{{- /* The part of a pod that both workloads have in common: (list . "guard"). */ -}}
{{- define "holdfast.pod" -}}
{{- $root := index . 0 -}}
{{- $name := index . 1 -}}
{{- $w := index $root.Values $name -}}
serviceAccountName: holdfast-{{ $name }}
{{- with $root.Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $root.Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile:
    type: RuntimeDefault
topologySpreadConstraints:
{{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
- maxSkew: 1
  topologyKey: {{ . }}
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels: {{- include "holdfast.selector" $name | nindent 6 }}
  matchLabelKeys: [pod-template-hash]
{{- end }}
{{- with $w.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $w.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $w.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* The part of a container that both workloads have in common: (list . "guard"). */ -}}
{{- define "holdfast.container" -}}
{{- $root := index . 0 -}}
{{- $w := index $root.Values (index . 1) -}}
image: {{ include "holdfast.image" . }}
imagePullPolicy: {{ $root.Values.image.pullPolicy }}
{{- with $w.env }}
env: {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
# The start waits up to a minute for the API server, before anything is served.
startupProbe:
  httpGet: {path: /healthz, port: probes}
  periodSeconds: 2
  failureThreshold: 60
livenessProbe:
  httpGet: {path: /healthz, port: probes}
  periodSeconds: 10
  timeoutSeconds: 5
readinessProbe:
  httpGet: {path: /readyz, port: probes}
  periodSeconds: 5
  timeoutSeconds: 5
# Who still has its address from before it went out of service is answered.
lifecycle:
  preStop:
    sleep: {seconds: 5}
{{- with $w.resources }}
resources: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* What the guard for evictions may do with pods, wherever that is. */ -}}
{{- define "holdfast.evictionRules" }}
- apiGroups: [""]
  resources: [pods]
  verbs: [get, patch]
# For eviction.pods: Cached, and to count what EvictionPolicies hold.
- apiGroups: [""]
  resources: [pods]
  verbs: [list, watch]
{{- $gates := .Values.configuration.featureGates | default dict }}
{{- if $gates.EvictionRequestResponder }}
# For the feature gate EvictionRequestResponder.
- apiGroups: [lifecycle.k8s.io]
  resources: [evictions]
  verbs: [get, list, watch]
- apiGroups: [lifecycle.k8s.io]
  resources: [evictions/status]
  verbs: [patch]
{{- end }}
{{- end -}}
