import { expect, test } from "vitest";
import { err, ok } from "../../core/util/result.ts";
import { forkWith } from "./forkSearch.ts";

type Reader = Parameters<typeof forkWith>[1];
const BOTTOM = 600;
const TIP = 1_000;
const own = { hash: "own", prevHash: "", merkleRoot: "", timeSec: 0, bits: 0 };
const server = {} as Parameters<typeof forkWith>[2];

/** Searches the last shared block with a server whose chain is ours up to `fork`. */
async function search(fork: number, tipHeight: number, refuses: (height: number) => boolean = () => false) {
  let rounds = 0;
  let asked = 0;
  let isOpen = false;
  const reader: Reader = {
    async headerOf(_server, height) {
      asked++;
      if (!isOpen) rounds++;
      isOpen = true;
      await Promise.resolve();
      isOpen = false;
      if (refuses(height)) return err({ kind: "unreachable", message: "gone" });
      const hash = height <= fork ? `ours ${height}` : `theirs ${height}`;
      return ok({ ...own, raw: new Uint8Array(0), parentProof: null, hash });
    },
  };
  const headerAt = (height: number) => ({ height, hash: `ours ${height}`, prevHash: "", timeSec: 0 });
  const index = { tipHeader: headerAt(TIP), windowBottom: BOTTOM, headerAt };
  return { found: await forkWith(index, reader, server, tipHeight), rounds, asked };
}

test("the last shared block is found wherever it is, in five rounds at most and in two where the branch is short", async () => {
  for (const tipHeight of [TIP - 7, TIP, TIP + 1, TIP + 50]) {
    const top = Math.min(TIP, tipHeight - 1);
    for (let fork = BOTTOM; fork <= top; fork++) {
      const { found, rounds, asked } = await search(fork, tipHeight);
      expect(found).toEqual(ok(fork));
      expect(rounds).toBeLessThanOrEqual(top - fork < 15 ? 2 : 5);
      expect(asked).toBeLessThanOrEqual(top - fork < 15 ? 11 : 40);
    }
  }
});

test("a branch that shares none of what is kept, and a server that breaks off, are told apart", async () => {
  expect((await search(BOTTOM - 1, TIP)).found).toEqual(ok(null));
  expect((await search(TIP - 5, TIP, (height) => height === TIP - 1)).found).toEqual(err({ kind: "moved" }));
  // What is asked for at the same time and turns out not to be needed may be missing.
  expect((await search(TIP - 2, TIP, (height) => height < TIP - 7)).found).toEqual(ok(TIP - 2));
});
