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
  /** What comes meanwhile is answered all at once (electrs), or each when it is done. */
  readonly #batches: boolean;
  /** For each call about a script, ms. */
  costMs = 0;

  constructor(daemon: ChainDaemon, clock: Clock, batches: boolean) {
    super(daemon, clock);
    this.#clock = clock;
    this.#batches = batches;
  }

  override connect(peer: Parameters<ElectrumServer["connect"]>[0]): ReturnType<ElectrumServer["connect"]> {
    const pipe = super.connect(peer);
    if (pipe === null) return null;
    const waiting: Uint8Array[] = [];
    let isBusy = false;
    let isOpen = true;
    const costOf = (call: Uint8Array): number => (Buffer.from(call).includes('"blockchain.scripthash.') ? this.costMs : 0);
    const work = (): void => {
      const calls = waiting.splice(0, this.#batches ? waiting.length : 1);
      isBusy = calls.length > 0;
      if (!isBusy) return;
      this.#clock.after(
        calls.reduce((sum, call) => sum + costOf(call), 0),
        () => {
          if (!isOpen) return;
          for (const call of calls) pipe.write(call);
          work();
        },
      );
    };
    return {
      write: (bytes) => {
        if (this.costMs === 0) {
          pipe.write(bytes);
          return;
        }
        waiting.push(bytes);
        if (!isBusy) work();
      },
      close: () => {
        isOpen = false;
        pipe.close();
      },
    };
  }
}

test.each([
  [1, "one by one", 300, false],
  [3, "one by one", 300, false],
  [3, "in batches", 700, true],
])(
  "%i slow, which work off calls %s: asked for fewer at once they show all swaps when they are back, and no history passes for one that they are lost over",
  async (count, _, costMs, batches) => {
    const w = await startElectrumChain(SEGWIT_COIN, count);
    cleanup.push(() => w.close());
    const slow = Array.from({ length: count }, () => new OneByOne(w.daemon, w.clock, batches));
    cleanup.push(async () => {
      for (const server of slow) server.close();
    });
    for (const [i, server] of slow.entries()) w.replace(i, server);
    const chain = await w.openElectrum(openChainStore(openInlineDatabase(":memory:", [CHAIN_SCHEMA]), "TST"));
    cleanup.push(() => chain.close());
    const scripts = Array.from({ length: SCRIPTS }, (_, i) => scriptNumber(i + 1));
    for (const script of scripts) await whileTimePasses(w, chain.watchScript(script, 0));
    for (const server of slow) {
      server.costMs = costMs;
      server.faults.add({ kind: "refuse", forMs: 1_000 });
    }
    for (const script of scripts) w.chain.payFromFaucet(script, 100_000n);
    w.mine();
    await w.pass(180_000);
    expect(chain.status()).toMatchObject({ state: "ready", error: null });
    expect(scripts.filter((script) => chain.outputs(script)[0]?.block)).toHaveLength(SCRIPTS);
    expect(scripts.filter((script) => chain.crowded?.(script) != null)).toEqual([]);
  },
);
