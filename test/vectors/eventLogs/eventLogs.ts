import { readFileSync } from "node:fs";

export type RecordedLog = {
  readonly name: string;
  readonly role: "maker" | "taker";
  readonly summary: { readonly uuid: string; readonly finished: boolean; readonly settled: boolean };
  /** Texts of the rows, in order. */
  readonly events: readonly string[];
  readonly outcome: string | null;
  readonly state: Readonly<Record<string, unknown>>;
  readonly status: Readonly<Record<string, unknown>>;
};

const read = (name: string): string => readFileSync(new URL(name, import.meta.url), "utf8");

export const recordedLogs = JSON.parse(read("swapLogs.json")) as readonly RecordedLog[];

/** The statements that make a database of the first version. */
export const firstStore = read("firstStore.sql");
