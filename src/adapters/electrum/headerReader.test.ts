import { expect, test, vi } from "vitest";
import type { BlockHeader } from "../../core/proof/blockHeader.ts";
import { type HeaderRules, NOTHING_KNOWN } from "../../core/proof/headerRules.ts";
import { ok } from "../../core/util/result.ts";
import { VirtualClock } from "../virtualClock/virtualClock.ts";
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
  const reader = new HeaderReader(RULES, new VirtualClock());
  expect(await reader.withHash([server], 7, HASH)).toMatchObject({ ok: true, value: { hash: HASH } });
  expect(await reader.withHash([server], 7, HASH)).toEqual(ok({ ...HEADER, parentProof: null }));
  expect(ask).toHaveBeenCalledTimes(1);
});

test("of fifteen hundred old blocks the times are asked for once, whatever is asked again, and of each server a share", async () => {
  const serverNamed = (): { readonly ask: ReturnType<typeof vi.fn> } => ({
    ask: vi.fn(async (_method: string, [height]: readonly number[]) => ok({ ...HEADER, hash: `${height}`, timeSec: (height ?? 0) * 10 })),
  });
  const servers = [serverNamed(), serverNamed(), serverNamed()];
  const reader = new HeaderReader(RULES, new VirtualClock());
  for (let round = 0; round < 2; round++) {
    for (let height = 0; height < 1_500; height++)
      expect(await reader.timeOf(servers as unknown as readonly RemoteServer[], height, `${height}`)).toBe(height * 10);
  }
  expect(servers.map(({ ask }) => ask.mock.calls.length)).toEqual([500, 500, 500]);
});

/** Answers after so long, each call. */
function lateServer(
  clock: VirtualClock,
  lateMs: number,
  answer: unknown,
): RemoteServer & { readonly contradicted: ReturnType<typeof vi.fn> } {
  const ask = (): Promise<unknown> => new Promise((resolve) => void clock.after(lateMs, () => resolve(answer)));
  return { name: `late by ${lateMs}`, tip: null, ask, contradicted: vi.fn(), suspect: vi.fn() } as never;
}

test("headers that come when another server has given them are judged no more: they may not follow ours by then", async () => {
  const clock = new VirtualClock();
  const [late, quick] = [lateServer(clock, 9_000, ok([HEADER])), lateServer(clock, 100, ok([HEADER]))];
  const reader = new HeaderReader(RULES, clock);
  const checks: (string | object)[] = [{}, "its headers break the rules of the chain"];
  const run = reader.run({ height: 9, hash: HASH, servers: [late, quick] }, 7, 7, () => checks.shift() ?? {});
  await clock.advance(3_000);
  expect(await run).toMatchObject({ ok: true });
  await clock.advance(10_000);
  expect(late.contradicted).not.toHaveBeenCalled();
  expect(checks).toHaveLength(1);
});

test("what most say is at a height is there as soon as they have said it", async () => {
  const clock = new VirtualClock();
  const servers = [lateServer(clock, 9_000, ok(HEADER)), lateServer(clock, 100, ok(HEADER)), lateServer(clock, 200, ok(HEADER))];
  const reader = new HeaderReader(RULES, clock);
  let said: unknown = null;
  void reader.agreedAt(servers, 7).then((header) => {
    said = header;
  });
  await clock.advance(150);
  expect(said).toBeNull();
  await clock.advance(100);
  expect(said).toMatchObject({ ok: true, value: { hash: HASH } });
});

test("who gives headers one by one is not asked on, for however many", async () => {
  const ask = vi.fn(async (_method: string, [from]: readonly number[]) =>
    ok([{ ...HEADER, hash: `${from}`, prevHash: `${(from ?? 0) - 1}` }]),
  );
  const server = { name: "server", ask } as unknown as RemoteServer;
  const reader = new HeaderReader(RULES, new VirtualClock());
  expect(await reader.run({ height: 900, hash: HASH, servers: [server] }, 1, 500, () => ({}))).toMatchObject({ ok: false });
  expect(ask).toHaveBeenCalledTimes(2);
});
