import { expect, test, vi } from "vitest";
import type { BlockHeader } from "../../core/proof/blockHeader.ts";
import { type HeaderRules, NOTHING_KNOWN } from "../../core/proof/headerRules.ts";
import { ok } from "../../core/util/result.ts";
import { HeaderReader } from "./headerReader.ts";
import type { RemoteServer } from "./remoteServer.ts";

const RULES: HeaderRules = {
  ...NOTHING_KNOWN,
  layouts: ["auxpow"],
  work: { kind: "unchecked", reason: "a test" },
};
const HASH = "ab".repeat(32);
const HEADER: BlockHeader = {
  raw: new Uint8Array(80),
  hash: HASH,
  prevHash: "",
  merkleRoot: "",
  timeSec: 0,
  bits: 0,
  parentProof: {
    script: new Uint8Array(1_000),
    coinbase: new Uint8Array(32),
    blockBranch: { hashes: [], index: 0 },
    chainBranch: { hashes: [], index: 0 },
    parent: new Uint8Array(80),
  },
};

test("the megabyte that a server puts beside a header, which no hash covers, is not kept with it", async () => {
  const ask = vi.fn(async () => ok(HEADER));
  const server = { ask } as unknown as RemoteServer;
  const reader = new HeaderReader(RULES, () => 0);
  expect(await reader.withHash([server], 7, HASH)).toMatchObject({ ok: true, value: { hash: HASH } });
  expect(await reader.withHash([server], 7, HASH)).toEqual(ok({ ...HEADER, parentProof: null }));
  expect(ask).toHaveBeenCalledTimes(1);
});

test("of fifteen hundred old blocks the times are asked for once, whatever is asked again, and of each server a share", async () => {
  const serverNamed = (): { readonly ask: ReturnType<typeof vi.fn> } => ({
    ask: vi.fn(async (_method: string, [height]: readonly number[]) => ok({ ...HEADER, hash: `${height}`, timeSec: (height ?? 0) * 10 })),
  });
  const servers = [serverNamed(), serverNamed(), serverNamed()];
  const reader = new HeaderReader(RULES, () => 0);
  for (let round = 0; round < 2; round++) {
    for (let height = 0; height < 1_500; height++)
      expect(await reader.timeOf(servers as unknown as readonly RemoteServer[], height, `${height}`)).toBe(height * 10);
  }
  expect(servers.map(({ ask }) => ask.mock.calls.length)).toEqual([500, 500, 500]);
});
