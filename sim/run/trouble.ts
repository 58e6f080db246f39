import { SERVERS } from "../world/simServers.ts";
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
      case "clock_set":
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

/** A server that is caught lying is left alone so long by the nodes; that counts as its trouble, too. */
const DROPPED_MS = 3_600_000;
/** Servers of a chain that may misbehave at a time: of those that are left, more than half must be true. */
const MOST_BAD = Math.floor((SERVERS - 1) / 2);

/** Counts the servers of each chain that misbehave at a time. */
export class ServerTroubles {
  readonly #bad = new Map<string, { readonly server: number; readonly span: Span }[]>();

  /** Whether the fault leaves most servers true, with those before it; notes it if so. */
  fits(f: FaultPlan): boolean {
    if (!("server" in f)) return false;
    const span = { fromMs: f.atMs, toMs: f.atMs + f.forMs + (f.kind === "server_lies" ? DROPPED_MS : 0) };
    const bad = this.#bad.get(f.coin) ?? [];
    const others = new Set(bad.filter((b) => b.span.toMs > span.fromMs && b.server !== f.server).map((b) => b.server));
    if (others.size >= MOST_BAD) return false;
    this.#bad.set(f.coin, [...bad, { server: f.server, span }]);
    return true;
  }
}
