import type { Log, LogFields } from "../../src/ports/log.ts";

/** Lines kept; the oldest go. */
const KEPT = 300;

/** The last things a node said, for the message of a failing test. Debug lines are dropped. */
export class SimLog implements Log {
  readonly #lines: string[];
  readonly #prefix: () => string;
  readonly #bound: LogFields;

  constructor(prefix: () => string, lines: string[] = [], bound: LogFields = {}) {
    this.#prefix = prefix;
    this.#lines = lines;
    this.#bound = bound;
  }

  get lines(): readonly string[] {
    return this.#lines;
  }

  #note(level: string, event: string, fields: LogFields = {}): void {
    const text = JSON.stringify({ ...this.#bound, ...fields }, (_k, v: unknown) =>
      typeof v === "bigint" ? `${v}` : v instanceof Error ? String(v) : v,
    );
    this.#lines.push(`${this.#prefix()} ${level} ${event} ${text}`);
    if (this.#lines.length > KEPT) this.#lines.shift();
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
