import fc from "fast-check";
import { expect, test } from "vitest";
import { bytesOf, captures, hexOf, trieVectors } from "../../../test/vectors/wire/wireVectors.ts";
import { parseEnvelope } from "../message/envelope.ts";
import { MsgpackWriter } from "../message/msgpackWriter.ts";
import { parseSyncAnswer } from "../message/orderbookAnswer.ts";
import { parseOrderMessage } from "../message/orderMessage.ts";
import { parsePeerResponse } from "../message/peerRequest.ts";
import type { OrderbookItem } from "../message/types.ts";
import { uuidToBytes, writeOrderbookItem } from "../message/wireShapes.ts";
import { blake2b64, saysNoOrders, type TrieEntry, trieRoot } from "./trie.ts";

function leafOf(item: OrderbookItem): TrieEntry {
  const w = new MsgpackWriter();
  writeOrderbookItem(w, item);
  return [uuidToBytes(item.uuid), w.finish()];
}

const entries = trieVectors.entries.map(([key, value]): TrieEntry => [bytesOf(key), bytesOf(value)]);

test("Blake2b-64 is the parametrised hash, and the empty root is that of the empty node", () => {
  expect(hexOf(blake2b64(bytesOf("616263")))).toBe(trieVectors.blake2b64OfAbc);
  expect(hexOf(blake2b64(bytesOf("00")))).toBe(trieVectors.empty);
  expect(hexOf(trieRoot([]))).toBe(trieVectors.empty);
  expect(saysNoOrders(trieRoot([]))).toBe(true);
});

for (const [count, root] of Object.entries(trieVectors.rootOfFirst)) {
  test(`the root over ${count} orders is KDF's, in whatever order they are given`, () => {
    const some = entries.slice(0, Number(count));
    expect(hexOf(trieRoot(some))).toBe(root);
    expect(hexOf(trieRoot([...some].reverse()))).toBe(root);
  });
}

test("the orders of recorded FullTrie answers hash to the roots KDF announced in its keep-alives", () => {
  const announced = new Set<string>();
  for (const { data, type } of captures.gossip) {
    const envelope = type === "PubkeyKeepAlive" ? parseEnvelope(bytesOf(data)) : undefined;
    const message = envelope?.ok ? parseOrderMessage(envelope.value.payload) : undefined;
    if (message?.ok && message.value.type === "PubkeyKeepAlive") {
      for (const [, root] of message.value.body.trieRoots) announced.add(hexOf(root));
    }
  }
  const computed = new Set<string>();
  for (const { what, answer } of captures.requests) {
    const outer = what === "SyncPubkeyOrderbookState" && answer !== null ? parsePeerResponse(bytesOf(answer)) : undefined;
    const sync = outer?.ok && outer.value.kind === "ok" ? parseSyncAnswer(outer.value.data) : undefined;
    for (const diff of sync?.ok ? sync.value.pairs.values() : []) {
      if (diff.type === "FullTrie") computed.add(hexOf(trieRoot(diff.orders.map(leafOf))));
    }
  }
  const both = [...computed].filter((root) => announced.has(root)).sort();
  expect(both).toEqual(["1bc216b1c22e309f", "619fae54381eeeeb", "94f6d9cdd1ea8248", "b444a275b65c3ad5"]);
});

test("any change of any leaf changes the root", () => {
  const leaf = fc.tuple(fc.uint8Array({ minLength: 16, maxLength: 16 }), fc.uint8Array({ minLength: 20, maxLength: 80 }));
  const leaves = fc.uniqueArray(leaf, { minLength: 2, maxLength: 40, selector: ([key]) => hexOf(key) });
  fc.assert(
    fc.property(leaves, fc.nat(), (all, at) => {
      const i = at % all.length;
      const changed = all.map(([key, value], j): TrieEntry => [key, i === j ? Uint8Array.from(value, (b) => b ^ 1) : value]);
      const root = hexOf(trieRoot(all));
      expect(hexOf(trieRoot(changed))).not.toBe(root);
      expect(hexOf(trieRoot(all.filter((_, j) => j !== i)))).not.toBe(root);
      expect(hexOf(trieRoot([...all.slice(i), ...all.slice(0, i)]))).toBe(root);
    }),
    { seed: 1, numRuns: 100 },
  );
});

test("leaves that are known hash to the same root, whatever comes and goes beside them", () => {
  const all = entries.map(([key, value]): TrieEntry => [key, value, { depth: -1, ref: new Uint8Array() }]);
  fc.assert(
    fc.property(fc.subarray(all), (some) => {
      expect(hexOf(trieRoot(some))).toBe(hexOf(trieRoot(some.map(([key, value]) => [key, value]))));
    }),
  );
});
