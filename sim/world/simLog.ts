import type { Log, LogFields } from "../../src/ports/log.ts";

/** Lines kept; the oldest go. */
const KEPT = 300;

type Line = { readonly head: string; readonly bound: LogFields; readonly fields: LogFields };

function lineText({ head, bound, fields }: Line): string {
  const text = JSON.stringify({ ...bound, ...fields }, (_k, v: unknown) =>
    typeof v === "bigint" ? `${v}` : v instanceof Error ? String(v) : v,
  );
  return `${head} ${text}`;
}

/** The last things a node said, for the message of a failing test. Debug lines are dropped. */
export class SimLog implements Log {
  readonly #lines: Line[];
  readonly #prefix: () => string;
  readonly #bound: LogFields;

  constructor(prefix: () => string, lines: Line[] = [], bound: LogFields = {}) {
    this.#prefix = prefix;
    this.#lines = lines;
    this.#bound = bound;
  }

  /** Written out only here: most lines are never asked for. */
  get lines(): readonly string[] {
    return this.#lines.slice(-KEPT).map(lineText);
  }

  #note(level: string, event: string, fields: LogFields = {}): void {
    this.#lines.push({ head: `${this.#prefix()} ${level} ${event}`, bound: this.#bound, fields });
    // Not one at a time: each would move all others.
    if (this.#lines.length > 2 * KEPT) this.#lines.splice(0, KEPT);
  }

  debug(): void {
    return;
  }
  info(event: string, fields?: LogFields): void {
    this.#note("info", event, fields);
  }
  warn(event: string, fields?: LogFields): void {
    this.#note("warn", event, fields);
  }
  error(event: string, fields?: LogFields): void {
    this.#note("error", event, fields);
  }
  child(fields: LogFields): Log {
    return new SimLog(this.#prefix, this.#lines, { ...this.#bound, ...fields });
  }
}
