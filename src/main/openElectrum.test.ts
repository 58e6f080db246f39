import { X509Certificate } from "node:crypto";
import { expect, test } from "vitest";
import { SEGWIT_COIN } from "../../test/contract/embeddedChain.ts";
import { quietLog } from "../../test/fakes/quietLog.ts";
import { ServerCredit } from "../adapters/electrum/serverCredit.ts";
import { newKeyPem, selfSignedCertificate } from "../adapters/httpServer/selfSigned.ts";
import { createCertificatePins, PIN_SCHEMA } from "../adapters/sqlite/certificatePins.ts";
import { CHAIN_SCHEMA, openChainStore } from "../adapters/sqlite/chainStore.ts";
import { openInlineDatabase } from "../adapters/sqlite/inlineDatabase.ts";
import { createSystemClock } from "../adapters/system/systemClock.ts";
import { seededRng } from "../adapters/virtualClock/seededRng.ts";
import { VirtualClock } from "../adapters/virtualClock/virtualClock.ts";
import type { ElectrumServers, OpenedChain } from "../app/coin/utxoOpener.ts";
import { coinEntryToChainParams } from "../chain/chainParams.ts";
import { ChainDaemon } from "../chain/daemon.ts";
import { ElectrumListener } from "../chain/electrum/electrumListener.ts";
import { ElectrumServer } from "../chain/electrum/electrumServer.ts";
import { EmbeddedChain } from "../chain/embeddedChain.ts";
import { parseCoinEntry } from "../core/coin/coinEntry.ts";
import { utxoKind } from "../core/coin/utxoKind.ts";
import { openElectrum } from "./openElectrum.ts";

const DOC = { coin: "DOC", pubtype: 60, p2shtype: 85, mm2: 1, protocol: { type: "UTXO" } };
/** Of what its miners take for the least. */
const DEAR = { ...SEGWIT_COIN, mm2: 1, protocol: { type: "UTXO" }, txfee: 40_000_000 };
const at = (...urls: readonly string[]): ElectrumServers => ({
  servers: urls.map((url) => ({ url, protocol: "TCP", anyCertificate: false, timeoutSec: undefined })),
  ...{ minConnected: undefined, maxConnected: undefined },
});

/** Waits until the chain is in a state. */
const stateOf =
  (chain: OpenedChain) =>
  (state: string): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (chain.status().state !== state) return;
        off();
        resolve();
      };
      const off = chain.onChange(look);
      queueMicrotask(look);
    });

test("an open chain goes on with other servers, and with those it had where the others cannot be servers", async () => {
  const entry = parseCoinEntry(DOC);
  const kind = entry.ok ? utxoKind(entry.value) : null;
  if (!entry.ok || !kind?.ok) return expect.fail("not a coin");
  const db = openInlineDatabase(":memory:", [CHAIN_SCHEMA, PIN_SCHEMA]);
  const clock = new VirtualClock();
  const deps = { clock, rng: seededRng(1), log: quietLog, db, credit: new ServerCredit(), store: openChainStore(db, entry.value.ticker) };
  const opened = await openElectrum(entry.value, kind.value, at("127.0.0.1:1"), deps);
  if (!opened.ok) return expect.fail(opened.error.kind);
  const chain = opened.value;
  const names = (): readonly string[] => chain.servers().map(({ name }) => name);
  expect(chain.useServers?.(at("127.0.0.1:2", "nothing"))).toMatchObject({ ok: false, error: { kind: "BadServers" } });
  expect(chain.useServers?.({ ...at("127.0.0.1:2"), minConnected: 2 })).toMatchObject({ ok: false, error: { kind: "BadServers" } });
  expect(names()).toEqual(["127.0.0.1:1"]);
  expect(chain.useServers?.(at("127.0.0.1:2", "127.0.0.1:3"))).toEqual({ ok: true, value: undefined });
  expect(names()).toEqual(["127.0.0.1:2", "127.0.0.1:3"]);
  await chain.close();
  expect(chain.useServers?.(at("127.0.0.1:4"))?.ok).toBe(true);
  expect(names()).toEqual(["127.0.0.1:2", "127.0.0.1:3"]);
});

