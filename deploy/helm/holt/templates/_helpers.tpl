{{- define "holt.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 52 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 52 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "holt.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "holt.labels" -}}
{{ include "holt.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "holt.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (ternary (include "holt.name" .) "default" .Values.serviceAccount.create) }}
{{- end }}

{{/* Setting → reference to the secret with its value. */}}
{{- define "holt.secretFiles" -}}
{{- $files := deepCopy .Values.secretFiles }}
{{- with .Values.database.urlSecret }}{{ if .name }}{{ $_ := set $files "HOLT_DATABASE_URL" . }}{{ end }}{{ end }}
{{- toJson $files }}
{{- end }}

{{/* The port serves https if it has a certificate. */}}
{{- define "holt.scheme" -}}
{{- ternary "https" "http" (hasKey .Values.settings "HOLT_TLS_CERT") }}
{{- end }}
