import { ENVELOPE } from "./envelope.ts";
import type { FaultPlan, Side } from "./faults.ts";

type Span = { readonly fromMs: number; readonly toMs: number };

/** How long a fault keeps its node from acting, ms; 0 when it does not. */
function troubleOf(f: FaultPlan): number {
  switch (f.kind) {
    case "crash":
      return f.forMs + (f.again?.afterMs ?? 0);
    case "power_cut":
    case "disk_full":
    case "daemon_down":
    case "daemon_stall":
    case "daemon_refuses":
    case "daemon_lies":
      return f.forMs;
    default:
      return 0;
  }
}

/** How long a fault keeps a chain from confirming, ms. */
const delayOf = (f: FaultPlan): number => (f.kind === "drought" || f.kind === "fee_spike" ? f.forMs : 0);

/**
 * Tells which faults stay inside the envelope, alone and with those placed before them: two short troubles of one node, or
 * two gaps of one chain, are one long one.
 */
export class Envelope {
  readonly #spans = new Map<string, Span[]>();

  place(f: FaultPlan): Side {
    const alone = this.#alone(f);
    const trouble = troubleOf(f);
    const delay = delayOf(f);
    const sums: Side[] = [];
    if (trouble > 0 && "node" in f) sums.push(this.#sum(`node ${f.node}`, f.atMs, trouble, ENVELOPE.troubleSumMs, alone));
    if (delay > 0 && "coin" in f) sums.push(this.#sum(`chain ${f.coin}`, f.atMs, delay, ENVELOPE.blockGapMs, alone));
    return sums.includes("outside") ? "outside" : alone;
  }

  #alone(f: FaultPlan): Side {
    const limit = (is: boolean): Side => (is ? "inside" : "outside");
    switch (f.kind) {
      case "reorg":
        return f.reorgInside ? "inside" : "outside";
      case "clock":
        return limit(Math.abs(f.skewMs) <= ENVELOPE.clockErrorMs);
      case "fee_spike":
        return limit(f.factor <= ENVELOPE.feeFactor && f.forMs <= ENVELOPE.feeSpikeMs);
      case "backup":
        return "outside";
      case "partition":
        // The chains alone finish a swap: a node needs nobody but its daemons.
        return "inside";
      default:
        return limit(troubleOf(f) <= ENVELOPE.troubleMs + 60_000 && delayOf(f) <= ENVELOPE.blockGapMs);
    }
  }

  /** Adds a span to what befell somebody, if it counts; sums over any window of the last hours. */
  #sum(whom: string, atMs: number, forMs: number, most: number, alone: Side): Side {
    const spans = this.#spans.get(whom) ?? [];
    const recent = spans.filter((s) => s.toMs > atMs - ENVELOPE.troubleWindowMs);
    const sum = recent.reduce((n, s) => n + s.toMs - s.fromMs, 0) + forMs;
    const side = sum <= most ? alone : "outside";
    if (side === "inside") this.#spans.set(whom, [...recent, { fromMs: atMs, toMs: atMs + forMs }]);
    return side;
  }
}