test("a server whose certificate changed is used again once the new one is named, and the sentence before says how to name it", async () => {
  const params = coinEntryToChainParams(SEGWIT_COIN);
  const entry = parseCoinEntry({ ...SEGWIT_COIN, mm2: 1, protocol: { type: "UTXO" } });
  const kind = entry.ok ? utxoKind(entry.value) : null;
  if (!params.ok || !entry.ok || !kind?.ok) return expect.fail("not a coin");
  const clock = createSystemClock();
  const server = new ElectrumServer(new ChainDaemon(new EmbeddedChain({ params: params.value, clock, rng: seededRng(1) }), clock), clock);
  const key = newKeyPem();
  const cert = selfSignedCertificate(key, ["127.0.0.1"], Date.now());
  const listener = new ElectrumListener(server, { port: 0, tls: { key, cert } });
  const url = `127.0.0.1:${await listener.listen()}`;
  const db = openInlineDatabase(":memory:", [CHAIN_SCHEMA, PIN_SCHEMA]);
  await createCertificatePins(db).set(url, `key ${"ab".repeat(32)}`);
  const deps = { clock, rng: seededRng(2), log: quietLog, db, credit: new ServerCredit(), store: openChainStore(db, entry.value.ticker) };
  const servers = (accept: object): ElectrumServers => ({
    servers: [{ url, protocol: "SSL", anyCertificate: false, timeoutSec: 5, ...accept }],
    ...{ minConnected: undefined, maxConnected: undefined },
  });
  const opened = await openElectrum(entry.value, kind.value, servers({}), deps);
  if (!opened.ok) return expect.fail(opened.error.kind);
  const chain = opened.value;
  const becomes = stateOf(chain);
  await becomes("unreachable");
  const [, acceptCertificate] = /"accept_certificate": "([0-9a-f]{64})"/.exec(chain.status().error ?? "") ?? [];
  expect(acceptCertificate).toBe(new X509Certificate(cert).fingerprint256.replaceAll(":", "").toLowerCase());
  expect(chain.useServers?.(servers({ acceptCertificate })).ok).toBe(true);
  await becomes("ready");
  await chain.close();
  await listener.close();
  server.close();
});

test.each([
  [{ coin: "DASH" }, /^DASH cannot be used with Electrum servers: its blocks are named by X11.*; enable it with its own daemon/],
  [
    { spv_conf: { starting_block_header: { hash: "ab".repeat(32) } } },
    /^the entry of DOC in the coins file .*: spv_conf\.starting_block_header must have a height and a hash of 64 hex digits; correct/,
  ],
  [{ spv_conf: { starting_block_header: { height: "7" } } }, /spv_conf\.starting_block_header\.height .*; correct or remove it$/],
])("an entry that does not do for Electrum servers (%j) is refused with what is wrong and what to do", async (fields, said) => {
  const entry = parseCoinEntry({ ...DOC, ...fields });
  const kind = entry.ok ? utxoKind(entry.value) : null;
  if (!entry.ok || !kind?.ok) return expect.fail("not a coin");
  const db = openInlineDatabase(":memory:", [CHAIN_SCHEMA, PIN_SCHEMA]);
  const deps = {
    clock: new VirtualClock(),
    rng: seededRng(1),
    log: quietLog,
    db,
    credit: new ServerCredit(),
    store: openChainStore(db, entry.value.ticker),
  };
  const opened = await openElectrum(entry.value, kind.value, at("127.0.0.1:1"), deps);
  expect(opened).toMatchObject({ ok: false, error: { kind: "BadServers", reason: expect.stringMatching(said) } });
});

test.each<readonly [bigint | null, number, string]>([
  [400_000_000n, 4, "ten times the rate of its entry in the coins file"],
  [null, 4.00000001, "more than that"],
])("servers are believed a relay minimum of %s of a coin whose miners ask 0.4 coins: %s is %s", async (expected, rate) => {
  const params = coinEntryToChainParams(DEAR);
  const entry = parseCoinEntry(DEAR);
  const kind = entry.ok ? utxoKind(entry.value) : null;
  if (!params.ok || !entry.ok || !kind?.ok) return expect.fail("not a coin");
  const clock = createSystemClock();
  const server = new ElectrumServer(new ChainDaemon(new EmbeddedChain({ params: params.value, clock, rng: seededRng(1) }), clock), clock);
  server.faults.add({ kind: "false_fee", rate });
  const listener = new ElectrumListener(server, { port: 0 });
  const db = openInlineDatabase(":memory:", [CHAIN_SCHEMA, PIN_SCHEMA]);
  const deps = { clock, rng: seededRng(2), log: quietLog, db, credit: new ServerCredit(), store: openChainStore(db, entry.value.ticker) };
  const opened = await openElectrum(entry.value, kind.value, at(`127.0.0.1:${await listener.listen()}`), deps);
  if (!opened.ok) return expect.fail(opened.error.kind);
  await stateOf(opened.value)("ready");
  // What was asked beside the first look is answered before what a later one asks.
  await opened.value.refresh();
  expect(opened.value.relayFeePerKb()).toBe(expected);
  await opened.value.close();
  await listener.close();
  server.close();
});
