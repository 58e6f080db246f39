import { closeSync, constants, openSync, writeSync } from "node:fs";
import { Secret } from "../../core/util/secret.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log, LogFields, LogLevel } from "../../ports/log.ts";

/** Characters of one line; a longer one is cut and says so. Bounds what a hostile peer can write to the disk per event. */
const MAX_LINE = 8_192;
/** Characters kept of one text value. */
const MAX_TEXT = 2_048;
/** Nesting, and members of one object or array, that are printed. */
const MAX_DEPTH = 6;
const MAX_MEMBERS = 64;

const ORDER: { readonly [L in LogLevel]: number } = { debug: 0, info: 1, warn: 2, error: 3 };

/** Keys whose value is never printed, whatever its type: the second line of defence behind `Secret`. */
const SECRET_KEY = /pass(word|phrase)|userpass|secret(?!_?hash)|mnemonic|priv_?key|seed_?phrase|\bwif\b|credential/i;

/** Plain JSON of any value: bounded in depth, width and length; bigint as text, bytes as hex, errors with their cause. */
function toPlain(value: unknown, depth: number): unknown {
  if (value instanceof Secret) return value.toJSON();
  if (typeof value === "bigint") return value.toString();
  if (typeof value === "string") return value.length > MAX_TEXT ? `${value.slice(0, MAX_TEXT)}…` : value;
  if (typeof value === "function" || typeof value === "symbol") return `[${typeof value}]`;
  if (typeof value !== "object" || value === null) return value;
  if (depth >= MAX_DEPTH) return "[deeper]";
  if (value instanceof Uint8Array) return toPlain(Buffer.from(value.subarray(0, MAX_TEXT / 2)).toString("hex"), depth);
  if (value instanceof Error) {
    const plain = { ...value, name: value.name, message: value.message };
    return toPlain(value.cause === undefined ? plain : { ...plain, cause: value.cause }, depth);
  }
  if (Array.isArray(value)) return value.slice(0, MAX_MEMBERS).map((v) => toPlain(v, depth + 1));
  if (value instanceof Map) return toPlain(Object.fromEntries([...value].slice(0, MAX_MEMBERS)), depth);
  if (value instanceof Set) return toPlain([...value].slice(0, MAX_MEMBERS), depth);
  const out: { [key: string]: unknown } = {};
  for (const [key, v] of Object.entries(value).slice(0, MAX_MEMBERS))
    out[key] = SECRET_KEY.test(key) ? "[redacted]" : toPlain(v, depth + 1);
  return out;
}

/** One event as one line of JSON, without the newline. Pure. */
export function formatJsonLine(timeMs: number, level: LogLevel, event: string, fields: LogFields): string {
  const plain = toPlain(fields, 0);
  const line = JSON.stringify({ time: new Date(timeMs).toISOString(), level, event, ...(typeof plain === "object" ? plain : {}) });
  if (line.length <= MAX_LINE) return line;
  return JSON.stringify({ time: new Date(timeMs).toISOString(), level, event, cut: line.length, start: line.slice(0, MAX_LINE / 4) });
}

const COLOUR: { readonly [L in LogLevel]: string } = { debug: "\x1b[2m", info: "", warn: "\x1b[33m", error: "\x1b[31m" };

/** Control characters: a peer's text must not move the cursor of the person who reads it. */
const CONTROL = /\p{Cc}/gu;

/** The same for people: time, level, event, then `key=value`. Pure. */
export function formatHumanLine(timeMs: number, level: LogLevel, event: string, fields: LogFields): string {
  const plain = toPlain(fields, 0);
  const parts = Object.entries(typeof plain === "object" && plain !== null ? plain : {}).map(([key, value]) => {
    const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "undefined");
    return `${key}=${text}`;
  });
  const time = new Date(timeMs).toISOString().slice(11, 23);
  const line = `${time} ${level.padEnd(5)} ${event} ${parts.join(" ")}`.trimEnd().replaceAll(CONTROL, " ");
  const colour = COLOUR[level];
  const cut = line.length > MAX_LINE ? `${line.slice(0, MAX_LINE)}…` : line;
  return colour === "" ? cut : `${colour}${cut}\x1b[0m`;
}

export type LogSink = { readonly format: "json" | "human"; write(line: string): void };

/** A log that writes every event of `level` and above to each sink. A sink that fails loses the line, never the node. */
export function createLog(clock: Clock, level: LogLevel, sinks: readonly LogSink[], base: LogFields = {}): Log {
  const emit = (at: LogLevel, event: string, fields: LogFields = {}): void => {
    if (ORDER[at] < ORDER[level]) return;
    const all = { ...base, ...fields };
    for (const sink of sinks) {
      sink.write(`${(sink.format === "json" ? formatJsonLine : formatHumanLine)(clock.nowMs(), at, event, all)}\n`);
    }
  };
  return {
    debug: (event, fields) => emit("debug", event, fields),
    info: (event, fields) => emit("info", event, fields),
    warn: (event, fields) => emit("warn", event, fields),
    error: (event, fields) => emit("error", event, fields),
    child: (fields) => createLog(clock, level, sinks, { ...base, ...fields }),
  };
}

export type FileSink = LogSink & {
  /** Goes on in a file of the same name: log rotation has given the one there was another. Throws, and goes on in that, where it cannot be opened. */
  reopen(): void;
  close(): void;
};

/** Never waits: a pipe has no reader for now, or one that stands still. */
const openToAppend = (path: string): number =>
  openSync(path, constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK, 0o600);

/**
 * Appends to the file of `MM_LOG`, mode 0600. The name must end in `.log` (reference rpc.md 2.1).
 * Throws when the name is wrong or the file cannot be opened.
 */
export function openFileSink(path: string): FileSink {
  if (!path.endsWith(".log")) throw new Error(`MM_LOG: the name of the log file must end in .log: ${path}`);
  let file: number | null = openToAppend(path);
  let lost = 0;
  return {
    format: "json",
    write(line) {
      if (file === null) return;
      try {
        if (lost > 0) writeSync(file, `{"level":"warn","event":"log_lines_lost","count":${lost}}\n`);
        writeSync(file, line);
        lost = 0;
      } catch {
        // A full disk must not stop a swap: the line is also on standard error, and the gap is told when there is space.
        lost++;
      }
    },
    reopen() {
      if (file === null) return;
      const before = file;
      file = openToAppend(path);
      closeSync(before);
    },
    close() {
      if (file !== null) closeSync(file);
      file = null;
    },
  };
}
