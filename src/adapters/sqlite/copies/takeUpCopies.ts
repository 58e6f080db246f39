import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import type { SqlDatabase, SqlRow, SqlStatement } from "../../../ports/sql.ts";
import { eventToText, parseEventText } from "../storedEvent.ts";
import { couldPayAgain, cutText, HELD, isCutText, listFromLog } from "../swapLogs.ts";
import { type CopiedLog, CopyReader, MAX_LINE } from "./copyText.ts";

/** What was found of a swap in its copy, or of the file as a whole. */
export type CopyNote =
  | { readonly kind: "taken_up"; readonly uuid: string; readonly events: number }
  /** The copy cannot serve: it stays aside, the database's own record counts. */
  | { readonly kind: "not_used"; readonly uuid: string | null; readonly detail: string };

type Whole = Extract<CopiedLog, { whole: true }>;

/** A larger file is none of ours: thousands of open swaps take a tenth of it. */
const MAX_BYTES = 1024 ** 3;
/**
 * The lines of a file, without one that its break is missing from: it was being written, and nobody acted on it. One beyond `MAX_LINE` comes
 * empty. A break is a line feed and nothing else: what backends said stands in records as they said it, with every other sign that ends lines.
 */
async function* linesOf(path: string): AsyncGenerator<string> {
  let begun = "";
  for await (const chunk of createReadStream(path, "utf8")) {
    for (const [breaks, part] of String(chunk).split("\n").entries()) {
      if (breaks > 0) {
        yield begun.length > MAX_LINE ? "" : begun;
        begun = "";
      }
      // Long enough to be seen as too long, and not much longer.
      if (begun.length <= MAX_LINE) begun += part;
    }
  }
}

/** Reads a copy. Rejects with the system's error. */
export async function readCopies(path: string): Promise<CopyReader> {
  if ((await stat(path)).size > MAX_BYTES) throw new Error("it is larger than any of ours");
  const reader = new CopyReader();
  for await (const line of linesOf(path)) reader.take(line);
  return reader;
}

const rowsToTexts = (rows: readonly SqlRow[]): readonly string[] => rows.map((row) => String(row.event));

/** A record without what `data accept` or `data repair` put at its end. */
function withoutCut(texts: readonly string[]): readonly string[] {
  const last = texts.at(-1);
  return last !== undefined && (last === HELD || isCutText(last)) ? texts.slice(0, -1) : texts;
}

/** As it is written now: a row that an earlier version stored has no check sum, its line in the copy has one. */
function withSum(text: string): string {
  const parsed = parseEventText(text);
  return parsed.ok ? eventToText(parsed.value) : text;
}

function isBeginning(texts: readonly string[], copy: readonly string[]): boolean {
  return texts.length <= copy.length && texts.every((text, seq) => text === copy[seq] || withSum(text) === copy[seq]);
}

/**
 * What a record lacks of its copy, as statements; null: nothing. What is taken from a copy pays nothing of which the copy does not say
 * that it may have left, as after `data accept` (docs/adr/0042): the copy itself may be an old one.
 */
function missingFrom(uuid: string, stored: readonly string[], isListed: boolean, copy: Whole): readonly SqlStatement[] | "differs" | null {
  const known = isBeginning(stored, copy.texts) ? stored : withoutCut(stored);
  if (!isBeginning(known, copy.texts)) return isBeginning(copy.texts, stored.map(withSum)) ? null : "differs";
  if (known.length === copy.texts.length) return null;
  // Ended elsewhere: listed, without a record of its own.
  if (known.length === 0 && isListed) return "differs";
  const mustBeCut = couldPayAgain(copy.state) && !copy.texts.some(isCutText);
  // Nothing was paid, and nobody could tell its payment from another.
  if (mustBeCut && !copy.state.negotiated) return null;
  const texts = mustBeCut ? [...copy.texts, cutText(copy.events)] : copy.texts;
  return [
    { sql: "DELETE FROM swap_events WHERE uuid = ? AND seq >= ?", params: [uuid, known.length] },
    ...texts.slice(known.length).map((text, i) => ({
      sql: "INSERT INTO swap_events (uuid, seq, event) VALUES (?, ?, ?)",
      params: [uuid, known.length + i, text],
    })),
    ...listFromLog(uuid, copy.events, copy.state.finished !== null),
    { sql: "UPDATE swaps SET settled = 0 WHERE uuid = ?", params: [uuid] },
  ];
}

/**
 * Puts into the database what it lacks of the swaps in a copy: whole swaps, and ends of records. To be called before anything is made of the
 * stored swaps. Rejects with `StorageError`.
 */
export async function takeUpCopies(db: SqlDatabase, reader: CopyReader): Promise<readonly CopyNote[]> {
  if (reader.foreign) return [{ kind: "not_used", uuid: null, detail: "it is not of this version" }];
  const notes: CopyNote[] = [];
  if (reader.unread > 0) notes.push({ kind: "not_used", uuid: null, detail: `${reader.unread} lines cannot be read` });
  for (const [uuid, copy] of reader.logs()) {
    if (!copy.whole) {
      notes.push({ kind: "not_used", uuid, detail: copy.detail });
      continue;
    }
    const stored = rowsToTexts(await db.read("SELECT event FROM swap_events WHERE uuid = ? ORDER BY seq", [uuid]));
    const isListed = (await db.read("SELECT 1 FROM swaps WHERE uuid = ?", [uuid])).length > 0;
    const missing = missingFrom(uuid, stored, isListed, copy);
    if (missing === "differs") notes.push({ kind: "not_used", uuid, detail: "the database has another record of it" });
    else if (missing !== null) {
      await db.write(missing);
      notes.push({ kind: "taken_up", uuid, events: copy.texts.length });
    }
  }
  return notes;
}
