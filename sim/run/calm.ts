import type { Failure } from "../../src/core/swap/events.ts";
import type { FaultLife } from "./carry.ts";
import type { SwapRecord, SwapSide } from "./swapBook.ts";
import type { Watch } from "./watch.ts";

/**
 * How a side says that it could not make its own fee or payment (reference rpc.md 7.2). The taker may also be too late to pay
 * when the other side is: that counts only where nothing befell either.
 */
const COULD_NOT_PAY: ReadonlySet<Failure["event"]> = new Set(["TakerFeeSendFailed", "MakerPaymentTransactionFailed"]);
const TOO_LATE_OR_POOR = "TakerPaymentTransactionFailed";

/**
 * Rules about swaps that nothing befell, where both sides have agreed: "undisturbed", they succeed on both sides; and "funded",
 * whatever befell the other node, a side that agreed has the money for its fee or payment. Litter is no disturbance, nor are servers
 * that misbehave while most do not.
 */
export function checkCalm(watch: Watch, lives: readonly FaultLife[], touched: ReadonlyMap<number, ReadonlySet<string>>): void {
  const troubles = lives.filter(({ fault }) => fault.kind !== "litter" && !("server" in fault));
  for (const swap of watch.book.swaps.values()) {
    const { maker, taker } = swap.sides;
    if (!maker?.state.negotiated || !taker?.state.negotiated) continue;
    const own = troubles.filter(({ fault }) => touched.get(fault.id)?.has(swap.uuid));
    for (const side of [maker, taker]) checkFunded(watch, swap, side, own);
    if (own.length === 1 && own[0]?.fault.kind === "new_coins")
      checkSaid(watch, swap, own[0].fault.coin === maker.terms.makerCoin ? taker : maker);
    if (own.length > 0) continue;
    watch.checked("undisturbed");
    const ends = [maker, taker].map((s) => s.state.finished ?? "nothing");
    if (ends.some((end) => end !== "success")) {
      const why = [maker, taker].map((s) => s.state.abandoned ?? s.state.refund).find((f) => f);
      watch.violate(
        "undisturbed",
        `no fault befell it, and it ended ${ends.join("/")}${why ? `: ${why.event}, ${why.reason}` : ""}`,
        swap.uuid,
      );
    }
  }
}

/** Whoever was to be paid with new coins, and was befallen by nothing else, says that this was wrong. */
function checkSaid(watch: Watch, swap: SwapRecord, { node, state }: SwapSide): void {
  watch.checked("named");
  const why = state.abandoned ?? state.refund;
  if (!why?.reason.includes("is made of new coins"))
    watch.violate(
      "named",
      `${node} was paid with new coins, its status says ${state.finished ?? "nothing"}: ${why?.reason ?? "no reason"}`,
      swap.uuid,
    );
}

function checkFunded(watch: Watch, swap: SwapRecord, side: SwapSide, befell: readonly FaultLife[]): void {
  const isHit = befell.some(({ fault }) => !("node" in fault) || fault.node === side.node);
  if (isHit) return;
  watch.checked("funded");
  const { abandoned } = side.state;
  if (abandoned && (COULD_NOT_PAY.has(abandoned.event) || (befell.length === 0 && abandoned.event === TOO_LATE_OR_POOR)))
    watch.violate("funded", `${side.node} agreed and could not pay: ${abandoned.event}, ${abandoned.reason}`, swap.uuid);
}
