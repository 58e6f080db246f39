import { readFileSync } from "node:fs";

/** `{"tx": id}` inside `data` stands for a transaction. */
export type RecordedEvent = readonly [type: string, data?: unknown];
export type RecordedSide = { readonly rest: Readonly<Record<string, unknown>>; readonly events: readonly RecordedEvent[] };
type Lists = { readonly keys: readonly string[]; readonly success_events: readonly string[]; readonly error_events: readonly string[] };

export const recordedStatuses = JSON.parse(readFileSync(new URL("statuses.json", import.meta.url), "utf8")) as {
  readonly lists: { readonly maker: Lists; readonly taker: Lists };
  readonly swaps: readonly { readonly uuid: string; readonly maker: RecordedSide; readonly taker: RecordedSide }[];
};
