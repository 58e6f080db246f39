import { expect, test } from "vitest";
import { quietLog } from "../../test/fakes/quietLog.ts";
import { ServerCredit } from "../adapters/electrum/serverCredit.ts";
import { PIN_SCHEMA } from "../adapters/sqlite/certificatePins.ts";
import { CHAIN_SCHEMA } from "../adapters/sqlite/chainStore.ts";
import { openInlineDatabase } from "../adapters/sqlite/inlineDatabase.ts";
import { seededRng } from "../adapters/virtualClock/seededRng.ts";
import { VirtualClock } from "../adapters/virtualClock/virtualClock.ts";
import type { ElectrumServers } from "../app/coin/utxoOpener.ts";
import { parseCoinEntry } from "../core/coin/coinEntry.ts";
import { utxoKind } from "../core/coin/utxoKind.ts";
import { openElectrum } from "./openElectrum.ts";

const DOC = { coin: "DOC", pubtype: 60, p2shtype: 85, mm2: 1, protocol: { type: "UTXO" } };
const at = (...urls: readonly string[]): ElectrumServers => ({
  servers: urls.map((url) => ({ url, protocol: "TCP", anyCertificate: false, timeoutSec: undefined })),
  ...{ minConnected: undefined, maxConnected: undefined },
});

test("an open chain goes on with other servers, and with those it had where the others cannot be servers", async () => {
  const entry = parseCoinEntry(DOC);
  const kind = entry.ok ? utxoKind(entry.value) : null;
  if (!entry.ok || !kind?.ok) return expect.fail("not a coin");
  const db = openInlineDatabase(":memory:", [CHAIN_SCHEMA, PIN_SCHEMA]);
  const clock = new VirtualClock();
  const deps = { clock, rng: seededRng(1), log: quietLog, db, credit: new ServerCredit() };
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
