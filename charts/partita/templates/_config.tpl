{{- /* config.yaml of the agent: what the chart's values say, and `agent` over it. */ -}}
{{- define "partita.config" -}}
{{- $host := "/host" }}
{{- $node := dict "hostRoot" $host "driverRoot" (.Values.nvidiaDriverRoot | default "/" | trimSuffix "/" | printf "%s%s" $host) }}
{{- with .Values.nvidiaDevRoot }}
{{- $_ := set $node "devRoot" (trimSuffix "/" . | printf "%s%s" $host) }}
{{- end }}
{{- if ne .Values.kubeletRoot "/var/lib/kubelet" }}
{{- $_ := set $node "kubeletRoot" .Values.kubeletRoot }}
{{- end }}
{{- $config := dict "version" "partita/v1" "node" $node "toolkit" (dict "installDir" .Values.toolkit.installDir) }}

{{- $plugin := dict }}
{{- if not .Values.devicePlugin.enabled }}
{{- $_ := set $plugin "enabled" false }}
{{- else if include "partita.configs" . }}
{{- $_ := set $plugin "configMap" (printf "%s/%s" (include "partita.namespace" .) (include "partita.configs" .)) }}
{{- $_ := set $plugin "fallback" .Values.config.fallbackStrategies }}
{{- if .Values.config.default }}
{{- $_ := set $plugin "default" .Values.config.default }}
{{- end }}
{{- else }}
{{- $flags := dict "migStrategy" "single" }}
{{- $inner := dict }}
{{- range $word, $key := fromYaml (include "partita.pluginWords" .) }}
{{- $said := get $.Values $word }}
{{- if include "partita.said" (dict "values" $.Values "path" $word) }}
{{- if and (kindIs "string" $said) (contains "," $said) }}
{{- $said = splitList "," $said }}
{{- end }}
{{- if hasPrefix "plugin." $key }}
{{- $_ := set $inner (trimPrefix "plugin." $key) $said }}
{{- else }}
{{- $_ := set $flags $key $said }}
{{- end }}
{{- end }}
{{- end }}
{{- if $inner }}
{{- $_ := set $flags "plugin" $inner }}
{{- end }}
{{- $_ := set $plugin "config" (dict "version" "v1" "flags" $flags) }}
{{- end }}
{{- $_ := set $config "devicePlugin" $plugin }}
{{- with .Values.mig.default }}
{{- $_ := set $config "mig" (dict "default" .) }}
{{- end }}
{{- if .Values.mps.enabled }}
{{- $_ := set $config "mps" (dict "runner" "pod" "root" .Values.mps.root) }}
{{- end }}
{{- /* Also where it is the agent's own default, over which a configuration of the device plugin's counts. */}}
{{- $_ := set $config "labels" (dict "backend" (include "partita.labelsBackend" .)) }}
{{- if .Values.taints.enabled }}
{{- $_ := set $config "taints" (pick .Values.taints "enabled" "key" "value") }}
{{- end }}
{{- toYaml (mergeOverwrite $config (deepCopy .Values.agent)) }}
{{- end }}

{{- /* Where labels go, by the agent's words: without a cluster only a file is left. */ -}}
{{- define "partita.labelsBackend" -}}
{{- if not .Values.labels.enabled -}}
none
{{- else if or .Values.cluster.enabled (eq .Values.labels.backend "file") -}}
{{ .Values.labels.backend }}
{{- else -}}
none
{{- end }}
{{- end }}

{{- /* Of config.yaml, what another value of needs another process. */ -}}
{{- define "partita.forLife" -}}
{{- $config := fromYaml (include "partita.config" .) }}
{{- $read := list $config.node $config.toolkit }}
{{- if .Values.mps.enabled }}
{{- $read = append $read .Values.mps.root }}
{{- end }}
{{- toJson $read }}
{{- end }}
