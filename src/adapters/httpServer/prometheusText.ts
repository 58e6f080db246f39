import type { Metric } from "../../ports/metrics.ts";

/** A label's value: backslash, quote and line end are escaped. */
const quoted = (value: string): string => `"${value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")}"`;

/** Prometheus' text format 0.0.4. Names have `_` where keys have dots and anything else Prometheus does not allow. */
export function prometheusText(metrics: readonly Metric[]): string {
  const lines: string[] = [];
  for (const { type, key, labels, value } of metrics) {
    const name = key.replace(/[^A-Za-z0-9_:]/g, "_");
    const pairs = Object.entries(labels).map(([label, text]) => `${label.replace(/\W/g, "_")}=${quoted(text)}`);
    const typeLine = `# TYPE ${name} ${type}`;
    if (!lines.includes(typeLine)) lines.push(typeLine);
    lines.push(`${name}${pairs.length > 0 ? `{${pairs.join(",")}}` : ""} ${value}`);
  }
  return `${lines.join("\n")}\n`;
}
