import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { fromHex, toHex } from "../util/bytes.ts";
import { ed25519PeerIdBytes, isPeerId, parsePeerIdText, peerIdText } from "./peerId.ts";

type Vectors = {
  seedPeerId: { seed: string; bytes: string; text: string };
  secpPeerId: { bytes: string; text: string };
};
const vectors: Vectors = JSON.parse(readFileSync(new URL("../../../test/vectors/gossip/kdf.json", import.meta.url), "utf8"));

test("the peer id of a seed node grows from its identity seed", () => {
  const { seed, bytes, text } = vectors.seedPeerId;
  expect(toHex(ed25519PeerIdBytes(fromHex(seed)))).toBe(bytes);
  expect(peerIdText(fromHex(bytes))).toBe(text);
  expect(parsePeerIdText(text)).toEqual({ ok: true, value: fromHex(bytes) });
});

test("the author id of a secp256k1 key is a peer id too", () => {
  const { bytes, text } = vectors.secpPeerId;
  expect(peerIdText(fromHex(bytes))).toBe(text);
  expect(isPeerId(fromHex(bytes))).toBe(true);
});

test.each(["", "abc", "12D3KooWDMw3TJ2jeLRxeWtVrUkBw5FzKE8T1bMZK9wYsgmKxsT0", "Q".repeat(65)])("'%s' is no peer id", (text) => {
  expect(parsePeerIdText(text)).toMatchObject({ ok: false, error: { kind: "BadPeerId" } });
});
