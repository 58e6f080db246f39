import { FAULT_KINDS, SERVER_FAULT_KINDS, type Side } from "./faults.ts";
import type { SimRun } from "./simRun.ts";
import { RULES, type Violation } from "./watch.ts";

type Counts = { drawn: number; happened: number; befell: number };

/** A run as plain numbers, fit to be sent between processes and added up. */
export type Summary = {
  readonly seed: number;
  readonly traceHash: string;
  readonly swaps: number;
  readonly ordersWanted: number;
  readonly ordersPlaced: number;
  readonly virtualHours: number;
  readonly cpuMs: number;
  /** How swaps ended, `maker/taker`, by side of the envelope. */
  readonly ends: { readonly [side in Side]: { readonly [end: string]: number } };
  /** By kind: faults drawn, those that happened, and the swaps they befell together. */
  readonly faults: { readonly [side in Side]: { readonly [kind: string]: Counts } };
  readonly checks: { readonly [rule: string]: number };
  readonly violations: readonly Violation[];
};

export function summarize(run: SimRun): Summary {
  const ends = { inside: {} as Record<string, number>, outside: {} as Record<string, number> };
  for (const { sides, outside } of run.swaps.values()) {
    const end = `${sides.maker?.state.finished ?? "-"}/${sides.taker?.state.finished ?? "-"}`;
    const side = ends[outside.size > 0 ? "outside" : "inside"];
    side[end] = (side[end] ?? 0) + 1;
  }
  const faults = { inside: {} as Record<string, Counts>, outside: {} as Record<string, Counts> };
  for (const { fault, happenedMs } of run.lives) {
    const side = faults[fault.envelope];
    const counts = side[fault.kind] ?? { drawn: 0, happened: 0, befell: 0 };
    side[fault.kind] = counts;
    counts.drawn++;
    if (happenedMs !== null) counts.happened++;
    counts.befell += run.touched.get(fault.id)?.size ?? 0;
  }
  return {
    seed: run.seed,
    traceHash: run.traceHash,
    swaps: run.swaps.size,
    ordersWanted: run.orders.wanted,
    ordersPlaced: run.orders.placed,
    virtualHours: run.virtualHours,
    cpuMs: run.cpuMs,
    ends,
    faults,
    checks: Object.fromEntries(run.checks),
    violations: run.violations,
  };
}

function addInto(sum: Record<string, number>, more: { readonly [key: string]: number }): void {
  for (const [key, n] of Object.entries(more)) sum[key] = (sum[key] ?? 0) + n;
}

/** The runs of several seeds as one. The trace hash is left empty, the seed is the first one's. */
export function addUp(all: readonly Summary[]): Summary {
  const ends = { inside: {} as Record<string, number>, outside: {} as Record<string, number> };
  const faults = { inside: {} as Record<string, Counts>, outside: {} as Record<string, Counts> };
  const checks: Record<string, number> = {};
  for (const s of all) {
    addInto(checks, s.checks);
    for (const side of ["inside", "outside"] as const) {
      addInto(ends[side], s.ends[side]);
      for (const [kind, c] of Object.entries(s.faults[side])) {
        const sum = faults[side][kind] ?? { drawn: 0, happened: 0, befell: 0 };
        faults[side][kind] = { drawn: sum.drawn + c.drawn, happened: sum.happened + c.happened, befell: sum.befell + c.befell };
      }
    }
  }
  const total = (of: (s: Summary) => number): number => all.reduce((n, s) => n + of(s), 0);
  return {
    seed: all[0]?.seed ?? 0,
    traceHash: "",
    swaps: total((s) => s.swaps),
    ordersWanted: total((s) => s.ordersWanted),
    ordersPlaced: total((s) => s.ordersPlaced),
    virtualHours: total((s) => s.virtualHours),
    cpuMs: total((s) => s.cpuMs),
    ends,
    faults,
    checks,
    violations: all.flatMap((s) => s.violations),
  };
}

/** What a run did not do that it must to prove anything: enough swaps, every kind of fault, every rule. */
export function notExercised(s: Summary, floor: number): readonly string[] {
  const happened = (kind: string): number => (s.faults.inside[kind]?.happened ?? 0) + (s.faults.outside[kind]?.happened ?? 0);
  return [
    ...(s.swaps < floor ? [`${s.swaps} swaps ran, ${floor} are the least`] : []),
    ...[...FAULT_KINDS, ...SERVER_FAULT_KINDS].filter((kind) => happened(kind) === 0).map((kind) => `no ${kind} happened`),
    ...RULES.filter((rule) => (s.checks[rule] ?? 0) === 0).map((rule) => `the rule "${rule}" was never tested`),
  ];
}

const rightAligned = (n: number, width: number): string => String(n).padStart(width);

/** The figures as text: what happened, how swaps ended, what was checked. */
export function summaryText(s: Summary): string {
  const perMinute = Math.round((s.swaps / Math.max(1, s.cpuMs)) * 60_000);
  const lines = [
    `${s.swaps} swaps of ${s.ordersPlaced} orders placed (${s.ordersWanted} wanted), ${s.virtualHours.toFixed(1)} virtual hours, ` +
      `${(s.cpuMs / 1_000).toFixed(1)} s of processor: ${perMinute} swaps per minute and core`,
    "",
    "faults                  inside the envelope          beyond it",
    "                     drawn happened befell      drawn happened befell   (befell: swaps)",
  ];
  for (const kind of [...FAULT_KINDS, ...SERVER_FAULT_KINDS]) {
    const [i, o] = [s.faults.inside[kind], s.faults.outside[kind]];
    if (!i && !o) continue;
    const cells = (c: Counts | undefined): string =>
      `${rightAligned(c?.drawn ?? 0, 6)} ${rightAligned(c?.happened ?? 0, 8)} ${rightAligned(c?.befell ?? 0, 6)}`;
    lines.push(`  ${kind.padEnd(16)} ${cells(i)}     ${cells(o)}`);
  }
  for (const side of ["inside", "outside"] as const) {
    lines.push("", `ends, maker/taker, ${side === "inside" ? "inside the envelope" : "beyond it"}`);
    for (const [end, n] of Object.entries(s.ends[side]).sort((a, b) => b[1] - a[1]))
      lines.push(`  ${end.padEnd(22)} ${rightAligned(n, 6)}`);
  }
  lines.push(
    "",
    `checks: ${Object.entries(s.checks)
      .map(([rule, n]) => `${rule} ${n}`)
      .join(", ")}`,
  );
  return lines.join("\n");
}
