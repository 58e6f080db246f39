import { afterEach, expect, test } from "vitest";
import { CHAIN_SCHEMA, openChainStore } from "../../src/adapters/sqlite/chainStore.ts";
import { openInlineDatabase } from "../../src/adapters/sqlite/inlineDatabase.ts";
import type { ChainDaemon } from "../../src/chain/daemon.ts";
import { ElectrumServer } from "../../src/chain/electrum/electrumServer.ts";
import type { Clock } from "../../src/ports/clock.ts";
import { startElectrumChain } from "../contract/electrumChain.ts";
import { SEGWIT_COIN } from "../contract/embeddedChain.ts";
import { scriptNumber } from "../contract/spendable.ts";
import { whileTimePasses } from "./whileTimePasses.ts";

const SCRIPTS = 60;
const cleanup: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const undo of cleanup.splice(0).reverse()) await undo();
});

/** Works off one call after the other, as a server at somebody's home does that reads whole blocks for each script. */
class OneByOne extends ElectrumServer {
  readonly #clock: Clock;
  /** For each call about a script, ms. */
  costMs = 0;

  constructor(daemon: ChainDaemon, clock: Clock) {
    super(daemon, clock);
    this.#clock = clock;
  }

  override connect(peer: Parameters<ElectrumServer["connect"]>[0]): ReturnType<ElectrumServer["connect"]> {
    const pipe = super.connect(peer);
    if (pipe === null) return null;
    let freeAtMs = 0;
    let isOpen = true;
    return {
      write: (bytes) => {
        const nowMs = this.#clock.nowMs();
        const isDear = Buffer.from(bytes).includes('"blockchain.scripthash.');
        freeAtMs = Math.max(freeAtMs, nowMs) + (isDear ? this.costMs : 0);
        if (freeAtMs === nowMs) pipe.write(bytes);
        else this.#clock.after(freeAtMs - nowMs, () => isOpen && pipe.write(bytes));
      },
      close: () => {
        isOpen = false;
        pipe.close();
      },
    };
  }
}

test.each([1, 3])(
  "servers that work off calls one by one, slowly, are asked for fewer at once, and show all swaps when they are back: %i of them",
  async (count) => {
    const w = await startElectrumChain(SEGWIT_COIN, count);
    cleanup.push(() => w.close());
    const slow = Array.from({ length: count }, () => new OneByOne(w.daemon, w.clock));
    cleanup.push(async () => {
      for (const server of slow) server.close();
    });
    for (const [i, server] of slow.entries()) w.replace(i, server);
    const chain = await w.openElectrum(openChainStore(openInlineDatabase(":memory:", [CHAIN_SCHEMA]), "TST"));
    cleanup.push(() => chain.close());
    const scripts = Array.from({ length: SCRIPTS }, (_, i) => scriptNumber(i + 1));
    for (const script of scripts) await whileTimePasses(w, chain.watchScript(script, 0));
    for (const server of slow) {
      server.costMs = 300;
      server.faults.add({ kind: "refuse", forMs: 1_000 });
    }
    for (const script of scripts) w.chain.payFromFaucet(script, 100_000n);
    w.mine();
    await w.pass(180_000);
    expect(chain.status()).toMatchObject({ state: "ready", error: null });
    expect(scripts.filter((script) => chain.outputs(script)[0]?.block)).toHaveLength(SCRIPTS);
  },
);
