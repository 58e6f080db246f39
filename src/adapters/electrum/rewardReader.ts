import type { BlockRewards } from "../../chainIndex/blockRewards.ts";
import type { BlockHeader } from "../../core/proof/blockHeader.ts";
import type { Clock } from "../../ports/clock.ts";
import { firstToTell } from "./firstToTell.ts";
import type { RemoteServer } from "./remoteServer.ts";
import type { TxProver } from "./txProver.ts";

/** Reads the coinbase of a block, proven like any other transaction. Nothing waits for it and nothing fails with it. */
export class RewardReader {
  readonly #rewards: BlockRewards;
  readonly #prover: TxProver;
  readonly #clock: Clock;
  #lastHash = "";

  constructor(rewards: BlockRewards, prover: TxProver, clock: Clock) {
    this.#rewards = rewards;
    this.#prover = prover;
    this.#clock = clock;
  }

  async read(height: number, header: BlockHeader, servers: readonly RemoteServer[]): Promise<void> {
    if (this.#lastHash === header.hash) return;
    this.#lastHash = header.hash;
    // ElectrumX counts a hundred for each request it refuses: one that is behind would cut this node off.
    const reaching = servers.filter(({ tip }) => tip !== null && tip.height >= height);
    const first = await firstToTell(this.#clock, reaching, (server) => this.#prover.firstTx(server, height, header));
    // What came since then was noted first: to note this now would take it for gone.
    if (first !== null && this.#lastHash === header.hash) this.#rewards.note([{ height, block: { txs: [first.tx] } }]);
  }
}
