import type { Fault } from "./faults.ts";

/** A fault in one line: what, whom, how long. */
export function describeFault(fault: Fault): string {
  const { id, kind, atMs, envelope, ...rest } = fault;
  const details = Object.entries(rest)
    .filter(([, value]) => value !== null)
    .map(([key, value]) => `${key} ${typeof value === "object" ? JSON.stringify(value) : String(value)}`);
  return `#${id} ${kind} at ${Math.round(atMs / 1_000)} s (${envelope}): ${details.join(", ")}`;
}
