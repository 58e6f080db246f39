import { describe, expect, test } from "vitest";
import { openElectrumChain } from "../../src/adapters/electrum/electrumChain.ts";
import { electrumEndpoint } from "../../src/adapters/electrum/electrumEndpoint.ts";
import { parseServerUrl } from "../../src/adapters/electrum/serverAddress.ts";
import { CHAIN_SCHEMA, openChainStore } from "../../src/adapters/sqlite/chainStore.ts";
import { openInlineDatabase } from "../../src/adapters/sqlite/inlineDatabase.ts";
import { createSystemClock } from "../../src/adapters/system/systemClock.ts";
import { createSystemRng } from "../../src/adapters/system/systemRng.ts";
import { NOTHING_KNOWN } from "../../src/core/proof/headerRules.ts";
import { fromHex } from "../../src/core/util/bytes.ts";
import { until } from "../../src/devnet/devnet.ts";
import { quietLog } from "../fakes/quietLog.ts";
import { type ElectrumxServer, startElectrumx } from "./support/electrumxServer.ts";
import { electrumxSkipReason, isElectrumxSkipped } from "./support/programs.ts";
import { LTC, startLitecoin } from "./support/regtestChains.ts";

const BLOCK_MS = 2_000;
const FOUND_MS = 60_000;
const RULES = {
  ...NOTHING_KNOWN,
  layouts: ["plain"],
  work: { kind: "unchecked", reason: "regtest" },
  // As of the chains whose work is checked: the real server is to show the height of its last block.
  tellsHeights: true,
} as const;
/** Pays the hash 44…44; its address on Litecoin's regtest. */
const SCRIPT = fromHex(`76a914${"44".repeat(20)}88ac`);
const ADDRESS = "mmjv2METU5E68VeWKkKzgx9oVo4thkSw5x";

describe.skipIf(isElectrumxSkipped)(`ElectrumX by WebSocket without TLS${electrumxSkipReason}`, () => {
  test("a payment is found in its block", async () => {
    let server: ElectrumxServer | null = null;
    const chain = await startLitecoin(BLOCK_MS, ["-txindex=1"], {
      async start(rpcUrl) {
        server = await startElectrumx(rpcUrl, { coin: "Litecoin", net: "regtest" });
      },
      inStep: async () => undefined,
    });
    const started = server as ElectrumxServer | null;
    const address = parseServerUrl(started?.url("WS") ?? "");
    if (!address.ok) throw new Error(address.error.detail);
    const get = async (): Promise<null> => null;
    const pins = { get, set: async () => undefined };
    const endpoint = electrumEndpoint(
      { ...address.value, protocol: "WS", disableCertVerification: false },
      { rng: createSystemRng(), pins },
    );
    const light = await openElectrumChain({
      ...{
        ticker: LTC.coin,
        format: { kind: "bitcoin" },
        headerRules: RULES,
        servers: [endpoint],
        clock: createSystemClock(),
        log: quietLog,
      },
      store: openChainStore(openInlineDatabase(":memory:", [CHAIN_SCHEMA]), LTC.coin),
    });
    try {
      await light.watchScript(SCRIPT, 0);
      await chain.fund(ADDRESS, "1.5");
      await until("the payment is in a block", async () => light.outputs(SCRIPT).find(({ block }) => block !== null) ?? null, FOUND_MS);
      expect(light.outputs(SCRIPT).map(({ value }) => value)).toEqual([150_000_000n]);
      expect(light.servers()).toMatchObject([{ state: "connected", contradictions: 0, trouble: null }]);
    } finally {
      await light.close();
      await chain.close();
      await started?.close();
    }
  });
});
