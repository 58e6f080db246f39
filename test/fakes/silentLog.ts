import type { Log, LogFields, LogLevel } from "../../src/ports/log.ts";

/** Prints nothing and remembers what was logged; children write into the same list. */
export class SilentLog implements Log {
  readonly lines: { readonly level: LogLevel; readonly event: string; readonly fields: LogFields }[];
  readonly #bound: LogFields;

  constructor(lines: SilentLog["lines"] = [], bound: LogFields = {}) {
    this.lines = lines;
    this.#bound = bound;
  }

  #note(level: LogLevel, event: string, fields: LogFields = {}): void {
    this.lines.push({ level, event, fields: { ...this.#bound, ...fields } });
  }

  debug(event: string, fields?: LogFields): void {
    this.#note("debug", event, fields);
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
    return new SilentLog(this.lines, { ...this.#bound, ...fields });
  }
}
