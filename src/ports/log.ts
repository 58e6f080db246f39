export type LogLevel = "debug" | "info" | "warn" | "error";
/** Plain data only. Secrets have the type `Secret` (core/util/secret.ts), whose JSON form is `[redacted]`. */
export type LogFields = { readonly [key: string]: unknown };

/** Structured log: an event name in snake_case and fields; never a sentence glued from values. */
export interface Log {
  debug(event: string, fields?: LogFields): void;
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
  /** A log that adds `fields` to every line. */
  child(fields: LogFields): Log;
}
