{{- define "partita.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "partita.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else if contains (include "partita.name" .) .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "partita.name" .) | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "partita.namespace" -}}
{{- .Values.namespaceOverride | default .Release.Namespace }}
{{- end }}

{{- define "partita.selectorLabels" -}}
{{- if .Values.selectorLabelsOverride }}
{{- toYaml .Values.selectorLabelsOverride }}
{{- else -}}
app.kubernetes.io/name: {{ include "partita.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- end }}

{{- /* Those of the agent's pods are none of these, and the other way round. */ -}}
{{- define "partita.runnerLabels" -}}
app.kubernetes.io/name: {{ include "partita.name" . | trunc 52 | trimSuffix "-" }}-mps-runner
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "partita.labels" -}}
app.kubernetes.io/name: {{ include "partita.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}

{{- define "partita.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- /* The ConfigMap with the device plugin's configurations; empty: there are none by name. */ -}}
{{- define "partita.configs" -}}
{{- if .Values.config.name }}
{{- .Values.config.name }}
{{- else if .Values.config.map }}
{{- include "partita.fullname" . }}-configs
{{- end }}
{{- end }}

{{- /* Keys of taints that are the agent's, as a list of CEL. */ -}}
{{- define "partita.taintKeys" -}}
{{- $former := .Values.taints.formerKeys | default list -}}
{{- $keys := concat (list .Values.taints.key) $former (list "partita.dev/agent-not-ready") | uniq -}}
["{{ join "\", \"" $keys }}"]
{{- end }}
