import type { StoredEvent } from "../../../core/swap/events.ts";
import { fold, type SwapState } from "../../../core/swap/swapState.ts";
import { MAX_TX_BYTES } from "../../../core/utxo/txCodec.ts";
import { eventToText, parseEventText } from "../storedEvent.ts";

/** First line of the file. Another number: another version of it. */
export const COPY_HEADER = "swapnode swap copies 1";

/** A record has some thirty events; what is beyond this is not one of ours. */
const MAX_EVENTS = 10_000;
/** Longest line that is looked at, characters: the digits of the largest transaction, and more around them than any event has. */
export const MAX_LINE = 2 * MAX_TX_BYTES + 4_000_000;

const LINE = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}) (settled|\d{1,5})(?: (\{.*\}))?$/s;

/** One event of a swap as a line. @param text of `eventToText`: JSON, without a line break */
export const eventLine = (uuid: string, seq: number, text: string): string => `${uuid} ${seq} ${text}\n`;

/** Nothing of this swap is needed any more. */
export const settledLine = (uuid: string): string => `${uuid} settled\n`;

/** The record of one swap as its copy has it: the texts in order, read and folded, or what is wrong with it. */
export type CopiedLog =
  | { readonly whole: true; readonly texts: readonly string[]; readonly events: readonly StoredEvent[]; readonly state: SwapState }
  | { readonly whole: false; readonly detail: string };

/**
 * Reads the lines of a copy into the records of the swaps that are open by it. A line that is cut at the end of the file was never acted
 * on; any other that cannot be read makes nothing of its swap, if it is known whose it was, and `unread` counts it.
 */
export class CopyReader {
  readonly #texts = new Map<string, Map<number, string>>();
  #isFirst = true;
  unread = 0;
  /** Set where the file is not of this version: nothing in it is read. */
  foreign = false;

  /** @param line without its line break */
  take(line: string): void {
    if (this.#isFirst) {
      this.#isFirst = false;
      this.foreign = line !== COPY_HEADER;
      return;
    }
    if (this.foreign) return;
    const [, uuid, place, text] = LINE.exec(line) ?? [];
    if (uuid === undefined || place === undefined) this.unread++;
    else if (place === "settled") this.#texts.delete(uuid);
    else if (text === undefined || Number(place) >= MAX_EVENTS) this.unread++;
    else this.#of(uuid).set(Number(place), text);
  }

  logs(): ReadonlyMap<string, CopiedLog> {
    return new Map(Array.from(this.#texts, ([uuid, bySeq]) => [uuid, copiedLog(uuid, bySeq)]));
  }

  #of(uuid: string): Map<number, string> {
    const found = this.#texts.get(uuid) ?? new Map<number, string>();
    this.#texts.set(uuid, found);
    return found;
  }
}

function copiedLog(uuid: string, bySeq: ReadonlyMap<number, string>): CopiedLog {
  const texts: string[] = [];
  const events: StoredEvent[] = [];
  for (let seq = 0; seq < bySeq.size; seq++) {
    const text = bySeq.get(seq);
    if (text === undefined) return { whole: false, detail: `event ${seq} is missing` };
    const parsed = parseEventText(text);
    if (!parsed.ok) return { whole: false, detail: `event ${seq} cannot be read: ${parsed.error.detail}` };
    texts.push(eventToText(parsed.value));
    events.push(parsed.value);
  }
  const first = events[0]?.event;
  if (!first || !("terms" in first) || first.terms.uuid !== uuid) return { whole: false, detail: "event 0 is not its beginning" };
  return { whole: true, texts, events, state: fold(events.map((e) => e.event)) };
}
