import { outKey } from "../../chainIndex/outKey.ts";
import type { TxFormat } from "../../core/utxo/txCodec.ts";
import type { StoredWatch } from "../../ports/chainStore.ts";
import type { Answer } from "./daemonCalls.ts";
import { type FirstScan, firstScan } from "./firstScan.ts";
import type { SyncContext } from "./syncContext.ts";

/** Wait before a scan that failed is tried again. */
const RETRY_MS = 10_000;

type ScanOptions = { readonly format: TxFormat; readonly decimals: number; readonly readWholeUpTo: number };

/** Runs the daemon's own scans beside the loop, one at a time, and takes their results in between its steps. */
export class FirstScans {
  readonly #ctx: SyncContext;
  readonly #options: ScanOptions;
  readonly #wake: () => void;
  /** Scripts of the scan under way or just done. */
  #covers: ReadonlySet<string> = new Set();
  #outcome: Answer<FirstScan | null> | { readonly thrown: unknown } | null = null;
  /** The result waits for the index to reach its block. */
  #deferred = false;
  #unsupported = false;
  #resting = false;
  #cancelRest: () => void = () => undefined;

  constructor(ctx: SyncContext, options: ScanOptions, wake: () => void) {
    this.#ctx = ctx;
    this.#options = options;
    this.#wake = wake;
  }

  /** Takes over what a scan can answer and gives back the watches to read blocks for. */
  async take(pending: readonly StoredWatch[]): Promise<readonly StoredWatch[] | "round_needed"> {
    const taken = await this.#takeOutcome(pending);
    if (taken === "round_needed") return taken;
    const now = taken ? this.#ctx.index.watches().filter((w) => w.nextHeight !== null && pending.some((p) => p.key === w.key)) : pending;
    const height = this.#ctx.index.tipHeader?.height ?? 0;
    if (this.#unsupported || height <= this.#options.readWholeUpTo) return now.filter((w) => !this.#covers.has(w.key));
    const scannable = now.filter((w) => w.kind === "script" && w.fromHeight === 0 && w.nextHeight === 0);
    if (this.#covers.size === 0 && scannable.length > 0 && !this.#resting) this.#start(scannable);
    return now.filter((w) => !scannable.includes(w));
  }

  #start(watches: readonly StoredWatch[]): void {
    this.#covers = new Set(watches.map((w) => w.key));
    this.#ctx.log.info("first_scan_started", { scripts: watches.length });
    firstScan(this.#ctx, watches, this.#options.format, this.#options.decimals)
      .then((answer) => {
        this.#outcome = answer;
      })
      .catch((cause: unknown) => {
        this.#outcome = { thrown: cause };
      })
      .then(() => this.#wake());
  }

  /** @returns whether a result changed what is pending */
  async #takeOutcome(pending: readonly StoredWatch[]): Promise<boolean | "round_needed"> {
    const outcome = this.#outcome;
    if (outcome === null) return false;
    if ("thrown" in outcome) {
      this.#forget();
      throw outcome.thrown;
    }
    if (!outcome.ok) {
      this.#forget();
      this.#ctx.log.warn("first_scan_failed", { fault: outcome.error.kind });
      this.#rest();
      return false;
    }
    if (outcome.value === null) {
      this.#forget();
      this.#unsupported = true;
      this.#ctx.log.info("first_scan_unsupported");
      return false;
    }
    return this.#merge(outcome.value, pending);
  }

  async #merge(scan: FirstScan, pending: readonly StoredWatch[]): Promise<boolean | "round_needed"> {
    const { index, commit, outputsFound } = this.#ctx;
    const tip = index.tipHeader;
    if (!this.#deferred && (tip === undefined || tip.height < scan.at.height)) {
      this.#deferred = true;
      return "round_needed";
    }
    const covers = this.#covers;
    this.#forget();
    // Reorganised since: the scan describes another chain.
    if (tip === undefined || index.headerAt(scan.at.height)?.hash !== scan.at.hash) return false;
    const facts = scan.read(this.#ctx);
    const nextHeight = scan.at.height >= tip.height ? null : scan.at.height + 1;
    const watches = pending.filter((w) => covers.has(w.key) && w.kind === "script").map((w) => ({ ...w, nextHeight }));
    await commit({ ...facts, watches });
    outputsFound(facts.outputs.map(outKey));
    this.#ctx.log.info("first_scan_done", { height: scan.at.height, outputs: facts.outputs.length });
    return true;
  }

  #forget(): void {
    this.#outcome = null;
    this.#covers = new Set();
    this.#deferred = false;
  }

  stop(): void {
    this.#cancelRest();
  }

  #rest(): void {
    this.#resting = true;
    this.#cancelRest = this.#ctx.clock.after(RETRY_MS, () => {
      this.#resting = false;
      this.#wake();
    });
  }
}
