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

{{- /* Keys of taints that are the agent's, as a list of CEL and of JSON. */ -}}
{{- define "partita.taintKeys" -}}
{{- $former := .Values.taints.formerKeys | default list -}}
{{- $keys := concat (list .Values.taints.key) $former (list "partita.dev/agent-not-ready") | uniq -}}
["{{ join "\", \"" $keys }}"]
{{- end }}

{{- /* Of every pod of ours: what was given, and the taints that are the agent's to take away. A node would keep out the
agent after the one that tainted it, and nobody else ends those. */ -}}
{{- define "partita.tolerations" -}}
{{- $all := .Values.tolerations | default list }}
{{- range include "partita.taintKeys" . | fromJsonArray }}
{{- $own := dict "key" . "operator" "Exists" }}
{{- if not (or (has $own $all) (has (dict "operator" "Exists") $all)) }}
{{- $all = append $all $own }}
{{- end }}
{{- end }}
{{- toYaml $all }}
{{- end }}
