import type { SwapEvent } from "../../src/core/swap/events.ts";
import { describeFault } from "./faultText.ts";
import type { SimRun } from "./simRun.ts";

/** An event without its bytes. */
function eventText(event: SwapEvent): string {
  const { type, ...rest } = event;
  const shown = Object.entries(rest).filter(([key]) => key !== "raw" && key !== "terms");
  const text = shown.map(([key, value]) => `${key} ${typeof value === "string" ? value : JSON.stringify(value)}`).join(", ");
  return text === "" ? type : `${type}: ${text}`;
}

const clock = (ms: number): string => {
  const s = Math.floor(ms / 1_000);
  const two = (n: number): string => String(n).padStart(2, "0");
  return `${two(Math.floor(s / 3_600))}:${two(Math.floor(s / 60) % 60)}:${two(s % 60)}.${String(Math.floor(ms % 1_000)).padStart(3, "0")}`;
};

/** Everything that became of a swap, both sides and the faults that befell it, in order of virtual time since trading began. */
export function timeline(run: SimRun, uuid: string): string {
  const swap = run.swaps.get(uuid);
  if (!swap) return `swap ${uuid}: no disk has it`;
  const { maker, taker } = swap.sides;
  const terms = (maker ?? taker)?.terms;
  const entries: { readonly atMs: number; readonly who: string; readonly text: string }[] = [];
  for (const side of [maker, taker]) {
    for (const { worldMs, stored } of side?.history ?? [])
      entries.push({ atMs: worldMs, who: side?.node ?? "", text: eventText(stored.event) });
  }
  for (const { fault, happenedMs } of run.lives) {
    if (happenedMs !== null && run.touched.get(fault.id)?.has(uuid))
      entries.push({ atMs: happenedMs, who: "FAULT", text: describeFault(fault) });
  }
  entries.push(...run.chainFacts(uuid).map(({ atMs, text }) => ({ atMs, who: "chain", text })));
  entries.sort((a, b) => a.atMs - b.atMs);
  const end = run.audit.endings.get(uuid);
  const head =
    `swap ${uuid}: ${maker?.node ?? "?"} gives ${terms?.makerUnits ?? "?"} ${terms?.makerCoin ?? ""}, ` +
    `${taker?.node ?? "?"} gives ${terms?.takerUnits ?? "?"} ${terms?.takerCoin ?? ""}; lock ${terms?.lockDurationSec ?? "?"} s; ` +
    `${swap.outside.size > 0 ? "beyond" : "inside"} the envelope\n` +
    `  statuses ${maker?.state.finished ?? "-"}/${taker?.state.finished ?? "-"}; by the chains ${end?.maker ?? "-"}/${end?.taker ?? "-"}`;
  const words = [maker, taker].flatMap((side) => (side && side.finishedMs === null ? run.lastWords(side.node, uuid) : []));
  const last = words.length > 0 ? ["  last words", ...words.map((w) => `    ${w}`)] : [];
  return [head, ...entries.map(({ atMs, who, text }) => `  ${clock(atMs - run.startMs)} ${who.padEnd(8)} ${text}`), ...last].join("\n");
}
