import { contractOf, unitsOf } from "../../src/app/swap/contracts.ts";
import { ownPayment, type Role } from "../../src/core/swap/events.ts";
import { p2shOf, redeemScript } from "../../src/core/utxo/htlc.ts";
import { payInNewCoins } from "../world/newCoins.ts";
import type { SimWorld } from "../world/simWorld.ts";
import type { FaultLife } from "./carry.ts";
import type { SwapRecord, SwapSide } from "./swapBook.ts";

/** Counterparties that pay with coins they mine for that: the first to owe a payment of a coin while such a fault waits for one. */
export class NewCoins {
  readonly #world: SimWorld;
  readonly #happened: (life: FaultLife) => void;
  readonly #onPaid: (txid: string) => void;
  /** Until when they wait, virtual unix ms. */
  readonly #waiting = new Map<FaultLife, number>();
  readonly #swaps = new Set<string>();

  constructor(world: SimWorld, happened: (life: FaultLife) => void, onPaid: (txid: string) => void) {
    this.#world = world;
    this.#happened = happened;
    this.#onPaid = onPaid;
  }

  begin(life: FaultLife, forMs: number): void {
    this.#waiting.set(life, this.#world.clock.nowMs() + forMs);
  }

  /** A side has agreed on the contracts of a swap. */
  agreed(swap: SwapRecord, side: SwapSide): void {
    if (this.#swaps.has(swap.uuid)) return;
    for (const [life, untilMs] of this.#waiting) {
      const { fault } = life;
      const role = (["maker", "taker"] as const).find((r) => "coin" in fault && fault.coin === side.terms[`${r}Coin`]);
      if (!role || untilMs < this.#world.clock.nowMs()) continue;
      this.#waiting.delete(life);
      this.#swaps.add(swap.uuid);
      this.#cheat(life, swap, side, role);
      return;
    }
  }

  /** Its node's disk does not take the ordinary payment, so that it never leaves; and when it is tried the other one is mined. */
  #cheat(life: FaultLife, swap: SwapRecord, { terms, state }: SwapSide, role: Role): void {
    const slot = ownPayment(role);
    const node = swap.sides[role]?.node;
    if (node === undefined) return;
    const villain = this.#world.node(node);
    const { storeFault } = villain;
    villain.storeFault = (uuid, stored) => {
      const { event } = stored;
      if (uuid !== swap.uuid || event.type !== "tx_signed" || event.slot !== slot) return storeFault(uuid, stored);
      if (life.swap === null) {
        const { chain } = this.#world.chain(terms[`${role}Coin`]);
        this.#onPaid(payInNewCoins(chain, p2shOf(redeemScript(contractOf(state, slot))), unitsOf(state, slot)).txid);
        life.swap = swap.uuid;
        this.#happened(life);
      }
      return "refuse";
    };
  }
}
