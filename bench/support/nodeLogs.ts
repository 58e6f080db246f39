import type { DevNode } from "../../src/devnet/devnet.ts";

/** Preloaded by every node this process starts from now on, so that `collected` can ask it. */
export function preloadMemoryProbe(): void {
  const probe = new URL("./memoryInNode.ts", import.meta.url).href;
  process.env.NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ""} --import=${probe}`.trim();
}

/** Bytes that are left after a collection. `heap`: of the program's thread, with buffers outside it; `resident`: of the whole process. */
export type Collected = { readonly heap: number; readonly resident: number };

const ANSWER_MS = 30_000;

type LogLine = { readonly event: string; readonly [field: string]: unknown };

/** A line of a node's log; null for what is none. */
export function parseLogLine(line: string): LogLine | null {
  if (!line.startsWith("{")) return null;
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null && "event" in value && typeof value.event === "string"
      ? { ...value, event: value.event }
      : null;
  } catch {
    // Cut off by the end of the process.
    return null;
  }
}

/** What the nodes of a network log, as far as these measurements ask. Times are of `nowMs`. */
export class NodeLogs {
  readonly #nowMs: () => number;
  readonly #lastSwapEvent = new Map<string, number>();
  readonly #resumed = new Map<string, Map<string, number>>();
  readonly #waiting = new Map<string, (memory: Collected) => void>();
  /** Warnings, errors and taker orders that ended without a match, by name, of all nodes together. */
  readonly troubles = new Map<string, number>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** Takes a line of a node's log. */
  read(node: string, text: string): void {
    const line = parseLogLine(text);
    if (line === null) return;
    const { event, swap, heap, resident, level, reason } = line;
    if (level === "warn" || level === "error") this.#trouble(event);
    if (event === "taker_order_ended" && reason !== "Fulfilled") this.#trouble(`${event} ${String(reason)}`);
    if (event === "swap_event") this.#lastSwapEvent.set(node, this.#nowMs());
    if (event === "swap_resumed" && typeof swap === "string") this.#resumedOf(node).set(swap, this.#nowMs());
    if (event === "bench_memory") {
      this.#waiting.get(node)?.({ heap: Number(heap), resident: Number(resident) });
      this.#waiting.delete(node);
    }
  }

  #trouble(name: string): void {
    this.troubles.set(name, (this.troubles.get(name) ?? 0) + 1);
  }

  #resumedOf(node: string): Map<string, number> {
    const known = this.#resumed.get(node) ?? new Map<string, number>();
    this.#resumed.set(node, known);
    return known;
  }

  /** Swaps a node has logged as resumed, and when the last of them was. */
  resumed(node: string): { readonly swaps: ReadonlySet<string>; readonly lastMs: number } {
    const resumed = this.#resumedOf(node);
    return { swaps: new Set(resumed.keys()), lastMs: Math.max(0, ...resumed.values()) };
  }

  /** For how long no swap of any node has stored anything. */
  quietMs(): number {
    return this.#nowMs() - Math.max(0, ...this.#lastSwapEvent.values());
  }

  /** Has a node collect its garbage, and asks what is left. It must have been started after `preloadMemoryProbe`. */
  collected(node: DevNode): Promise<Collected> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`${node.name} did not say what memory it uses`)), ANSWER_MS);
      this.#waiting.set(node.name, (memory) => {
        clearTimeout(timer);
        resolve(memory);
      });
      node.process.kill("SIGUSR2");
    });
  }
}
