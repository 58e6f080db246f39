import { readFileSync } from "node:fs";
import { fromHex, toHex } from "../../../src/core/util/bytes.ts";

/** The files of this folder, typed as far as tests need them. */

export type MessageVector = { readonly name: string; readonly hex: string; readonly value: unknown };
export type DecodeCase = { readonly name: string; readonly type: string; readonly accepted: boolean; readonly hex: string };
export type CapturedGossip = { readonly type: string; readonly topic: string; readonly pubkey: string; readonly data: string };
export type CapturedRequest = {
  readonly protocol: string;
  readonly what: string;
  readonly request: string;
  readonly answer: string | null;
};

const read = (name: string): unknown => JSON.parse(readFileSync(new URL(name, import.meta.url), "utf8"));

export const messageVectors = read("messages.json") as readonly MessageVector[];
export const decodeCases = read("decodeCases.json") as readonly DecodeCase[];
export const swapVectors = read("swapMessages.json") as { readonly [name: string]: string };
export const captures = read("captures.json") as {
  readonly gossip: readonly CapturedGossip[];
  readonly requests: readonly CapturedRequest[];
};
export const swapCaptures = read("swapCaptures.json") as readonly {
  readonly uuid: string;
  readonly messages: readonly { readonly type: string; readonly payload: string }[];
}[];
export const trieVectors = read("trie.json") as {
  readonly empty: string;
  readonly blake2b64OfAbc: string;
  readonly entries: readonly (readonly [key: string, value: string])[];
  readonly rootOfFirst: { readonly [count: string]: string };
};

export const bytesOf = (hex: string): Uint8Array => fromHex(hex);
export const hexOf = (bytes: Uint8Array): string => toHex(bytes);
