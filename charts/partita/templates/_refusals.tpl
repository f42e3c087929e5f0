{{- /* The value at a path of words, as YAML; empty: nobody said it. */ -}}
{{- define "partita.said" -}}
{{- $at := .values }}
{{- range $word := splitList "." .path }}
{{- if kindIs "map" $at }}
{{- $at = get $at $word }}
{{- else }}
{{- $at = "" }}
{{- end }}
{{- end }}
{{- if not (or (kindIs "invalid" $at) (and (kindIs "string" $at) (eq $at ""))) }}
{{- toYaml $at }}
{{- end }}
{{- end }}

{{- define "partita.refuse" -}}
{{- $problems := list }}
{{- range $row := .Files.Get "other-charts.yaml" | fromYamlArray }}
{{- range $value := splitList ", " $row.value }}
{{- $said := include "partita.said" (dict "values" $.Values "path" $value) }}
{{- if and $said (not (and (hasKey $row "harmless") (eq $said (toYaml $row.harmless)))) }}
{{- if $row.now }}
{{- $problems = append $problems (printf "%s (%s) is here: %s" $value $row.chart $row.now) }}
{{- else }}
{{- $problems = append $problems (printf "%s (%s) is refused: %s" $value $row.chart $row.means) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- $named := include "partita.configs" . }}
{{- if and .Values.config.name .Values.config.map }}
{{- $problems = append $problems "config.name and config.map: one of them, not both" }}
{{- end }}
{{- if and .Values.config.map .Values.config.default (not (hasKey .Values.config.map .Values.config.default)) }}
{{- $problems = append $problems (printf "config.default: config.map has no %q; it has: %s" .Values.config.default (keys .Values.config.map | sortAlpha | join ", ")) }}
{{- end }}
{{- if and .Values.config.default (not $named) }}
{{- $problems = append $problems "config.default: there are no configurations; give config.map or config.name" }}
{{- end }}
{{- if $named }}
{{- if not .Values.cluster.enabled }}
{{- $problems = append $problems "config.map and config.name need cluster.enabled=true: the node's label selects among them" }}
{{- end }}
{{- range $word, $key := fromYaml (include "partita.pluginWords" .) }}
{{- if include "partita.said" (dict "values" $.Values "path" $word) }}
{{- $problems = append $problems (printf "%s: write it into each of the configurations by name, as flags.%s" $word $key) }}
{{- end }}
{{- end }}
{{- end }}

{{- $taken := list "version" "node.hostRoot" "node.driverRoot" "node.devRoot" "node.kubeletRoot" "node.name" "node.kubeconfig" "toolkit" "mig.configFile" "mig.default" "mps.runner" "mps.root" "devicePlugin.enabled" "devicePlugin.config" "devicePlugin.configFile" "devicePlugin.configDir" "devicePlugin.configMap" "devicePlugin.default" "devicePlugin.fallback" "labels.backend" "taints.enabled" "taints.key" "taints.value" "taints.tolerationPolicy" "listen" }}
{{- $files := dict "agent" .Values.agent }}
{{- range $name, $overlay := .Values.overlays }}
{{- $_ := set $files (printf "overlays.%s" $name) $overlay }}
{{- end }}
{{- range $file, $values := $files }}
{{- range $taken }}
{{- if include "partita.said" (dict "values" $values "path" .) }}
{{- $problems = append $problems (printf "%s.%s is for the chart to say, by values of its own" $file .) }}
{{- end }}
{{- end }}
{{- end }}
{{- if and .Values.overlays (not .Values.cluster.enabled) }}
{{- $problems = append $problems "overlays need cluster.enabled=true: the node's label selects among them" }}
{{- end }}
{{- if and .Values.mig.default (not .Values.mig.config) }}
{{- $problems = append $problems "mig.default: there are no layouts; give mig.config" }}
{{- end }}
{{- if and .Values.taints.enabled (not .Values.cluster.enabled) }}
{{- $problems = append $problems "taints.enabled needs cluster.enabled=true" }}
{{- end }}

{{- if $problems }}
{{- fail (printf "\n\n%s\n" (join "\n" $problems)) }}
{{- end }}
{{- end }}

{{- /* Values that are words of the device plugin's configuration, and where they stand in it. */ -}}
{{- define "partita.pluginWords" -}}
migStrategy: migStrategy
deviceListStrategy: plugin.deviceListStrategy
deviceIDStrategy: plugin.deviceIDStrategy
compatWithCPUManager: plugin.passDeviceSpecs
gdrcopyEnabled: gdrcopyEnabled
gdsEnabled: gdsEnabled
mofedEnabled: mofedEnabled
{{- end }}
